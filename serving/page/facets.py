"""RecordFacets of the records found: counts by language, kind and journal, a histogram of years."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shrag.corpora.records import Record
from shrag.serving.page.snippets import LONGEST_NAME, shorten

RecordKind = Literal["article", "other"]
"""``article``: published in a journal. ``other``: a report, a thesis or whatever names no journal."""

RECORD_KINDS: tuple[RecordKind, ...] = ("article", "other")


def kind_of(record: Record) -> RecordKind:
    """Return the kind of ``record``."""
    return "article" if record.journal else "other"


MOST_BARS = 12
"""Bars of the histogram of years; each is a tab stop."""

_SPANS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""Years a bar may cover; years have four digits at most."""


@dataclass(frozen=True, slots=True)
class YearBar:
    """A bar of the histogram: its first and last year, its number of records, its height in percent."""

    first: int
    last: int
    count: int
    height: float


@dataclass(frozen=True, slots=True)
class RecordFacets:
    """Values and counts over the records found. ``undated`` is the number of records without a year."""

    languages: list[tuple[str, int]]
    kinds: list[tuple[RecordKind, int]]
    journals: list[tuple[str, int]]
    years: list[YearBar]
    undated: int


def facets_of(records: Sequence[Record]) -> RecordFacets:
    """Return the facets of ``records``, the most frequent value first; kinds in their own order."""
    kinds = Counter(map(kind_of, records))
    years = [record.year for record in records if record.year is not None]
    return RecordFacets(
        Counter[str](record.language for record in records).most_common(),
        [(kind, kinds[kind]) for kind in RECORD_KINDS if kinds[kind]],
        Counter(shorten(record.journal, LONGEST_NAME) for record in records if record.journal).most_common(),
        year_bars(years),
        len(records) - len(years),
    )


def year_bars(years: Sequence[int]) -> list[YearBar]:
    """Return at most :data:`MOST_BARS` bars of equal spans from the first year to the last, empty ones included.

    The span is the smallest of 1, 2, 5, 10 … years that gives so few bars; each begins at a multiple of it.
    """
    if not years:
        return []
    span = next(each for each in _SPANS if max(years) // each - min(years) // each < MOST_BARS)
    counts = Counter(year // span for year in years)
    highest = max(counts.values())
    return [
        YearBar(bar * span, bar * span + span - 1, counts[bar], round(100 * counts[bar] / highest, 1))
        for bar in range(min(counts), max(counts) + 1)
    ]
