from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from starlette.datastructures import QueryParams

from shrag.indexing.record_filter import RecordFilter
from shrag.serving.errors import QuestionError
from shrag.serving.http.middleware import LONGEST_ADDRESS
from shrag.serving.page.request import PARAMETERS, PageRequest, choose_language, parse_page_request
from shrag.serving.request import LONGEST_QUESTION


def test_the_interface_language_is_the_one_asked_for_or_the_browsers_first() -> None:
    assert choose_language("en", "ko") == "en"
    assert choose_language(None, "de, en;q=0.7, ko;q=0.3") == "en"
    assert choose_language("xx", "ko-KR") == "ko"
    assert choose_language(None, "") == "ko"


def test_an_address_asks_for_what_it_was_made_from() -> None:
    limits = RecordFilter(2018, 2024, ("ko", "en"), ("일과 삶 연구",), ("thesis",), ("Kim, Minsu", "이영희"))
    asked = PageRequest("a&b 갈등?", "en", 20, limits, "a > b(1)", "wiki", after=("c?", "d & e"), offset=40)
    address = asked.url(offset=asked.offset)
    assert address.startswith("/?ui=en&q=a%26b+")
    parameters = QueryParams(address.partition("?")[2])
    assert set(parameters) == set(PARAMETERS)
    assert parse_page_request(parameters, "ko") == asked
    assert asked.url(language="ko", k=10, filtered=False) == (
        "/?ui=ko&q=a%26b+%EA%B0%88%EB%93%B1%3F&after=c%3F&after=d+%26+e&index=wiki&strategy=a+%3E+b%281%29"
    )


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("", PageRequest(None, "ko")),
        ("q=", PageRequest("", "ko")),
        ("q=x&k=1000", PageRequest("x", "ko")),
        ("q=x&k=-1", PageRequest("x", "ko")),
        ("q=x&offset=-1", PageRequest("x", "ko")),
        ("q=x&offset=ten", PageRequest("x", "ko")),
        ("q=x&offset=10000", PageRequest("x", "ko")),
        ("q=x&offset=9999", PageRequest("x", "ko", offset=9999)),
        ("q=x&strategy=+", PageRequest("x", "ko")),
        ("q=x&strategy=+nothing+", PageRequest("x", "ko", strategy="nothing")),
        ("q=x&language=&journal=+&year_from=&year_to=", PageRequest("x", "ko")),
        ("q=x&k=50&year_to=+2020+", PageRequest("x", "ko", 50, RecordFilter(year_to=2020))),
        ("q=x&author=A&author=B&author=A", PageRequest("x", "ko", record_filter=RecordFilter(author=("A", "B")))),
    ],
)
def test_what_is_empty_or_no_number_of_records_is_taken_as_not_asked_for(query: str, asked: PageRequest) -> None:
    assert parse_page_request(QueryParams(query), "ko") == asked


@pytest.mark.parametrize(
    "query", ["language=fr", "year_from=MMXX", "year_to=20222", "year_to=２０２０", "year_from=2024&year_to=1999"]
)
def test_a_filter_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(QuestionError) as refused:
        parse_page_request(QueryParams(query), "ko")
    assert refused.value.code == "filter_invalid"
    assert parse_page_request(QueryParams(query), "ko", filtered=False) == PageRequest(None, "ko")


def test_a_record_and_a_bar_of_years_have_addresses_of_their_own() -> None:
    asked = PageRequest("갈등 & 일", "en", record_filter=RecordFilter(language=("ko",), year_from=1990))
    address = asked.years_url(2000, 2009)
    assert parse_qsl(address.partition("?")[2]) == [
        ("ui", "en"), ("q", "갈등 & 일"), ("year_from", "2000"), ("year_to", "2009"), ("language", "ko"),
    ]  # fmt: skip
    chosen = parse_page_request(QueryParams(address.partition("?")[2]), "ko")
    assert "year" not in chosen.years_url(2000, 2009)  # the chosen bar lets any year through again
    assert asked.record_url("A#1;b") == "/record?ui=en&docid=A%231%3Bb&q=%EA%B0%88%EB%93%B1+%26+%EC%9D%BC"
    assert asked.record_url("A", part=2).endswith("&part=2")


def test_a_long_question_is_not_repeated_in_the_address_of_every_record() -> None:
    assert "&q=" in PageRequest("가" * 200, "ko").record_url("A")
    assert PageRequest("가" * 201, "ko").record_url("A") == "/record?ui=ko&docid=A"
    assert PageRequest("가" * 196, "ko", strategy="tree").record_url("A").endswith("&strategy=tree")
    assert PageRequest("가" * 197, "ko", strategy="tree").record_url("A") == "/record?ui=ko&docid=A"


def test_earlier_questions_stay_in_the_address_the_last_eight_of_them() -> None:
    parameters = QueryParams([("q", "j?"), *(("after", f"{each}?") for each in "abcdefghi"), ("after", " ")])
    request = parse_page_request(parameters, "en")
    assert request.after == ("b?", "c?", "d?", "e?", "f?", "g?", "h?", "i?")
    assert request.asked == ("c?", "d?", "e?", "f?", "g?", "h?", "i?", "j?")
    assert parse_page_request(QueryParams(request.url().partition("?")[2]), "en") == request
    assert [turn.question for turn in request.parse().history] == list(request.after)
    assert PageRequest("q", "en").parse().history == ()


def test_earlier_questions_leave_room_in_the_address_for_the_next_one() -> None:
    limits = RecordFilter(year_from=1990, journal=tuple(f"{number}{'가' * 40}" for number in range(9)))
    for size, kept in ((10, 8), (150, 8), (500, 2), (2_000, 0)):
        request = PageRequest("처음?", "ko", record_filter=limits)
        for number in range(12):
            asked = f"{number}".ljust(size, "폭")
            request = PageRequest(asked, "ko", record_filter=limits, after=request.asked)
            assert len("stream" + request.url()) <= LONGEST_ADDRESS
        assert [each.rstrip("폭") for each in request.asked] == ["4", "5", "6", "7", "8", "9", "10", "11"][8 - kept :]


def test_an_earlier_question_stays_while_the_longest_next_one_just_fits() -> None:
    kept = [size for size in range(14_000, 15_000) if PageRequest("x" * size, "en").asked]
    assert kept == list(range(14_000, 14_000 + len(kept)))
    earlier, next_one = f"&after={'x' * kept[-1]}", "가" * LONGEST_QUESTION
    room = LONGEST_ADDRESS - len(PageRequest(next_one, "en").url() + earlier)
    assert room == 100 - len("&q=")
