"""One source file → what each of its lines is, in order, one line in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats import Format
from shrag.corpora.lines import LONGEST_LINE, Line, read_lines
from shrag.corpora.records import Record

_DECODER = msgspec.json.Decoder(dict[str, Any])


class ReadLine(NamedTuple):
    """What one line is: a record, the reason why it is none, or None for a blank line. Places as in :class:`Line`."""

    number: int
    offset: int
    outcome: Record | str | None


def read_source(path: Path, format: Format) -> Iterator[ReadLine]:
    """Yield what each line of ``path`` is.

    Raises :class:`~shrag.corpora.errors.CorpusError` where the file itself cannot be read to its end.
    """
    for line in read_lines(path):
        yield ReadLine(line.number, line.offset, _outcome(line, format))


def _outcome(line: Line, format: Format) -> Record | str | None:
    if line.data is not None and not line.data.strip():
        return None
    try:
        return format.parse(_decode(line))
    except RejectedLine as reason:
        return str(reason)


def _decode(line: Line) -> dict[str, Any]:
    if line.data is None:
        raise RejectedLine(f"the line is longer than {LONGEST_LINE} bytes")
    try:
        text = line.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RejectedLine(f"not UTF-8: byte {line.data[error.start]:#04x} at position {error.start}") from None
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError as error:
        raise RejectedLine(f"not a JSON object: {error}") from None
    except RecursionError:
        raise RejectedLine("not a JSON object: nested too deeply") from None
