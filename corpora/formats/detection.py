"""Read a source in a given format, and guess the format of a file from its first bytes, columns and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.columns import Columns, map_columns
from shrag.corpora.formats.paper_sections import SECTIONS_KEYS, is_known
from shrag.corpora.formats.registry import FORMATS, Format
from shrag.corpora.formats.table import PARQUET_MAGIC, inspect_table
from shrag.corpora.readers.csv_reader import column_names
from shrag.corpora.readers.hwpx_reader import is_hwpx
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_bytes, read_head, source_encoding
from shrag.corpora.readers.spreadsheet_reader import LARGEST_SPREADSHEET, OLE_MAGIC
from shrag.corpora.readers.zip_archive import ZIP_MAGIC, open_zip
from shrag.corpora.records import Record
from shrag.messages.text import Text, joined, message_of

_REJECTS_BEFORE_CHECK = 50
"""After this many rejected items and no record, :func:`read_source` checks whether the file has another format."""

_HEAD = 4_096
_TRIED = 20
_SHOWN_KEYS = 12
_FEWEST_KEYS = 2
_FEWEST_OBJECTS = 3
_TREC = re.compile(rb"<DOC\b", re.IGNORECASE)
_RIS = re.compile(rb"\ATY  ?- ?[A-Z]", re.MULTILINE)
_BIBTEX = re.compile(
    rb"^\s*@(?:article|book|inbook|incollection|inproceedings|conference|phdthesis|mastersthesis|thesis|techreport|report|"
    rb"misc|online|proceedings|manual|unpublished|string|preamble)\s*[{(]",
    re.IGNORECASE | re.MULTILINE,
)
_TAGGED = re.compile(rb"[A-Z][A-Z0-9]{1,3}\s*- |%[A-Z0-9] ")
_FEWEST_TAGGED = 3
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab")
_NUMBERS = ("cn", "문헌번호")
_BINARY = (b"%PDF", PARQUET_MAGIC, OLE_MAGIC, ZIP_MAGIC)

# Keys that identify the objects of a format, the most specific first.
_KEYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("scienceon", ("CN",)),
    ("miracl", ("docid", "text", "title")),
    ("beir", ("_id", "text")),
    ("papers", ("paper_id", "text")),
)


def read_source(path: Path, format: Format) -> Iterator[ParsedItem]:
    """Yield the items of ``path``, read as ``format``.

    Raises:
        CorpusError: The file cannot be read to its end, or its items are not records and look like another format; the
            message names that format.
    """
    records = rejects = 0
    first = ""
    if format.name.startswith("papers"):
        _check_references(path, format)
    try:
        for item in format.read(path):
            records += isinstance(item.outcome, Record)
            if isinstance(item.outcome, str):
                rejects += 1
                first = first or Text("line {number}: {reason}", number=item.number, reason=item.outcome)
            yield item
            if rejects == _REJECTS_BEFORE_CHECK and not records:
                _check_format(path, format, first)
    except CorpusError as error:
        if not records:
            _check_format(path, format, first or message_of(error))
        raise
    if not records:
        _check_format(path, format, first or Text("it holds no record"))


def _check_references(path: Path, format: Format) -> None:
    """Raise for a list of references, because the format papers would store it as the text of one paper."""
    text = read_head(path, _HEAD).lstrip()
    if _RIS.search(text) or _BIBTEX.search(text):
        _check_format(path, format, Text("it is a list of references"))


def _check_format(path: Path, format: Format, first: str) -> None:
    likely = guess_format(path)
    if likely and likely.name != format.name:
        raise CorpusError(
            Text(
                "{path} does not look like {name} ({first}): it {why}, so did you mean --format {likely_name}?",
                path=path,
                name=format.name,
                first=first,
                why=likely.why,
                likely_name=likely.name,
            )
        )


class FormatGuess(msgspec.Struct, frozen=True):
    """The guessed format of a file.

    Attributes:
        name: The name of the format, empty if it is not known.
        why: The reason, as the end of a sentence that begins with the file: ``is a PDF``.
        fields: For a table, which column is which field: ``title ← 논문명``.
        others: For a table, the other columns.
        unread: For a spreadsheet, the sheets that are not read.
        certain: Whether the guess is sure enough to propose it when another format found no record in the file.
    """

    name: str
    why: str
    fields: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    certain: bool = True


def inspect_file(path: Path, format: Format | None, columns: Columns) -> FormatGuess:
    """Return the format that a file is taken for, and for a table which column is which field.

    Args:
        path: The file.
        format: The format that the user named, or None to guess it.
        columns: The columns that the user named.

    Raises:
        CorpusError: The file cannot be read, its format is not known, or its format does not allow ``columns``; the
            message says what the file has and what to do.
    """
    guess = FormatGuess(format.name, "") if format else _guess(path, columns)
    if not guess.name:
        raise CorpusError(
            Text(
                "The format of {path} is unknown: it {why}. Name the format with --format (one of {formats}), or "
                "leave the file out.",
                path=path,
                why=guess.why,
                formats=", ".join(FORMATS),
            )
        )
    if columns.named and guess.name not in ("table", "csl-json", "scienceon", "miracl", "beir"):
        raise CorpusError(
            Text(
                "{path} {why}, so --column cannot be used: the fields of {name} are fixed.",
                path=path,
                why=guess.why,
                name=guess.name,
            )
        )
    if guess.name == "table" or columns.named:
        layout = inspect_table(path, columns)
        why = guess.why or Text("is read as {kind}", kind=layout.kind)
        return FormatGuess("table", _with_encoding(path, why), tuple(layout.shown()), layout.others, layout.unread)
    return msgspec.structs.replace(guess, why=_with_encoding(path, guess.why))


def guess_format(path: Path) -> FormatGuess | None:
    """Return a file's format, guessed from its first bytes and objects, or None if it is unknown or not certain."""
    try:
        guess = _guess(path, Columns())
    except CorpusError:
        return None
    return guess if guess.name and guess.certain else None


def _with_encoding(path: Path, why: str) -> str:
    encoding = source_encoding(path) if not read_head(path, 8).startswith(_BINARY) else "UTF-8"
    return Text("{why} ({encoding})", why=why, encoding=encoding) if encoding != "UTF-8" and why else why


def _guess(path: Path, columns: Columns) -> FormatGuess:
    head = read_head(path, _HEAD)
    if head.startswith(_BINARY):
        return _by_magic(path, head)
    text = head.lstrip()
    if not text:
        raise CorpusError(Text("{path} is empty: leave it out, or export it again.", path=path))
    if text.startswith((b"{", b"[")):
        return _by_keys(path, columns)
    if text.startswith(b"<"):
        return _by_tags(text)
    return _by_text(path, text, columns)


def _by_magic(path: Path, head: bytes) -> FormatGuess:
    if head.startswith(b"%PDF"):
        return FormatGuess("papers", Text("is a PDF"))
    if head.startswith(PARQUET_MAGIC):
        return FormatGuess("table", Text("is a Parquet file"))
    if head.startswith(ZIP_MAGIC):
        return _by_archive(path)
    if path.name.casefold().endswith(".hwp"):
        return FormatGuess("", Text("is an HWP document; save it as HWPX, which is read"))
    return FormatGuess("table", Text("is an Excel file of the older kind (XLS)"))


def _by_archive(path: Path) -> FormatGuess:
    try:
        with open_zip(read_bytes(path, LARGEST_SPREADSHEET)) as archive:
            names = archive.namelist()
    except RejectedLine as error:
        raise CorpusError(Text("{path} cannot be read: {error}.", path=path, error=error)) from None
    found = (
        (is_hwpx(names), FormatGuess("papers", Text("is an HWPX document"))),
        (any(name.startswith("xl/workbook.") for name in names), FormatGuess("table", Text("is an Excel file (XLSX)"))),
        ("content.xml" in names and _suffix(path) == ".ods", FormatGuess("table", Text("is a spreadsheet (ODS)"))),
        (
            "word/document.xml" in names,
            FormatGuess("", Text("is a Word document; save it as PDF or text, which are read")),
        ),
        (True, FormatGuess("", Text("is a ZIP archive; unpack it and add the files in it"))),
    )
    return next(guess for fits, guess in found if fits)


def _suffix(path: Path) -> str:
    """Return the ending of a file's name in lower case, without ``.gz``."""
    return Path(path.name.casefold().removesuffix(".gz")).suffix


def _by_text(path: Path, text: bytes, columns: Columns) -> FormatGuess:
    if _RIS.search(text):
        return FormatGuess("ris", Text("holds references of RIS (TY … ER)"))
    if _BIBTEX.search(text):
        return FormatGuess("bibtex", Text("holds entries of BibTeX"))
    lines = [line for line in text.split(b"\n") if line.strip()]
    suffix = _suffix(path)
    return _by_columns(text, lines, suffix, columns) or _by_lines(text, lines, suffix)


def _by_columns(text: bytes, lines: list[bytes], suffix: str, columns: Columns) -> FormatGuess | None:
    names = _table_columns(text, lines)
    if not names:
        return None
    if any(name.casefold() in _NUMBERS for name in names) and not columns.named:
        return FormatGuess("scienceon", Text("is a table with a column CN"))
    known = map_columns(names, columns)
    if known.get("title") or known.get("text"):
        return FormatGuess("table", Text("is a table whose first line names columns"))
    if suffix in _TABLE_SUFFIXES:
        return FormatGuess(
            "",
            Text(
                "is a table with the columns {columns}, none of which is known as a title or a text: name them with "
                "--column title=NAME and --column text=NAME",
                columns=", ".join(names[:_SHOWN_KEYS]),
            ),
        )
    return None


def _by_lines(text: bytes, lines: list[bytes], suffix: str) -> FormatGuess:
    first = lines[0].decode("utf-8", "replace")
    if first.startswith("# ") or is_known(first.strip()):
        return FormatGuess("papers", Text("is text with headings"))
    if suffix in (".md", ".txt") and not _looks_tagged(lines) and b"\0" not in text:
        return FormatGuess("papers", Text("is a text file named {suffix}, which is read as one paper", suffix=suffix))
    if b"\0" in text:
        return FormatGuess("", Text("is neither text nor another known kind of file"))
    return FormatGuess("", Text("begins with {first!r}", first=first.strip()[:60]))


def _table_columns(text: bytes, lines: list[bytes]) -> list[str]:
    """Return the cells of the first line if they may be names of columns and the next line has as many cells."""
    names = [name for name in column_names(text) if name]
    if len(names) < _FEWEST_KEYS:
        return []
    delimiter = max(b",\t;", key=lines[0].count)
    complete = lines[1:-1] or lines[1:]
    alike = not complete or b'"' in complete[0] or complete[0].count(delimiter) == lines[0].count(delimiter)
    return names if alike else []


def _looks_tagged(lines: list[bytes]) -> bool:
    """Return whether many lines begin with a tag, as in exports of databases (``PMID- 123``)."""
    tagged = sum(bool(_TAGGED.match(line)) for line in lines)
    return tagged >= _FEWEST_TAGGED and tagged * 3 >= len(lines)


def _by_tags(head: bytes) -> FormatGuess:
    if _TREC.search(head):
        return FormatGuess("trec", Text("holds <DOC> elements"))
    if b"<record" in head or b"<MetaData" in head:
        return FormatGuess("scienceon", Text("holds <record> elements"))
    return FormatGuess("", Text("is XML or HTML without <record> or <DOC> elements"))


def _by_keys(path: Path, columns: Columns) -> FormatGuess:
    objects = [item.fields for item in islice(read_objects(path), _TRIED) if isinstance(item.fields, dict)]
    if not objects:
        return FormatGuess("", Text("begins like JSON but holds no objects, one a line or in an array"))
    keys = list(objects[0])
    named = next(((name, wanted) for name, wanted in _KEYS if all(key in keys for key in wanted)), None)
    if named and not columns.named:
        return FormatGuess(named[0], Text("holds objects with {keys}", keys=joined(named[1], Text(" and "))))
    if any(key in keys for key in SECTIONS_KEYS) and not columns.named:
        return FormatGuess("papers", Text("holds objects with sections"))
    if "type" in keys and "title" in keys and any(map(_is_csl, objects)) and not columns.named:
        return FormatGuess("csl-json", Text("holds CSL-JSON"))
    shown = ", ".join(keys[:_SHOWN_KEYS])
    try:
        inspect_table(path, columns)
    except CorpusError:
        return FormatGuess(
            "",
            Text(
                "holds objects with {keys}, none of which is known as a title or a text: name them with --column "
                "title=NAME and --column text=NAME",
                keys=shown,
            ),
        )
    # Any object with a title can be read as a table, so only several objects with the same keys make it certain.
    several = len(keys) >= _FEWEST_KEYS and len(objects) >= _FEWEST_OBJECTS
    why = Text("holds objects with {keys}", keys=shown)
    return FormatGuess("table", why, certain=several and all(list(each) == keys for each in objects))


def _is_csl(found: Mapping[str, object]) -> bool:
    issued, authors = found.get("issued"), found.get("author")
    return (isinstance(issued, dict) and "date-parts" in issued) or (
        isinstance(authors, list) and any(isinstance(name, dict) and "family" in name for name in authors)
    )
