"""The source files of an addition: find them in folders, find the format of each, and preview their first records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.columns import NO_COLUMNS, Columns
from shrag.corpora.formats.detection import FormatGuess
from shrag.corpora.formats.registry import (
    FORMATS,
    Format,
    each_once,
    find_files,
    find_format,
    folder_files,
    table_format,
    unread_format,
    with_columns,
)
from shrag.corpora.ingest.parser import Parser, ParserLimits
from shrag.corpora.ingest.reading import OnDuplicate, conflict_reason, line_name, printable_path
from shrag.corpora.records import Record
from shrag.corpora.store.parquet import record_digest
from shrag.messages.text import Text, message_of

AnnounceCallback = Callable[[Path, FormatGuess], None]
"""A function that is called with a file and its guessed format before the file is read."""


CHECKED_LINES = 10_000
"""How many lines a preview checks in all files together; it checks at least :data:`_FIRST_LINES` in each file."""

_FIRST_LINES = 30


class FilePreview(NamedTuple):
    """A file, its guessed format, its first records, the reasons of the rejects, and whether all lines were read."""

    path: Path
    guess: FormatGuess
    records: tuple[Record, ...]
    rejects: tuple[str, ...]
    complete: bool


def find_sources(format: Format | None, paths: Sequence[Path]) -> list[Path]:
    """Return the files to read; each folder is replaced by its files of ``format``.

    If ``format`` is None, a folder is replaced by all files that may hold records.

    Raises:
        CorpusError: There is no file, or a file is named twice.
    """
    if format is not None:
        return find_files(format, paths)
    files = [file for path in paths for file in (folder_files(path) if path.is_dir() else [path])]
    return each_once(files, Text("file, or a folder that has one"))


def resolve_formats(
    parser: Parser, format: Format | None, paths: Sequence[Path], columns: Columns, announce: AnnounceCallback
) -> Iterator[tuple[Path, Format]]:
    """Yield each file with its format, which is guessed if ``format`` is None.

    A file is announced first, unless ``format`` has fixed fields or the file is a reject as a whole.

    Raises:
        CorpusError: As :meth:`~shrag.corpora.ingest.parser.Parser.inspect`.
    """
    for path in paths:
        if format is not None and format.columns is None:
            yield path, format
            continue
        named = columns if format is None or format.columns is None else format.columns
        try:
            guess = parser.inspect(path, format, named)
        except RejectedLine as error:
            yield path, unread_format(message_of(error))
            continue
        announce(path, guess)
        yield path, table_format(named) if guess.name == "table" else FORMATS[guess.name]


def preview_sources(
    format: str | Format | None,
    sources: Sequence[Path],
    *,
    columns: Columns = NO_COLUMNS,
    most: int = 3,
    on_duplicate: OnDuplicate = "error",
    repair: bool = True,
    limits: ParserLimits | None = None,
) -> Iterator[FilePreview]:
    """Yield for each file its first records as they would be stored, and the reasons of its rejects; store nothing.

    Only the first lines of large or many files are read (:data:`CHECKED_LINES`).

    Args:
        format: The format of all sources, or its name in the registry; None to guess the format of each file.
        sources: Files and folders.
        columns: The columns that the caller names.
        most: How many records of a file to return.
        on_duplicate: What an addition would do with an identifier that has two contents; ``error`` rejects it.
        repair: Whether to repair the text of the records.
        limits: The limits for reading a file, or None for the default limits.

    Raises:
        CorpusError: A file cannot be read, or its format is not known.
    """
    chosen = None if format is None else with_columns(find_format(format), columns)
    guesses: list[FormatGuess] = []
    seen: dict[str, tuple[bytes, str]] = {}
    left = CHECKED_LINES
    with Parser(limits or ParserLimits()) as parser:
        for path in find_sources(chosen, sources):
            guesses.clear()
            ((_, found),) = resolve_formats(parser, chosen, [path], columns, lambda _, guess: guesses.append(guess))
            batches = parser.read(path, found, repair=repair)
            items = (item for batch in batches for item in batch.items)
            records: dict[str, Record] = {}
            rejects: list[str] = []
            for item in islice(items, max(left, _FIRST_LINES)):
                outcome = item.outcome
                if isinstance(outcome, Record):
                    digest, here = record_digest(outcome), line_name(printable_path(path), item.number, item.element)
                    is_new = outcome.docid not in seen
                    earlier, there = seen.setdefault(outcome.docid, (digest, here))
                    if earlier != digest and on_duplicate == "error":
                        rejects.append(conflict_reason(outcome.docid, there))
                    elif (is_new or on_duplicate == "newest") and (outcome.docid in records or len(records) < most):
                        records[outcome.docid] = outcome
                elif outcome is not None:
                    rejects.append(outcome)
                left -= 1
            complete = next(items, None) is None
            batches.close()
            guess = guesses[0] if guesses else FormatGuess(found.name, "")
            yield FilePreview(path, guess, tuple(records.values()), tuple(rejects), complete)
