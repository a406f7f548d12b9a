"""Read BibTeX; the only module that imports bibtexparser."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.columns import first_columns
from shrag.corpora.formats.table import parse_row
from shrag.corpora.readers.encodings import convert_lines
from shrag.corpora.readers.item import ParsedItem, SourceItem, decode_text, parse_items
from shrag.corpora.readers.source import UTF8_MARK, read_bytes
from shrag.corpora.records import Record
from shrag.messages.text import Text

LARGEST_FILE = 64 * 2**20
"""The largest accepted file in bytes; a file is read into memory as a whole."""

_PERCENT = re.compile(r"(?<!\\)%")
_PIECE = re.compile(r'"([^"]*)"|\{((?:[^{}]|\{[^{}]*\})*)\}|([^\s#"{}]+)')
_COLUMNS = {
    "id": ("entry key",),
    "title": ("title",),
    "text": ("abstract",),
    "author": ("author",),
    "journal": ("journal", "journaltitle", "booktitle"),
    "publisher": ("publisher", "school", "institution", "organization"),
    "year": ("year", "date"),
    "link": ("url",),
    "keyword": ("keywords", "keyword"),
    "doi": ("doi",),
    "volume": ("volume",),
    "issue": ("number", "issue"),
    "pages": ("pages",),
    "type": ("entry type",),
}
_NAMES = ("author", "editor", "translator")


def read_bibtex(path: Path) -> Iterator[ParsedItem]:
    """Yield the entries of one file, without comments and string definitions.

    Raises:
        CorpusError: The file is too large or is not text.
    """
    return parse_items(_entries(path), parse_entry)


def parse_entry(fields: Mapping[str, object]) -> Record:
    """Return the record of one entry; its key is the identifier, and it is complete if it has an abstract."""
    return parse_row(fields, first_columns(fields, _COLUMNS))


def _entries(path: Path) -> Iterator[SourceItem]:
    from bibtexparser import model

    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    try:
        text = decode_text(convert_lines(read_bytes(path, LARGEST_FILE).removeprefix(UTF8_MARK)))
    except RejectedLine as error:
        raise CorpusError(Text("{path} cannot be read: {error}.", path=path, error=error)) from None
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    for block, address in _blocks(text):
        number = min(block.start_line or 0, len(lines) - 1)
        if isinstance(block, model.Entry):
            fields: dict[str, object] = {"entry key": block.key, "entry type": block.entry_type}
            fields |= {field.key: field.value for field in block.fields}
            fields |= {name: _listed(names) for name in _NAMES if isinstance(names := fields.get(name), str)}
            if isinstance(address, str) and "\\" not in address:  # as written: TeX has other meanings for ~ and &
                fields["url"] = address
            if isinstance(pages := fields.get("pages"), str):
                fields["pages"] = pages.replace("--", "-").replace("–", "-")
            yield SourceItem(number + 1, starts[number], fields)
        elif isinstance(block, model.ParsingFailedBlock):
            # The error of an entry that is cut off has an empty text; its reason is in ``abort_reason``.
            reason = str(getattr(block.error, "abort_reason", block.error)).strip().rstrip(".")
            yield SourceItem(number + 1, starts[number], Text("not an entry of BibTeX: {reason}", reason=reason))


def _blocks(text: str) -> Iterator[tuple[Any, object]]:
    """Yield the blocks of a file with decoded fields, whose names are in lower case, and each block's ``url`` as it is.

    The names of persons are separated by semicolons.
    """
    from bibtexparser import entrypoint, middlewares

    library = entrypoint.parse_string(text)
    strings = {name: str(string.value) for name, string in library.strings_dict.items()}
    for field in _fields(library.blocks):
        field.key = field.key.lower()
        if field.enclosing == "no-enclosing" and "#" in field.value:  # such as "Proc. of " # acl
            pieces = _PIECE.findall(field.value)
            field.value = "".join(quoted or braced or strings.get(name, name) for quoted, braced, name in pieces)
    addresses = [
        next((field.value for field in _fields([block]) if field.key == "url"), None) for block in library.blocks
    ]
    _escape_percents(library.blocks)
    # Persons are separated before the braces are gone: "{Institute of Standards and Technology}" is one name.
    library = middlewares.SeparateCoAuthors(name_fields=_NAMES).transform(library)
    for field in _fields(library.blocks):
        if isinstance(field.value, list):
            field.value = ";".join(field.value)  # lists are not decoded
    library = middlewares.LatexDecodingMiddleware().transform(library)
    yield from zip(library.blocks, addresses, strict=True)


def _escape_percents(blocks: Iterable[object]) -> None:
    """Escape percent signs in the fields of entries: they are text in BibTeX, and TeX would take them for comments."""
    for field in _fields(blocks):
        if isinstance(field.value, str):
            field.value = _PERCENT.sub(r"\%", field.value)


def _fields(blocks: Iterable[object]) -> Iterator[Any]:
    """Yield the fields of all entries."""
    return (field for block in blocks for field in getattr(block, "fields", ()))


def _listed(names: str) -> list[str]:
    """Return the names that semicolons separate, without the "others" that stand for further ones."""
    return [name for name in names.split(";") if name.strip() != "others"]
