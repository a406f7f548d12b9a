"""Facet counts and the histogram of years."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.serving.page.facets import YearBar, facets_of, kind_of, year_bars
from shrag.serving.references.formats import write_references

# Written out, so that a change of the module's own is noticed.
MOST_BARS = 12


def test_choices_are_counted_the_most_frequent_first(record: Record) -> None:
    records = [
        replace(record, language="ko", journal="A", year=2020),
        replace(record, language="en", journal="B", year=2021),
        replace(record, language="en", journal="B", year=2021),
        replace(record, language="und"),
    ]
    facets = facets_of(records)
    assert facets.languages == [("en", 2), ("ko", 1), ("und", 1)]
    assert facets.kinds == [("article", 3), ("other", 1)]
    assert facets.journals == [("B", 2), ("A", 1)]
    assert facets.years == [YearBar(2020, 2020, 1, 50.0), YearBar(2021, 2021, 2, 100.0)]
    assert facets.undated == 1


def test_no_records_give_no_choices() -> None:
    facets = facets_of([])
    assert (facets.languages, facets.kinds, facets.journals, facets.years, facets.undated) == ([], [], [], [], 0)


@pytest.mark.parametrize(
    ("years", "bars"),
    [
        ([], []),
        ([0], [(0, 0, 1)]),
        ([2019, 2021], [(2019, 2019, 1), (2020, 2020, 0), (2021, 2021, 1)]),
        ([2001, 2014], [(2000, 2001, 1), *((y, y + 1, 0) for y in range(2002, 2014, 2)), (2014, 2015, 1)]),
        ([1988, 2023], [(1985, 1989, 1), *((y, y + 4, 0) for y in range(1990, 2020, 5)), (2020, 2024, 1)]),
    ],
)
def test_bars_stand_for_equal_spans_and_empty_ones_too(years: list[int], bars: list[tuple[int, int, int]]) -> None:
    assert [(bar.first, bar.last, bar.count) for bar in year_bars(years)] == bars


@pytest.mark.parametrize("years", [range(2000, 2012), range(1, 10_000, 7), [1, 9_999], [999, 1_000], [0, 9_999]])
def test_there_are_never_more_bars_than_a_reader_steps_through(years: list[int]) -> None:
    bars = year_bars(list(years))
    assert len(bars) <= MOST_BARS
    assert sum(bar.count for bar in bars) == len(years)
    assert max(bar.height for bar in bars) == 100.0


def test_a_record_with_a_journal_is_an_article_in_the_filters_and_in_both_forms_of_reference(record: Record) -> None:
    for journal, kind, bibtex, ris in (
        ("J", "article", "@article{", "TY  - JOUR"),
        ("", "other", "@misc{", "TY  - GEN"),
    ):
        one = replace(record, journal=journal)
        assert kind_of(one) == kind
        assert write_references([one], "bibtex").startswith(bibtex)
        assert write_references([one], "ris").startswith(ris)
