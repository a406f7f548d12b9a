"""A file's lines as bytes, numbered, with their byte offsets; gzip is recognised by its first bytes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from shrag.corpora.errors import CorpusError

LONGEST_LINE = 16 * 2**20
"""Bytes a line may have. What is longer is no record, and reading it whole would let one line fill the memory."""

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Line(NamedTuple):
    """One line without its end. ``data`` is None where the line is longer than :data:`LONGEST_LINE`."""

    number: int
    offset: int
    data: bytes | None


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of ``path`` in order, at most one in memory.

    Raises :class:`CorpusError` where the file cannot be read to its end: missing, not a regular file, gzip that breaks
    off or fails its checksum, UTF-16. The lines before a break are yielded by then: whoever stores them must not
    publish.
    """
    if not path.exists():
        raise CorpusError(f"{path} does not exist: give the path of a file or folder to read.")
    if not path.is_file():
        raise CorpusError(f"{path} is not a regular file: pipes and devices cannot be read twice and are refused.")
    last = 0
    try:
        with _open(path) as stream:
            for line in _split(stream, path):
                last = line.number
                yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(
            f"{path} is damaged gzip, it breaks off after line {last} ({error}): copy the file again from its source."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read after line {last}: {error.strerror or error}.") from error


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as probe:
        compressed = probe.read(2) == _GZIP_MAGIC
    return cast("BinaryIO", gzip.open(path, "rb")) if compressed else path.open("rb")


def _split(stream: BinaryIO, path: Path) -> Iterator[Line]:
    number = offset = 0
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        if number == 1 and raw.startswith(_UTF16_MARKS):
            raise CorpusError(f"{path} is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8) and read that.")
        length = len(raw)
        too_long = length > LONGEST_LINE and not raw.endswith(b"\n")
        if too_long:
            length += _skip_line(stream)
        data = raw.removeprefix(_UTF8_MARK) if number == 1 else raw
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
