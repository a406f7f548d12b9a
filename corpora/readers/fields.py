"""Typed access to the fields of a decoded object or row."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TypedDict

from shrag.corpora.errors import RejectedLine
from shrag.corpora.text.cleaning import clean_text, is_absent

LONGEST_DOCID = 512
"""Characters an identifier may have."""

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_INNER_SPACE = re.compile(r"\s")

# The first of these that a list holds separates it: "Child, Preschool;Mouth" are two, and so are "TCP/IP, UDP".
_KEYWORD_SEPARATORS = (";", ",", "/", " . ")


def text_field(fields: Mapping[str, object], key: str) -> str:
    """Return the field as clean text: ``""`` where it is missing, null or only says that there is none.

    Numbers are written out. Raises :class:`RejectedLine` for a list or an object.
    """
    return _present(_raw_text(fields, key))


def docid_field(fields: Mapping[str, object], key: str) -> str:
    """Return the identifier: non-empty, NFC, without whitespace (a TREC run could not hold it otherwise)."""
    docid = unicodedata.normalize("NFC", _raw_text(fields, key)).strip()
    if not docid:
        raise RejectedLine(f"no identifier: {key!r} is missing or empty")
    return check_docid(docid)


def check_docid(docid: str) -> str:
    """Return a non-empty identifier that a run file can hold; raises :class:`RejectedLine` for another."""
    if len(docid) > LONGEST_DOCID:
        raise RejectedLine(f"the identifier has {len(docid)} characters, at most {LONGEST_DOCID} are allowed")
    if _INNER_SPACE.search(docid) or not docid.isprintable():
        raise RejectedLine(
            f"the identifier {docid!r} holds whitespace or control characters, which a run file cannot hold"
        )
    return docid


def year_field(fields: Mapping[str, object], key: str) -> int | None:
    """Return the first four-digit year from 1500 to 2099 in the field, or None."""
    match = _YEAR.search(_raw_text(fields, key))
    return int(match.group()) if match else None


def names_field(fields: Mapping[str, object], key: str, separator: str = ";") -> tuple[str, ...]:
    """Return the names of a separated list, or of a list of strings, cleaned, without empty ones."""
    return _names(_listed(fields, key) or text_field(fields, key).split(separator))


def keywords_field(fields: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return the keywords of a list separated by ``;`` or else ``,`` or else ``/`` or `` . ``, or of a list of strings.

    Cleaned as names are, each once, in their order.
    """
    listed = _listed(fields, key)
    if not listed:
        text = text_field(fields, key)
        separator = next((mark for mark in _KEYWORD_SEPARATORS if mark in text), ";")
        listed = text.split(separator)
    return tuple(dict.fromkeys(_names(listed)))


def _names(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for part in parts if (name := _present(part)))


def _present(raw: str) -> str:
    text = clean_text(raw)
    return "" if is_absent(text) else text


def _listed(fields: Mapping[str, object], key: str) -> list[str]:
    value = fields.get(key)
    if not isinstance(value, list):
        return []
    return [_raw_text({key: part}, key) for part in value]


class Bibliography(TypedDict):
    """What a record may say of its publication, by the names that :class:`~shrag.corpora.records.Record` has."""

    authors: tuple[str, ...]
    journal: str
    publisher: str
    year: int | None
    link: str
    keywords: tuple[str, ...]


def bibliography(fields: Mapping[str, object]) -> Bibliography:
    """Return what stands under ``author``, ``journal``, ``publisher``, ``year``, ``link`` and ``keyword``."""
    return Bibliography(
        authors=names_field(fields, "author"),
        journal=text_field(fields, "journal"),
        publisher=text_field(fields, "publisher"),
        year=year_field(fields, "year"),
        link=text_field(fields, "link"),
        keywords=keywords_field(fields, "keyword"),
    )


def _raw_text(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise RejectedLine(f"{key!r} is {_json_kind(value)}, expected text")


def _json_kind(value: object) -> str:
    kinds: dict[type, str] = {list: "a list", dict: "an object", bool: "true or false"}
    return kinds.get(type(value), type(value).__name__)
