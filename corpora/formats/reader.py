"""Read records of one source file, one in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.item import Item
from shrag.corpora.records import Record

if TYPE_CHECKING:
    from shrag.corpora.formats.registry import Format

_TRIED = 50
"""So many pieces without one record, and the file is looked at again: it may be of another format."""


class ReadLine(NamedTuple):
    """What one piece is: a record, the reason why it is none, or None for a blank one.

    ``number`` is the line on which it begins, counted from 1, ``offset`` the byte, of the decompressed file. A piece is
    a line, an element of a JSON array or of XML, a row of CSV, a document, or a chunk of a paper.
    """

    number: int
    offset: int
    outcome: Record | str | None


def read_source(path: Path, format: Format) -> Iterator[ReadLine]:
    """Yield what each piece of ``path`` is.

    Raises :class:`~shrag.corpora.errors.CorpusError` where the file itself cannot be read to its end, and where its
    first pieces are no records but would be in another format.
    """
    records = rejects = 0
    first = ""
    try:
        for line in format.read(path):
            records += isinstance(line.outcome, Record)
            if isinstance(line.outcome, str):
                rejects += 1
                first = first or f"line {line.number}: {line.outcome}"
            yield line
            if rejects == _TRIED and not records:
                _check_format(path, format, first)
    except CorpusError as error:
        if not records:
            _check_format(path, format, first or str(error))
        raise
    if not records:
        _check_format(path, format, first or "it holds no record")


def read_records(items: Iterable[Item], parse: Callable[[Mapping[str, object]], Record]) -> Iterator[ReadLine]:
    """Make a record of every item that has fields; what ``parse`` refuses is a reason."""
    for item in items:
        outcome: Record | str | None
        if item.fields is None or isinstance(item.fields, str):
            outcome = item.fields
        else:
            try:
                outcome = parse(item.fields)
            except RejectedLine as reason:
                outcome = str(reason)
        yield ReadLine(item.number, item.offset, outcome)


def _check_format(path: Path, format: Format, first: str) -> None:
    from shrag.corpora.formats.detection import guess_format  # it knows every format, and formats import this file

    likely = guess_format(path)
    if likely and likely.name != format.name:
        raise CorpusError(
            f"{path} does not look like {format.name} ({first}): it {likely.why}, so did you mean "
            f"--format {likely.usage}?"
        )
