"""Read BibTeX; the only module that imports bibtexparser."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

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
_COLUMNS = {
    "id": ("key",),
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
    from bibtexparser import entrypoint, middlewares, model

    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    try:
        text = decode_text(convert_lines(read_bytes(path, LARGEST_FILE).removeprefix(UTF8_MARK)))
    except RejectedLine as error:
        raise CorpusError(Text("{path} cannot be read: {error}.", path=path, error=error)) from None
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    library = entrypoint.parse_string(text)
    addresses = [
        next((each.value for each in block.fields if each.key.lower() == "url"), None)
        if isinstance(block, model.Entry)
        else None
        for block in library.blocks
    ]
    _escape_percents(library.blocks)
    for step in (middlewares.LatexDecodingMiddleware(), middlewares.SeparateCoAuthors()):
        library = step.transform(library)
    for block, address in zip(library.blocks, addresses, strict=True):
        number = min(block.start_line or 0, len(lines) - 1)
        if isinstance(block, model.Entry):
            fields: dict[str, object] = {"key": block.key, "entry type": block.entry_type}
            fields |= {name.lower(): value for name, value in block.items() if name not in ("ID", "ENTRYTYPE")}
            if isinstance(address, str) and "\\" not in address:  # as written: TeX has other meanings for ~ and &
                fields["url"] = address
            if isinstance(pages := fields.get("pages"), str):
                fields["pages"] = pages.replace("--", "-").replace("–", "-")
            yield SourceItem(number + 1, starts[number], fields)
        elif isinstance(block, model.ParsingFailedBlock):
            # The error of an entry that is cut off has an empty text; its reason is in ``abort_reason``.
            reason = str(getattr(block.error, "abort_reason", block.error)).strip().rstrip(".")
            yield SourceItem(number + 1, starts[number], Text("not an entry of BibTeX: {reason}", reason=reason))


def _escape_percents(blocks: Iterable[object]) -> None:
    """Escape percent signs in the fields of entries: they are text in BibTeX, and TeX would take them for comments."""
    for block in blocks:
        for field in getattr(block, "fields", ()):
            if isinstance(field.value, str):
                field.value = _PERCENT.sub(r"\%", field.value)
