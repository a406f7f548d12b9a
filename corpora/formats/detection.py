"""Read a source in a given format, and guess its real format for the error message if it is another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.paper_sections import is_known
from shrag.corpora.formats.registry import Format
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head
from shrag.corpora.records import Record

_REJECTS_BEFORE_CHECK = 50
"""After so many rejects and no record, the file is checked for another format."""

_HEAD = 4_096
_TRIED = 20
_SHOWN_KEYS = 12
_FEWEST_KEYS = 2
_FEWEST_OBJECTS = 3
_TREC = re.compile(rb"<DOC\b", re.IGNORECASE)
_SECTIONED = ("sections", "full_text", "body_text")

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
        CorpusError: The file cannot be read to its end; or its first items are no records but look like another format,
            which the message names.
    """
    records = rejects = 0
    first = ""
    try:
        for item in format.read(path):
            records += isinstance(item.outcome, Record)
            if isinstance(item.outcome, str):
                rejects += 1
                first = first or f"line {item.number}: {item.outcome}"
            yield item
            if rejects == _REJECTS_BEFORE_CHECK and not records:
                _check_format(path, format, first)
    except CorpusError as error:
        if not records:
            _check_format(path, format, first or str(error))
        raise
    if not records:
        _check_format(path, format, first or "it holds no record")


def _check_format(path: Path, format: Format, first: str) -> None:
    likely = guess_format(path)
    if likely and likely.name != format.name:
        raise CorpusError(
            f"{path} does not look like {format.name} ({first}): it {likely.why}, so did you mean "
            f"--format {likely.usage}?"
        )


class FormatGuess(NamedTuple):
    """A format that a file may have; ``why`` continues a sentence about the file, ``usage`` follows ``--format``."""

    name: str
    why: str
    usage: str


def guess_format(path: Path) -> FormatGuess | None:
    """Guess a file's format from its first bytes and the keys of its first objects; None for an unknown one."""
    try:
        head = read_head(path, _HEAD).lstrip()
        if head.startswith((b"{", b"[")):
            return _by_keys(path)
    except CorpusError:
        return None
    return _by_tags(head) if head.startswith(b"<") else _by_text(head)


def _by_text(head: bytes) -> FormatGuess | None:
    if head.startswith(b"%PDF"):
        return FormatGuess("papers", "is a PDF", "papers")
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if "CN" in re.split(r'[",;\t]+', first):
        return FormatGuess("scienceon", "has a column CN", "scienceon")
    if first.startswith("# ") or is_known(first):
        return FormatGuess("papers", "is text with headings", "papers")
    return None


def _by_tags(head: bytes) -> FormatGuess | None:
    if _TREC.search(head):
        return FormatGuess("trec", "holds <DOC> elements", "trec")
    if b"<record" in head or b"<MetaData" in head:
        return FormatGuess("scienceon", "holds <record> elements", "scienceon")
    return None


def _by_keys(path: Path) -> FormatGuess | None:
    objects = [item.fields for item in islice(read_objects(path), _TRIED) if isinstance(item.fields, dict)]
    if not objects:
        return None
    keys = list(objects[0])
    for name, wanted in _KEYS:
        if all(key in keys for key in wanted):
            return FormatGuess(name, f"holds objects with {' and '.join(wanted)}", name)
    if any(key in keys for key in _SECTIONED):
        return FormatGuess("papers", "holds objects with sections", "papers")
    # Any object can be mapped: ask for several objects with the same keys, at least an identifier and a text.
    if len(keys) < _FEWEST_KEYS or len(objects) < _FEWEST_OBJECTS or any(list(found) != keys for found in objects):
        return None
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return FormatGuess("jsonl", f"holds objects with {shown}", "jsonl (with --id-key and --text-key)")
