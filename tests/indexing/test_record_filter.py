from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from shrag.corpora.records import Record
from shrag.indexing.filter_fields import read_facets, write_filter, write_record_fields
from shrag.indexing.record_filter import EVERY_RECORD, FacetCounts, FacetValue, RecordFilter, count_records, value_key

RECORD = Record(
    "d1",
    "T",
    "x",
    "en",
    complete=True,
    authors=("Kim, Minsu", "이 영희"),
    journal="Journal of  X",
    year=2015,
    type="thesis",
)


@pytest.mark.parametrize(
    ("limits", "passes"),
    [
        ({}, True),
        ({"year_from": 2015}, True),
        ({"year_from": 2016}, False),
        ({"year_to": 2015}, True),
        ({"year_to": 2014}, False),
        ({"year_from": 2015, "year_to": 2015}, True),
        ({"language": "en"}, True),
        ({"language": ["ko", "en"]}, True),
        ({"language": ["ko"]}, False),
        ({"journal": " JOURNAL of x"}, True),
        ({"journal": "Journal"}, False),
        ({"type": "Thesis"}, True),
        ({"author": "kim, minsu"}, True),
        ({"author": "Kim"}, False),
        ({"author": ["nobody", "이  영희"]}, True),
        ({"author": "kim, minsu", "language": "ko"}, False),
    ],
)
def test_values_of_a_field_are_alternatives_and_fields_are_not(limits: dict[str, Any], passes: bool) -> None:
    assert RecordFilter.from_mapping(limits).passes(RECORD) == passes


def test_a_record_without_a_value_passes_no_limit_of_its_field() -> None:
    bare = replace(RECORD, year=None, authors=(), journal="", type="")
    for limits in ({"year_to": 9999}, {"author": "x"}, {"journal": "x"}, {"type": "x"}):
        assert not RecordFilter.from_mapping(limits).passes(bare)
    assert EVERY_RECORD.passes(bare)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"jurnal": "x"}, r"no field 'jurnal': use year_from, year_to, language, journal, type, author"),
        ({"year_from": 2020, "year_to": 2010}, r"end before they begin \(2020 to 2010\)"),
        ({"year_from": "2020"}, r"year_from is '2020': use a year from 0 to 9999"),
        ({"year_to": True}, r"year_to is True"),
        ({"year_to": 10_000}, r"year_to is 10000"),
        ({"language": "kr"}, r"language is 'kr': use ko, en or und"),
        ({"author": 7}, r"author is 7: use a text or a list"),
        ({"author": [7]}, r"author is \[7\]: use a text or a list"),
        ({"author": " "}, r"author is empty"),
        ({"journal": "x" * 201}, r"journal has 201 characters, at most 200"),
        ({"type": ["x"] * 51}, r"51 values of type, at most 50"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecordFilter.from_mapping(limits)


def test_a_filter_is_written_as_it_was_read() -> None:
    limits = {"year_to": 2020, "journal": ("A", "B")}
    assert RecordFilter.from_mapping(limits).to_mapping() == limits
    assert msgspec.to_builtins(EVERY_RECORD) == {
        "year_from": None, "year_to": None, "language": (), "journal": (), "type": (), "author": (),
    }  # fmt: skip
    assert not EVERY_RECORD
    assert hash(RecordFilter(author=("a",))) == hash(RecordFilter(author=("a",)))


def test_java_gets_keys_and_years() -> None:
    assert write_filter(EVERY_RECORD) == ""
    written = write_filter(RecordFilter(year_from=2015, author=("Kim", "KIM", "A")))
    assert written == "year\x1f2015\x1f9999\0author\x1fa\x1fkim"
    assert write_record_fields(replace(RECORD, authors=("Kim", "KIM"), journal="", type="")) == (
        "year\x002015\0language\0en\x1fen\0author\0kim\x1fKim"
    )
    bare = replace(RECORD, authors=(), journal="", type="")
    for year, written in ((-1, ""), (0, "year\x000\0"), (9_999, "year\x009999\0"), (10_000, "")):
        assert write_record_fields(replace(bare, year=year)) == f"{written}language\0en\x1fen"


def test_counts_are_read_as_java_writes_them() -> None:
    written = "\0".join(["3", "1", "1", "2015", "2", "1", "en", "3", "0", "0", "1", "Kim", "2"])
    assert read_facets(written) == FacetCounts(
        3, 1, (FacetValue("2015", 2),), (FacetValue("en", 3),), (), (), (FacetValue("Kim", 2),)
    )


def test_a_field_that_is_limited_is_counted_as_if_it_were_not() -> None:
    records = [RECORD, replace(RECORD, docid="d2", language="ko"), replace(RECORD, docid="d3", year=None)]
    counts = count_records(records, RecordFilter(language=("en",), year_from=2015))
    assert counts.total == 1
    assert counts.language == (FacetValue("en", 1), FacetValue("ko", 1))
    assert counts.year == (FacetValue("2015", 1),)
    assert counts.undated == 1
    assert counts.author == (FacetValue("Kim, Minsu", 1), FacetValue("이 영희", 1))


@pytest.mark.parametrize("author", [f"{'b' * 199} c", f"{'ß' * 199} c", f"A {'b' * 300}"])
def test_the_shown_form_of_a_long_value_chosen_as_a_filter_finds_the_record(author: str) -> None:
    record = replace(RECORD, authors=(author,))
    (counted,) = count_records([record], EVERY_RECORD).author
    assert RecordFilter(author=(counted.value,)).passes(record)
    (key, shown) = write_record_fields(record).split("author\0")[1].split("\0")[0].split("\x1f")
    assert value_key(shown) == key
