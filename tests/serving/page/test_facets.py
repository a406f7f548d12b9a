"""Facet counts and the histogram of years."""

from __future__ import annotations

from collections import Counter

import pytest

from shrag.corpora.records import Record
from shrag.indexing.record_filter import EVERY_RECORD, NO_FACETS, RecordFilter, count_records
from shrag.serving.page.facets import FilterChoice, FilterChoices, YearBar, filter_choices, year_bars

# Written out, so that a change of the module's own is noticed.
MOST_BARS = 12


def test_chosen_values_come_first_even_where_no_hit_has_them() -> None:
    counts = count_records(
        [
            Record("1", "t", "x", "ko", complete=True, journal="A", year=2020),
            Record("2", "t", "x", "en", complete=True, journal="B", year=2021, type="thesis"),
            Record("3", "t", "x", "en", complete=True, journal="B", year=2021),
            Record("4", "t", "x", "und", complete=True),
        ],
        RecordFilter(journal=("b", "C")),
    )
    choices = filter_choices(counts, RecordFilter(journal=("b", "C")))
    assert (choices.total, choices.undated) == (2, 0)
    assert choices.journal == [FilterChoice("b", 2, True), FilterChoice("C", 0, True), FilterChoice("A", 1, False)]
    assert choices.language == [FilterChoice("en", 2, False)]
    assert (choices.type, choices.author) == ([FilterChoice("thesis", 1, False)], [])
    assert choices.years == [YearBar(2021, 2021, 2, 100.0)]


def test_no_hits_give_no_choices() -> None:
    assert filter_choices(NO_FACETS, EVERY_RECORD) == FilterChoices(0, 0, [], [], [], [], [])


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
    assert [(bar.first, bar.last, bar.count) for bar in year_bars(Counter(years))] == bars


@pytest.mark.parametrize("years", [range(2000, 2012), range(1, 10_000, 7), [1, 9_999], [999, 1_000], [0, 9_999]])
def test_there_are_never_more_bars_than_a_reader_steps_through(years: list[int]) -> None:
    bars = year_bars(Counter(years))
    assert len(bars) <= MOST_BARS
    assert sum(bar.count for bar in bars) == len(years)
    assert max(bar.height for bar in bars) == 100.0


def test_twelve_values_are_offered_beside_those_that_are_chosen() -> None:
    journals = [f"J{number:02}" for number in range(15)]
    records = [Record(name, "t", "x", "en", complete=True, journal=name) for name in journals]
    counts = count_records(records, RecordFilter(journal=("j03", "j14")))
    choices = filter_choices(counts, RecordFilter(journal=("j03", "j14"))).journal
    assert [each.value for each in choices if each.chosen] == ["j03", "j14"]
    assert [each.value for each in choices if not each.chosen] == [name for name in journals if name != "J03"][:12]


def test_a_bar_is_as_high_as_its_share_of_the_highest_and_each_value_keeps_its_count() -> None:
    assert [(bar.count, bar.height) for bar in year_bars({2000: 1, 2001: 6, 2002: 2})] == [
        (1, 16.7),
        (6, 100.0),
        (2, 33.3),
    ]
    assert [(bar.first, bar.count) for bar in year_bars({2000: 5, 2001: 7, 2020: 1})] == [
        (2000, 12), (2002, 0), (2004, 0), (2006, 0), (2008, 0), (2010, 0), (2012, 0), (2014, 0), (2016, 0), (2018, 0),
        (2020, 1),
    ]  # fmt: skip
