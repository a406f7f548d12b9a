"""Values of records and filters as they are written for Java.

A record's fields are pairs of a field's name and a value: a year, or a key to filter by and the value to show. A filter
is, for each field that it limits, the name and the two years or the keys. Both are one string: pairs, and fields of a
filter, are separated by NUL, what is inside of them by U+001F.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.record_filter import (
    LATEST_YEAR,
    LONGEST_VALUE,
    VALUE_FIELDS,
    FacetCounts,
    FacetValue,
    RecordFilter,
    record_values,
    value_key,
)

YEAR = "year"
"""The field of the year; the other fields have the names of :data:`VALUE_FIELDS`."""

_PART = "\0"
_UNIT = "\x1f"


def write_record_fields(record: Record) -> str:
    """Encode the values that a record is filtered and counted by."""
    return _PART.join(
        part
        for field, key, shown in record_parts(record)
        for part in (field, key if field == YEAR else f"{key}{_UNIT}{shown}")
    )


def write_filter(record_filter: RecordFilter) -> str:
    """Encode a filter; empty for one that every record passes."""
    parts = []
    if record_filter.years is not None:
        parts.append(_UNIT.join([YEAR, *map(str, record_filter.years)]))
    parts += [_UNIT.join([name, *record_filter.keys(name)]) for name in VALUE_FIELDS if record_filter.values(name)]
    return _PART.join(parts)


def read_facets(written: str) -> FacetCounts:
    """Decode what Java counted: the hits, those without a year, and for each field its values with their counts."""
    parts = iter(written.split(_PART))
    total, undated = int(next(parts)), int(next(parts))
    counted = [tuple(FacetValue(next(parts), int(next(parts))) for _ in range(int(next(parts)))) for _ in range(5)]
    return FacetCounts(total, undated, *counted)


def record_parts(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield the fields a record is filtered by: each with its value as it is compared, and as it is shown."""
    if record.year is not None and 0 <= record.year <= LATEST_YEAR:
        yield YEAR, str(record.year), str(record.year)
    for name in VALUE_FIELDS:
        keys: set[str] = set()
        for value in record_values(record, name):
            key = value_key(value)
            if key and key not in keys:
                keys.add(key)
                yield name, key, plain_line(value)[:LONGEST_VALUE]
