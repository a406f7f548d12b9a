"""Typed access to the fields of an item: clean text, identifiers, years and lists; a wrong type rejects the item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Mapping
from typing import TypedDict

import msgspec

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.document_types import document_type
from shrag.corpora.text.cleaning import clean_text, is_absent, plain_line
from shrag.messages.text import Text

LONGEST_DOCID = 512
"""The length of the longest accepted identifier in characters."""

KEYWORD_SEPARATORS = (";", ",", "/", " . ")
"""A text of keywords is split at the first of these that occurs in it: "Child, Preschool;Mouth" is two keywords."""

MOST_OTHER, LONGEST_OTHER_NAME, LONGEST_OTHER_VALUE = 50, 100, 1_000
"""Limits of the further fields of a record: their number, and the characters of a name and of a value."""

UNREAD_YEAR = "year"
"""The name of the further field that keeps a year as written if it cannot be read as a year."""

_DOI = re.compile(r"10\.\d{1,9}(?:\.\d{1,9}){0,3}/\S{1,300}")
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))?(?!\d)")
_INNER_SPACE = re.compile(r"\s")
_JSON_KINDS: dict[type, Text] = {list: Text("a list"), dict: Text("an object"), bool: Text("true or false")}


class Bibliography(TypedDict):
    """The bibliographic fields of a :class:`~shrag.corpora.records.Record`."""

    authors: tuple[str, ...]
    journal: str
    publisher: str
    year: int | None
    link: str
    keywords: tuple[str, ...]
    doi: str
    volume: str
    issue: str
    pages: str
    type: str


def text_field(fields: Mapping[str, object], key: str) -> str:
    """Return the field as clean text; a number is converted to text.

    The text is empty if the field is missing, null, or a phrase such as "no abstract".

    Raises:
        RejectedLine: The field is a list or an object.
    """
    text = clean_text(_raw_text(fields.get(key), key))
    return "" if is_absent(text) else text


def link_field(fields: Mapping[str, object], key: str) -> str:
    """Return the field as :func:`text_field` does, but with the parameters of an address as they are written."""
    link = clean_text(_raw_text(fields.get(key), key), is_link=True)
    return "" if is_absent(link) else link


def docid_field(fields: Mapping[str, object], key: str) -> str:
    """Return the identifier in NFC; raises :class:`RejectedLine` if it is empty or :func:`check_docid` refuses it."""
    docid = unicodedata.normalize("NFC", _raw_text(fields.get(key), key)).strip()
    if not docid:
        raise RejectedLine(Text("no identifier: {key!r} is missing or empty", key=key))
    return check_docid(docid)


def check_docid(docid: str) -> str:
    """Return an identifier if a TREC run can contain it; otherwise raise :class:`RejectedLine`."""
    if len(docid) > LONGEST_DOCID:
        raise RejectedLine(
            Text(
                "the identifier has {docid_count} characters, at most {longest_docid} are allowed",
                docid_count=len(docid),
                longest_docid=LONGEST_DOCID,
            )
        )
    if _INNER_SPACE.search(docid) or not docid.isprintable():
        raise RejectedLine(
            Text(
                "the identifier {docid!r} has whitespace or control characters, which a run file cannot contain",
                docid=docid,
            )
        )
    return docid


def year_field(fields: Mapping[str, object], key: str) -> int | None:
    """Return the first four-digit year from 1500 to 2099 in the field, also of a date such as 20210304, or None."""
    match = _YEAR.search(_raw_text(fields.get(key), key))
    return int(match.group(1)) if match else None


def list_field(fields: Mapping[str, object], key: str, separators: tuple[str, ...] = (";",)) -> tuple[str, ...]:
    """Return the clean non-empty parts of a field.

    The field is a list of strings, or a text that is split at the first of ``separators`` that occurs in it.
    """
    value = fields.get(key)
    if isinstance(value, list):
        parts = [clean_text(_raw_text(part, key)) for part in value]
    else:
        # The text is cleaned before it is split, since HTML entities contain semicolons.
        text = text_field(fields, key)
        parts = [part.strip() for part in text.split(next((mark for mark in separators if mark in text), ";"))]
    return tuple(part for part in parts if not is_absent(part))


def bibliography(fields: Mapping[str, object]) -> Bibliography:
    """Return the bibliography of ``fields``: ``author``, ``keyword``, and the others under the names of the result."""
    return Bibliography(
        authors=list_field(fields, "author"),
        journal=text_field(fields, "journal"),
        publisher=text_field(fields, "publisher"),
        year=year_field(fields, "year"),
        link=link_field(fields, "link"),
        keywords=tuple(dict.fromkeys(list_field(fields, "keyword", KEYWORD_SEPARATORS))),
        doi=doi_field(fields, "doi"),
        volume=text_field(fields, "volume"),
        issue=text_field(fields, "issue"),
        pages=text_field(fields, "pages"),
        type=document_type(text_field(fields, "type")),
    )


def doi_field(fields: Mapping[str, object], key: str) -> str:
    """Return the DOI in the field without an address or ``doi:`` in front; empty if the text has no DOI."""
    match = _DOI.search(text_field(fields, key))
    return match.group() if match else ""


def other_fields(fields: Mapping[str, object], read: Container[str]) -> tuple[tuple[str, str], ...]:
    """Return name and value of the fields whose names are not in ``read``, without empty names and values.

    A list of values is joined by semicolons; other nested values become JSON. At most :data:`MOST_OTHER` fields are
    kept. Names longer than :data:`LONGEST_OTHER_NAME` and values longer than :data:`LONGEST_OTHER_VALUE` are cut and
    end with an ellipsis.
    """
    other: list[tuple[str, str]] = []
    for name, value in fields.items():
        if name in read or not (label := plain_line(name)) or not (text := plain_line(_as_text(value))):
            continue
        other.append((_cut(label, LONGEST_OTHER_NAME), _cut(text, LONGEST_OTHER_VALUE)))
        if len(other) == MOST_OTHER:
            break
    return tuple(other)


def with_unread_year(
    other: tuple[tuple[str, str], ...], fields: Mapping[str, object], year: int | None
) -> tuple[tuple[str, str], ...]:
    """Return the further fields after the year as written, if ``fields`` has one that cannot be read as ``year``."""
    if year is not None or not (written := text_field(fields, "year")):
        return other
    return ((UNREAD_YEAR, _cut(written, LONGEST_OTHER_VALUE)), *other[: MOST_OTHER - 1])


def has_unread_year(other: tuple[tuple[str, str], ...]) -> bool:
    """Return whether :func:`with_unread_year` put a year in front of the further fields ``other``."""
    return bool(other) and other[0][0] == UNREAD_YEAR and year_field(dict(other[:1]), UNREAD_YEAR) is None


def _as_text(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(part, list | dict) for part in value):
        return "; ".join(filter(None, map(_as_text, value)))
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _raw_text(value: object, key: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise RejectedLine(
        Text("{key!r} is {value}, expected text", key=key, value=_JSON_KINDS.get(type(value), type(value).__name__))
    )
