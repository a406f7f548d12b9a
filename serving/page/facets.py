"""The page's filter: the values that can be chosen, with their counts over all hits, and a histogram of years."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shrag.indexing.record_filter import VALUE_FIELDS, FacetCounts, FacetValue, RecordFilter, value_key

MOST_CHOICES = 12
"""Values that are offered of a field, beside those already chosen."""

MOST_BARS = 12
"""Maximum number of bars of the histogram of years. It is low, since each bar is a tab stop."""

_SPANS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""The numbers of years that a bar may cover. They suffice, since years have at most four digits."""


@dataclass(frozen=True, slots=True)
class YearBar:
    """A bar of the histogram: its first and its last year, its number of records, and its height in percent."""

    first: int
    last: int
    count: int
    height: float


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A value of a filter, the number of hits that have it, and whether it is chosen."""

    value: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What the filter of a page offers, from the counts over all hits.

    ``undated`` is the number of hits without a year. ``total`` is the number of hits.
    """

    total: int
    undated: int
    years: list[YearBar]
    language: list[FilterChoice]
    type: list[FilterChoice]
    journal: list[FilterChoice]
    author: list[FilterChoice]


def filter_choices(counts: FacetCounts, record_filter: RecordFilter) -> FilterChoices:
    """Return what can be chosen. Chosen values come first, even those that no hit has."""
    years = {int(each.value): each.count for each in counts.year}
    values = {name: _choices(counts.values(name), record_filter.values(name)) for name in VALUE_FIELDS}
    return FilterChoices(counts.total, counts.undated, year_bars(years), **values)


def _choices(counted: Sequence[FacetValue], chosen: Sequence[str]) -> list[FilterChoice]:
    counts = {value_key(each.value): each.count for each in counted}
    keys = {value_key(value) for value in chosen}
    first = [FilterChoice(value, counts.get(value_key(value), 0), chosen=True) for value in chosen]
    others = [
        FilterChoice(each.value, each.count, chosen=False) for each in counted if value_key(each.value) not in keys
    ]
    return [*first, *others[:MOST_CHOICES]]


def year_bars(years: Mapping[int, int]) -> list[YearBar]:
    """Return at most :data:`MOST_BARS` bars for the numbers of records by year, from the first year to the last.

    All bars have the same span: the smallest of 1, 2, 5, 10 … years that gives so few bars. Each bar begins at a
    multiple of the span.
    """
    if not years:
        return []
    span = next(each for each in _SPANS if max(years) // each - min(years) // each < MOST_BARS)
    counts: Counter[int] = Counter()
    for year, count in years.items():
        counts[year // span] += count
    highest = max(counts.values())
    return [
        YearBar(bar * span, bar * span + span - 1, counts[bar], round(100 * counts[bar] / highest, 1))
        for bar in range(min(counts), max(counts) + 1)
    ]
