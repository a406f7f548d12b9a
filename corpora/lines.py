"""A file's lines as bytes, numbered, with their byte offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from shrag.corpora.source import UTF8_MARK, open_source

LONGEST_LINE = 16 * 2**20
"""Bytes a line, or any other record of a file, may have. Reading a longer one whole would let it fill the memory."""


class Line(NamedTuple):
    """One line without its end. ``data`` is None where the line is longer than :data:`LONGEST_LINE`."""

    number: int
    offset: int
    data: bytes | None


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of ``path`` in order, at most one in memory.

    Raises as :func:`shrag.corpora.source.open_source` does.
    """
    with open_source(path) as stream:
        yield from _split(stream)


def _split(stream: BinaryIO) -> Iterator[Line]:
    number = offset = 0
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        length = len(raw)
        too_long = length > LONGEST_LINE and not raw.endswith(b"\n")
        if too_long:
            length += _skip_line(stream)
        data = raw.removeprefix(UTF8_MARK) if number == 1 else raw
        yield Line(number, offset, None if too_long else data.rstrip(b"\r\n"))
        offset += length


def _skip_line(stream: BinaryIO) -> int:
    """Read on to the line's end; return how many bytes that was."""
    skipped = 0
    while part := stream.readline(LONGEST_LINE):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped
