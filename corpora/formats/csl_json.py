"""Read CSL-JSON, the format of Zotero, Pandoc and Crossref: an array of objects, or one object per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from shrag.corpora.formats.columns import first_columns
from shrag.corpora.formats.table import parse_row
from shrag.corpora.readers.item import ParsedItem, parse_items
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.records import Record

_COLUMNS = {
    "id": ("id",),
    "title": ("title",),
    "text": ("abstract",),
    "author": ("author",),
    "journal": ("container-title",),
    "publisher": ("publisher",),
    "year": ("issued",),
    "link": ("URL",),
    "keyword": ("keyword",),
    "doi": ("DOI",),
    "volume": ("volume",),
    "issue": ("issue",),
    "pages": ("page",),
    "type": ("type",),
}


def read_csl_json(path: Path) -> Iterator[ParsedItem]:
    """Yield the items of one file."""
    return parse_items(read_objects(path), parse_csl)


def parse_csl(fields: Mapping[str, object]) -> Record:
    """Return the record of one item; it is complete if it has an abstract.

    The identifier is ``id`` with underscores for blanks, else the DOI, else a digest.
    """
    found = {**fields}
    if isinstance(authors := fields.get("author"), list):
        found["author"] = [_name(author) for author in authors]
    if isinstance(issued := fields.get("issued"), dict):
        found["issued"] = _year(issued)
    if isinstance(number := fields.get("id"), str):
        found["id"] = "_".join(number.split())
    if found.get("type") == "article":  # CSL's name of a preprint
        found["type"] = "preprint"
    return parse_row(found, first_columns(found, _COLUMNS))


def _name(author: object) -> str:
    if not isinstance(author, dict):
        return str(author)
    groups = (("non-dropping-particle", "family"), ("given", "dropping-particle"), ("suffix",))
    parts = [" ".join(str(author[key]) for key in keys if author.get(key)) for keys in groups]
    return ", ".join(filter(None, parts)) or str(author.get("literal") or author.get("name") or "")


def _year(issued: Mapping[str, object]) -> str:
    parts = issued.get("date-parts")
    while isinstance(parts, list):
        parts = parts[0] if parts else None
    return str(parts or issued.get("raw") or issued.get("literal") or "")
