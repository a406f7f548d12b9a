from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from shrag.corpora.records import Record
from shrag.serving.page.request import Filters, PageRequest, choose_language, parse_page_request


def test_the_interface_language_is_the_one_asked_for_or_the_browsers_first() -> None:
    assert choose_language("en", "ko") == "en"
    assert choose_language(None, "de, en;q=0.7, ko;q=0.3") == "en"
    assert choose_language("xx", "ko-KR") == "ko"
    assert choose_language(None, "") == "ko"


def test_an_address_asks_for_what_it_was_made_from() -> None:
    asked = PageRequest("a&b 갈등?", "en", 20, Filters("ko", "일과 삶 연구", 2018, 2024, "article"), "a > b(1)")
    address = asked.url()
    assert address.startswith("/?ui=en&q=a%26b+")
    pairs = dict(pair.split("=") for pair in address.partition("?")[2].split("&"))
    assert pairs.keys() == {"ui", "q", "k", "strategy", "lang", "kind", "journal", "from", "to"}
    assert parse_page_request(dict(parse_qsl(address.partition("?")[2])), "ko") == asked
    assert asked.url("/stream", language="ko", k=10, filtered=False) == (
        "/stream?ui=ko&q=a%26b+%EA%B0%88%EB%93%B1%3F&strategy=a+%3E+b%281%29"
    )


@pytest.mark.parametrize(
    ("parameters", "asked"),
    [
        ({}, PageRequest(None, "ko")),
        ({"q": ""}, PageRequest("", "ko")),
        ({"q": "x", "k": "1000", "lang": "fr", "from": "MMXX", "to": "20222"}, PageRequest("x", "ko")),
        ({"q": "x", "k": "-1", "from": "-5", "to": "２０２０"}, PageRequest("x", "ko")),
        ({"q": "x", "kind": "thesis"}, PageRequest("x", "ko")),
        ({"q": "x", "strategy": " "}, PageRequest("x", "ko")),
        ({"q": "x", "strategy": " nothing "}, PageRequest("x", "ko", strategy="nothing")),
        ({"q": "x", "lang": "", "journal": " ", "from": "", "to": ""}, PageRequest("x", "ko")),
        ({"q": "x", "k": "50", "to": " 2020 "}, PageRequest("x", "ko", 50, Filters(last_year=2020))),
    ],
)
def test_what_cannot_be_read_is_taken_as_not_asked_for(parameters: dict[str, str], asked: PageRequest) -> None:
    assert parse_page_request(parameters, "ko") == asked


def test_a_filter_lets_through_what_fits_all_of_it(record: Record) -> None:
    old, new = replace(record, year=1999, journal="J"), replace(record, year=2024, language="en")
    undated = replace(record, year=None)
    expected = {
        Filters(): (True, True, True),
        Filters(language="ko"): (True, False, True),
        Filters(journal="J"): (True, False, False),
        Filters(first_year=2000): (False, True, False),
        Filters(last_year=1999): (True, False, False),
        Filters(first_year=1999, last_year=2024): (True, True, False),
        Filters(first_year=2024, last_year=1999): (False, False, False),
        Filters(first_year=0): (True, True, False),
        Filters(kind="article"): (True, False, False),
        Filters(kind="other"): (False, True, True),
        Filters(language="en", first_year=2024): (False, True, False),
    }
    for filters, shown in expected.items():
        assert tuple(map(filters.matches, (old, new, undated))) == shown, filters
        assert bool(filters) == (filters != Filters())


def test_a_journal_is_known_by_its_name_as_it_is_shown(record: Record) -> None:
    long = replace(record, journal="J" * 10_000)
    (shown,) = {
        parse_page_request({"q": "x", "journal": name}, "ko").filters for name in ("J" * 10_000, "J" * 99 + "…")
    }
    assert len(shown.journal) == 100
    assert shown.matches(long)


def test_a_record_and_a_bar_of_years_have_addresses_of_their_own() -> None:
    asked = PageRequest("갈등 & 일", "en", filters=Filters("ko", first_year=1990))
    assert parse_qsl(asked.years_url(2000, 2009).partition("?")[2]) == [
        ("ui", "en"), ("q", "갈등 & 일"), ("lang", "ko"), ("from", "2000"), ("to", "2009"),
    ]  # fmt: skip
    assert asked.record_url("A#1;b") == "/record?ui=en&docid=A%231%3Bb&q=%EA%B0%88%EB%93%B1+%26+%EC%9D%BC"
    assert asked.record_url("A", part=2).endswith("&part=2")


def test_a_long_question_is_not_repeated_in_the_address_of_every_record() -> None:
    assert "&q=" in PageRequest("가" * 200, "ko").record_url("A")
    assert PageRequest("가" * 201, "ko").record_url("A") == "/record?ui=ko&docid=A"
    assert PageRequest("가" * 196, "ko", strategy="tree").record_url("A").endswith("&strategy=tree")
    assert PageRequest("가" * 197, "ko", strategy="tree").record_url("A") == "/record?ui=ko&docid=A"
