"""Typed access to the fields of an item: clean text, identifiers, years, lists; a wrong type rejects the item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import TypedDict

from shrag.corpora.errors import RejectedLine
from shrag.corpora.text.cleaning import clean_text, is_absent

LONGEST_DOCID = 512
"""Most characters of an identifier."""

KEYWORD_SEPARATORS = (";", ",", "/", " . ")
"""A list of keywords is split at the first of these that occurs in it: "Child, Preschool;Mouth" are two keywords."""

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_INNER_SPACE = re.compile(r"\s")
_JSON_KINDS: dict[type, str] = {list: "a list", dict: "an object", bool: "true or false"}


class Bibliography(TypedDict):
    """The bibliographic fields of a :class:`~shrag.corpora.records.Record`."""

    authors: tuple[str, ...]
    journal: str
    publisher: str
    year: int | None
    link: str
    keywords: tuple[str, ...]


def text_field(fields: Mapping[str, object], key: str) -> str:
    """Return the field as clean text, empty if it is missing, null, or a phrase such as "no abstract".

    A number is converted to text.

    Raises:
        RejectedLine: The field is a list or an object.
    """
    text = clean_text(_raw_text(fields.get(key), key))
    return "" if is_absent(text) else text


def docid_field(fields: Mapping[str, object], key: str) -> str:
    """Return the identifier in NFC; raises :class:`RejectedLine` as :func:`check_docid`, and if it is empty."""
    docid = unicodedata.normalize("NFC", _raw_text(fields.get(key), key)).strip()
    if not docid:
        raise RejectedLine(f"no identifier: {key!r} is missing or empty")
    return check_docid(docid)


def check_docid(docid: str) -> str:
    """Return an identifier that a TREC run can contain; raises :class:`RejectedLine` for others."""
    if len(docid) > LONGEST_DOCID:
        raise RejectedLine(f"the identifier has {len(docid)} characters, at most {LONGEST_DOCID} are allowed")
    if _INNER_SPACE.search(docid) or not docid.isprintable():
        raise RejectedLine(
            f"the identifier {docid!r} has whitespace or control characters, which a run file cannot contain"
        )
    return docid


def year_field(fields: Mapping[str, object], key: str) -> int | None:
    """Return the first four-digit year from 1500 to 2099 in the field, or None."""
    match = _YEAR.search(_raw_text(fields.get(key), key))
    return int(match.group()) if match else None


def list_field(fields: Mapping[str, object], key: str, separators: tuple[str, ...] = (";",)) -> tuple[str, ...]:
    """Return the clean non-empty parts of a field: a list of strings, or text split at the first separator in it."""
    value = fields.get(key)
    if isinstance(value, list) and value:
        parts = [clean_text(_raw_text(part, key)) for part in value]
    else:
        # Clean before splitting, since entities contain semicolons.
        text = text_field(fields, key)
        parts = [part.strip() for part in text.split(next((mark for mark in separators if mark in text), ";"))]
    return tuple(part for part in parts if not is_absent(part))


def bibliography(fields: Mapping[str, object]) -> Bibliography:
    """Return the fields ``author``, ``journal``, ``publisher``, ``year``, ``link`` and ``keyword``."""
    return Bibliography(
        authors=list_field(fields, "author"),
        journal=text_field(fields, "journal"),
        publisher=text_field(fields, "publisher"),
        year=year_field(fields, "year"),
        link=text_field(fields, "link"),
        keywords=tuple(dict.fromkeys(list_field(fields, "keyword", KEYWORD_SEPARATORS))),
    )


def _raw_text(value: object, key: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise RejectedLine(f"{key!r} is {_JSON_KINDS.get(type(value), type(value).__name__)}, expected text")
