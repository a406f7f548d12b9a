"""Encode the values of records and filters for Java, each record and each filter as one string.

NUL separates the parts of both strings, and U+001F separates what belongs to one part:

- Record: for each value, the name of its field and the value. A value is a year, or the key to filter by and the text
  to show.
- Filter: for each field that it limits, one part with the name and the two years or the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shrag.corpora.records import Record
from shrag.indexing.record_filter import (
    LATEST_YEAR,
    VALUE_FIELDS,
    FacetCounts,
    FacetValue,
    RecordFilter,
    ValueField,
    record_values,
    shown_value,
    value_key,
)

YEAR = "year"
"""The name of the field of the year; the other fields are named in :data:`VALUE_FIELDS`."""

_PART = "\0"
_UNIT = "\x1f"


def write_record_fields(record: Record) -> str:
    """Encode the values by which a record is filtered and counted."""
    return _PART.join(
        part
        for field, key, shown in record_parts(record)
        for part in (field, key if field == YEAR else f"{key}{_UNIT}{shown}")
    )


def write_filter(record_filter: RecordFilter) -> str:
    """Encode a filter; a filter that every record passes gives an empty text."""
    return _PART.join(write_limits(record_filter))


def write_limits(record_filter: RecordFilter) -> list[str]:
    """Encode each field that a filter limits."""
    limits = []
    if record_filter.years is not None:
        limits.append(_UNIT.join([YEAR, *map(str, record_filter.years)]))
    fields = [name for name in VALUE_FIELDS if record_filter.values(name)]
    return [*limits, *(write_limit(name, record_filter.keys(name)) for name in fields)]


def write_limit(field: ValueField, keys: Iterable[str]) -> str:
    """Encode the limit of a field to values, which are given by their keys."""
    return _UNIT.join([field, *keys])


def read_facets(written: str) -> FacetCounts:
    """Decode Java's counts: the hits, the hits without a year, and the values of each field with their counts."""
    parts = iter(written.split(_PART))
    total, undated = int(next(parts)), int(next(parts))
    counted = [tuple(FacetValue(next(parts), int(next(parts))) for _ in range(int(next(parts)))) for _ in range(5)]
    return FacetCounts(total, undated, *counted)


def record_parts(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield each value by which a record is filtered: its field, the form to compare and the form to show."""
    if record.year is not None and 0 <= record.year <= LATEST_YEAR:
        yield YEAR, str(record.year), str(record.year)
    for name in VALUE_FIELDS:
        keys: set[str] = set()
        for value in record_values(record, name):
            key = value_key(value)
            if key and key not in keys:
                keys.add(key)
                yield name, key, shown_value(value)
