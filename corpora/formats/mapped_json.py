"""Read JSON objects with a field mapping given by the user (``metadata.title``, ``sections.text``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.fields import bibliography, docid_field, text_field
from shrag.corpora.readers.item import ParsedItem, parse_items
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language

_SHOWN_KEYS = 12


@dataclass(frozen=True, slots=True)
class JsonlKeys:
    """The key of each field of a record, as a dotted path; the texts of all keys of ``text`` are joined.

    A path also leads through lists: ``sections.text`` is the joined text of all sections. A key that contains dots
    itself has precedence over a path. An empty key stands for a missing field.
    """

    id: str = "id"
    title: str = "title"
    text: tuple[str, ...] = ("text",)
    author: str = "author"
    journal: str = "journal"
    publisher: str = "publisher"
    year: str = "year"
    link: str = "link"
    keyword: str = "keyword"


def read_mapped(path: Path, keys: JsonlKeys) -> Iterator[ParsedItem]:
    """Yield the items of one file.

    Raises:
        CorpusError: At the file's end, if no record has a key that the user named: it may be misspelt.
    """
    unseen = set(_named(keys))
    seen_keys: dict[str, None] = {}
    records = 0

    def parse(found: Mapping[str, object]) -> Record:
        nonlocal records
        record = parse_mapped(found, keys)
        records += 1
        if unseen:
            unseen.difference_update([key for key in unseen if find_value(found, key) is not None])
            seen_keys.update(dict.fromkeys(list(found)[:_SHOWN_KEYS]))
        return record

    yield from parse_items(read_objects(path), parse)
    if unseen and records:
        there = ", ".join(list(seen_keys)[:_SHOWN_KEYS])
        raise CorpusError(f"{path} has {min(unseen)!r} in none of its {records} records: their keys are {there}.")


def parse_mapped(found: Mapping[str, object], keys: JsonlKeys) -> Record:
    """Return the record of one object; it is complete if it has a text."""
    flat: dict[str, object] = {
        "id": find_value(found, keys.id),
        "title": _text(find_value(found, keys.title), keys.title),
        "text": " ".join(_text(find_value(found, key), key) for key in keys.text),
        "author": find_value(found, keys.author),
        "journal": _text(find_value(found, keys.journal), keys.journal),
        "publisher": _text(find_value(found, keys.publisher), keys.publisher),
        "year": _first(find_value(found, keys.year)),
        "link": _first(find_value(found, keys.link)),
        "keyword": find_value(found, keys.keyword),
    }
    if flat["id"] in (None, ""):
        raise RejectedLine(
            f"no identifier: {keys.id!r} is missing or empty; name the key with --id-key, this object has "
            f"{', '.join(list(found)[:_SHOWN_KEYS]) or 'none'}"
        )
    docid = docid_field(flat, "id")
    title, text = text_field(flat, "title"), text_field(flat, "text")
    if not title and not text:
        raise RejectedLine(f"record {docid} has neither a title ({keys.title!r}) nor a text ({', '.join(keys.text)})")
    return Record(
        docid=docid,
        title=title,
        text=text,
        language=detect_language(text or title),
        complete=bool(text),
        **bibliography(flat),
    )


def find_value(found: object, path: str) -> object:
    """Return the value at a dotted path, a flat list if the path leads through lists, None if there is no value."""
    if isinstance(found, list):
        parts = [value for part in found if (value := find_value(part, path)) is not None]
        return [value for part in parts for value in (part if isinstance(part, list) else [part])] or None
    if not path or not isinstance(found, dict):
        return None
    if path in found:
        return found[path]
    head, dot, rest = path.partition(".")
    return find_value(found[head], rest) if dot and head in found else None


def _text(value: object, key: str) -> str:
    if isinstance(value, list):
        return " ".join(_text(part, key) for part in value)
    if isinstance(value, dict):
        inner = ", ".join(f"{key}.{name}" for name in list(value)[:_SHOWN_KEYS])
        raise RejectedLine(f"{key!r} is an object, expected text: name a key in it ({inner})")
    return "" if value is None else str(value)


def _first(value: object) -> object:
    return (value[0] if value else None) if isinstance(value, list) else value


def _named(keys: JsonlKeys) -> Iterator[str]:
    for field in fields(JsonlKeys):
        value = getattr(keys, field.name)
        if value != field.default:
            yield from filter(None, value if isinstance(value, tuple) else (value,))
