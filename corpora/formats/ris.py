"""Read RIS, the format of EndNote, Zotero and most databases; the only module that imports rispy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shrag.corpora.formats.columns import first_columns
from shrag.corpora.formats.table import parse_row
from shrag.corpora.readers.item import ParsedItem, SourceItem, parse_items
from shrag.corpora.readers.source import LONGEST_LINE, read_lines
from shrag.corpora.records import Record
from shrag.messages.text import Text

_TAG = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*)|\s*)$")
_COLUMNS = {
    "title": ("title", "primary_title", "translated_title"),
    "text": ("abstract", "notes_abstract"),
    "journal": (
        "journal_name",
        "secondary_title",
        "alternate_title3",
        "alternate_title1",
        "alternate_title2",
        "tertiary_title",
    ),
    "publisher": ("publisher",),
    "year": ("year", "publication_year", "date"),
    "link": ("urls", "url", "link1"),
    "doi": ("doi",),
    "volume": ("volume",),
    "issue": ("number",),
    "type": ("type_of_reference",),
    "id": ("id", "accession_number"),
    "author": ("authors", "first_authors"),
    "keyword": ("keywords",),
}
_REPEATABLE = ("title", "text", "author", "keyword")
_SINGLE = {"start_page", "end_page"}.union(*(names for field, names in _COLUMNS.items() if field not in _REPEATABLE))


def read_ris(path: Path) -> Iterator[ParsedItem]:
    """Yield the references of one file, each from ``TY`` to ``ER``; text outside them is rejected."""
    return parse_items(_references(path), parse_reference)


def parse_reference(fields: Mapping[str, object]) -> Record:
    """Return the record of one reference with rispy's names of fields; it is complete if it has an abstract.

    The identifier is ``ID``, else ``AN``, else the DOI, else a digest. Repeated titles and abstracts are joined; of
    a year and of other fields that have one value, the first line is taken.
    """
    fields = {
        name: value[0] if name in _SINGLE and isinstance(value, list) and value else value
        for name, value in fields.items()
    }
    pages = "-".join(dict.fromkeys(str(fields[name]) for name in ("start_page", "end_page") if fields.get(name)))
    unknown = fields.get("unknown_tag")
    rest = {name: value for name, value in fields.items() if name not in ("unknown_tag", "start_page", "end_page")}
    found = {**rest, **(dict(unknown) if isinstance(unknown, dict) else {})} | ({"pages": pages} if pages else {})
    return parse_row(found, {**first_columns(fields, _COLUMNS), **({"pages": ("pages",)} if pages else {})})


def _references(path: Path) -> Iterator[SourceItem]:
    start = None
    lines: list[str] = []
    size = 0
    for line in read_lines(path):
        text = "" if line.data is None else line.data.decode("utf-8", "surrogateescape")
        tag = match.group(1) if (match := _TAG.match(text)) else ""
        if tag == "TY":
            if start is not None:
                yield SourceItem(*start, Text("the reference is not closed by ER"))
            start, lines, size = (line.number, line.offset), [], 0
        if start is None:
            if text.strip() or line.data is None:
                yield SourceItem(line.number, line.offset, Text("text outside TY … ER"))
            continue
        size += LONGEST_LINE + 1 if line.data is None else len(text)
        if size <= LONGEST_LINE:
            lines.append(f"{tag}  - {match.group(2) or ''}" if match else text)
        if tag == "ER":
            yield SourceItem(*start, _fields("\n".join(lines), size))
            start = None
    if start is not None:
        yield SourceItem(*start, Text("the reference is not closed by ER"))


def _fields(text: str, size: int) -> dict[str, Any] | str:
    import rispy

    if size > LONGEST_LINE:
        return Text("longer than {longest_line} bytes", longest_line=LONGEST_LINE)
    if any("\udc80" <= character <= "\udcff" for character in text):
        return Text("neither UTF-8 nor CP949")
    try:
        (found,) = rispy.loads(text, enforce_list_tags=False)
    except (ValueError, KeyError, OSError) as error:
        return Text("not a reference of RIS: {error}", error=error)
    return dict(found)
