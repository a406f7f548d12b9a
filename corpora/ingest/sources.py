"""Source files of an addition: those of folders, the format of each, a preview of their first records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

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
    with_columns,
)
from shrag.corpora.ingest.parser import Parser, ParserLimits
from shrag.corpora.records import Record

AnnounceCallback = Callable[[Path, FormatGuess], None]
"""Called with a file and what it is taken for, before it is read."""


class FilePreview(NamedTuple):
    """A file, what it is taken for, its first records, and the reasons of the rejects before the last of them."""

    path: Path
    guess: FormatGuess
    records: tuple[Record, ...]
    rejects: tuple[str, ...]


def find_sources(format: Format | None, paths: Sequence[Path]) -> list[Path]:
    """Return the files to read: those of folders that belong to the format, or may hold records where it is None.

    Raises:
        CorpusError: There is no file, or one is named twice.
    """
    if format is not None:
        return find_files(format, paths)
    files = [file for path in paths for file in (folder_files(path) if path.is_dir() else [path])]
    return each_once(files, "file, or a folder that has one")


def resolve_formats(
    parser: Parser, format: Format | None, paths: Sequence[Path], columns: Columns, announce: AnnounceCallback
) -> Iterator[tuple[Path, Format]]:
    """Yield each file with its format, which is found where ``format`` is None, after announcing it.

    Raises:
        CorpusError: As :meth:`~shrag.corpora.ingest.parser.Parser.inspect`.
    """
    for path in paths:
        if format is not None and format.columns is None:
            yield path, format
            continue
        named = columns if format is None or format.columns is None else format.columns
        guess = parser.inspect(path, format, named)
        announce(path, guess)
        yield path, table_format(named) if guess.name == "table" else FORMATS[guess.name]


def preview_sources(
    format: str | Format | None,
    sources: Sequence[Path],
    *,
    columns: Columns = NO_COLUMNS,
    most: int = 3,
    repair: bool = True,
    limits: ParserLimits | None = None,
) -> Iterator[FilePreview]:
    """Yield for each file the first records as they would be stored; nothing is stored.

    Args:
        format: The format of the sources, or its name in the registry; None to find that of each file.
        sources: Files and folders.
        columns: The columns that are named by the caller.
        most: Most records of a file.
        repair: Whether to repair their text.
        limits: The limits for reading a file, None for the default ones.

    Raises:
        CorpusError: A file cannot be read, or its format is not known.
    """
    chosen = None if format is None else with_columns(find_format(format), columns)
    guesses: list[FormatGuess] = []
    with Parser(limits or ParserLimits()) as parser:
        for path in find_sources(chosen, sources):
            guesses.clear()
            ((_, found),) = resolve_formats(parser, chosen, [path], columns, lambda _, guess: guesses.append(guess))
            batches = parser.read(path, found, repair=repair)
            outcomes = (item.outcome for batch in batches for item in batch.items if item.outcome is not None)
            records: list[Record] = []
            rejects: list[str] = []
            for outcome in islice(outcomes, most * 10):
                if isinstance(outcome, Record):
                    records.append(outcome)
                else:
                    rejects.append(outcome)
                if len(records) == most:
                    break
            batches.close()
            yield FilePreview(
                path, guesses[0] if guesses else FormatGuess(found.name, ""), tuple(records), tuple(rejects)
            )
