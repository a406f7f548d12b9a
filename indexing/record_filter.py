"""The filter of a search, the values by which records are filtered, and the counts of these values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.messages.text import Text

ValueField = Literal["language", "journal", "type", "author"]

VALUE_FIELDS: tuple[ValueField, ...] = ("language", "journal", "type", "author")
"""The fields that are filtered by value; years are filtered by range."""

LONGEST_VALUE = 200
"""Most characters of a value that are compared."""

MOST_VALUES = 50
"""Most values of one field in a filter."""

LATEST_YEAR = 9999

FACET_VALUES = 20
"""Most values of one field that are counted: the most frequent ones. Usually only journals and authors have more."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A filter by years, languages, journals, types and authors of records; an empty field passes every record.

    A record passes if it matches every field of the filter. It matches a field if it has one of the field's values.
    Values are compared as a whole; letter case and repeated spaces do not matter. An author's value is one author's
    whole name as the record has it. A record without a year does not pass a limit of years.

    Attributes:
        year_from: The first year, included.
        year_to: The last year, included.
        language: ``ko``, ``en`` or ``und``.
        journal: Names of journals.
        type: Types of records.
        author: Names of authors.
    """

    year_from: int | None = None
    year_to: int | None = None
    language: tuple[str, ...] = ()
    journal: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    author: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        first, last = self.year_from, self.year_to
        for name, year in (("year_from", first), ("year_to", last)):
            if year is not None and (type(year) is not int or not 0 <= year <= LATEST_YEAR):
                raise ValueError(
                    Text(
                        "The filter's {name} is {year!r}: use a year from 0 to {latest_year}.",
                        name=name,
                        year=year,
                        latest_year=LATEST_YEAR,
                    )
                )
        if first is not None and last is not None and first > last:
            raise ValueError(
                Text(
                    "The filter's years end before they begin ({first} to {last}): exchange the two.",
                    first=first,
                    last=last,
                )
            )
        for name in VALUE_FIELDS:
            _check_values(name, self.values(name))
        for language in self.language:
            if value_key(language) not in ("ko", "en", "und"):
                raise ValueError(
                    Text("The filter's language is {language!r:.100}: use ko, en or und.", language=language)
                )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> RecordFilter:
        """Return the filter that ``mapping`` describes; a single value may stand without a list.

        Raises:
            ValueError: A key is unknown, or a value is not valid.
        """
        known = [each.name for each in fields(cls)]
        for key in mapping:
            if key not in known:
                raise ValueError(Text("The filter has no field {key!r}: use {known}.", key=key, known=", ".join(known)))
        values = {name: _as_tuple(name, mapping[name]) for name in VALUE_FIELDS if name in mapping}
        return cls(mapping.get("year_from"), mapping.get("year_to"), **values)

    def __bool__(self) -> bool:
        """Return whether any field is limited."""
        return self != EVERY_RECORD

    @property
    def years(self) -> tuple[int, int] | None:
        """The first and the last year, or None if years are not limited."""
        if self.year_from is None and self.year_to is None:
            return None
        return self.year_from or 0, LATEST_YEAR if self.year_to is None else self.year_to

    def values(self, field: ValueField) -> tuple[str, ...]:
        """Return the values of a field, as given."""
        found: tuple[str, ...] = getattr(self, field)
        return found

    def keys(self, field: ValueField) -> tuple[str, ...]:
        """Return the values of a field in the form that is compared, each once."""
        return tuple(sorted({value_key(value) for value in self.values(field)}))

    def passes(self, record: Record) -> bool:
        """Return whether a record passes."""
        years = self.years
        if years is not None and (record.year is None or not years[0] <= record.year <= years[1]):
            return False
        keys = ((self.keys(name), name) for name in VALUE_FIELDS if self.values(name))
        return all(any(value_key(value) in wanted for value in record_values(record, name)) for wanted, name in keys)

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields that are limited, for JSON; :meth:`from_mapping` reads them."""
        limited = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in limited.items() if value not in (None, ())}


def record_values(record: Record, field: ValueField) -> tuple[str, ...]:
    """Return the values that a record has in a field, which may be none."""
    match field:
        case "language":
            return (record.language,)
        case "journal":
            return (record.journal,) if record.journal else ()
        case "type":
            return (record.type,) if record.type else ()
        case "author":
            return record.authors


def value_key(text: str) -> str:
    """Return the form in which a value is compared.

    >>> value_key(" Korean  Journal of X ") == value_key("korean journal OF x")
    True
    """
    return plain_line(text).casefold()[:LONGEST_VALUE].rstrip()


def shown_value(text: str) -> str:
    """Return the form in which a value is shown. It has the same :func:`value_key` as the value."""
    return plain_line(text)[:LONGEST_VALUE].rstrip()


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value and the number of hits with it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """Counts over the hits of a question: the records that match any of its queries and pass its filter.

    The values of a field are counted without the filter's limit on this field, so that users also see the other values
    that they could choose. Years come in rising order, other values by descending count, ties by value.

    Attributes:
        total: The number of hits.
        undated: The number of hits without a year, counted without a limit of years.
        year: Years.
        language: Languages.
        journal: The most frequent journals, :data:`FACET_VALUES` at most.
        type: Types.
        author: The most frequent authors, likewise.
    """

    total: int
    undated: int
    year: tuple[FacetValue, ...]
    language: tuple[FacetValue, ...]
    journal: tuple[FacetValue, ...]
    type: tuple[FacetValue, ...]
    author: tuple[FacetValue, ...]

    def values(self, field: ValueField) -> tuple[FacetValue, ...]:
        """Return the values of a field."""
        found: tuple[FacetValue, ...] = getattr(self, field)
        return found


NO_FACETS = FacetCounts(0, 0, (), (), (), (), ())
"""The counts if nothing was found."""


def count_records(records: Iterable[Record], record_filter: RecordFilter) -> FacetCounts:
    """Return the counts over records that match a question; those of them that pass the filter are its hits."""
    there = list(records)
    hits = sum(map(record_filter.passes, there))
    dated = [each for each in there if replace(record_filter, year_from=None, year_to=None).passes(each)]
    years = Counter(each.year for each in dated if each.year is not None)
    values = {}
    for name in VALUE_FIELDS:
        limits = {other: values for other, values in record_filter.to_mapping().items() if other != name}
        others = RecordFilter(**limits)
        shown: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for each in there:
            if others.passes(each):
                own = {value_key(value): shown_value(value) for value in reversed(record_values(each, name))}
                counts.update(own.keys())
                shown |= {key: min(value, shown.get(key, value)) for key, value in own.items()}
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0].encode()))
        values[name] = tuple(FacetValue(shown[key], count) for key, count in ordered[:FACET_VALUES])
    return FacetCounts(
        hits,
        len(dated) - years.total(),
        tuple(FacetValue(str(year), count) for year, count in sorted(years.items())),
        **values,
    )


def _as_tuple(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise ValueError(
        Text("The filter's {name} is {value!r:.100}: use a text or a list of texts.", name=name, value=value)
    )


def _check_values(name: str, values: tuple[str, ...]) -> None:
    if len(values) > MOST_VALUES:
        raise ValueError(
            Text(
                "The filter has {count} values of {name}, at most {most} are read: leave some out.",
                count=len(values),
                name=name,
                most=MOST_VALUES,
            )
        )
    for value in values:
        if not plain_line(value):
            raise ValueError(Text("A value of the filter's {name} is empty: write it, or leave it out.", name=name))
        if len(value) > LONGEST_VALUE:
            raise ValueError(
                Text(
                    "A value of the filter's {name} has {count} characters, at most {longest} are compared: "
                    "shorten it.",
                    name=name,
                    count=len(value),
                    longest=LONGEST_VALUE,
                )
            )


EVERY_RECORD = RecordFilter()
"""The filter that every record passes."""
