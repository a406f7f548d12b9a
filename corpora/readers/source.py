"""Read source files, plain or gzip, as bytes or numbered lines; limit their sizes and check that they do not change."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.encodings import UTF16_MARKS, LineDecoder, Utf8Reader, convert_lines
from shrag.messages.text import Text

if TYPE_CHECKING:
    from typing_extensions import Buffer

LARGEST_RATIO = 200
"""The most decompressed bytes per byte of gzip, on average; applied after :data:`RATIO_FROM` decompressed bytes."""

RATIO_FROM = 64 * 2**20

LONGEST_LINE = 16 * 2**20
"""The length of the longest line, or other item of a file, in bytes; the limit bounds memory."""

UTF8_MARK = b"\xef\xbb\xbf"

_BUFFER = 2**18
_PIECE = 2**20
GZIP_MAGIC = b"\x1f\x8b"
_ENCODING_MARKS = (
    (b"\xff\xfe\0\0", "UTF-32"),  # tested first, since it begins with the mark of UTF-16
    (b"\0\0\xfe\xff", "UTF-32"),
)
"""The byte order marks of encodings that SHRAG does not read."""


class SourceLine(NamedTuple):
    """A line without its line break: its number from 1, its byte offset, and its data.

    The data is None if the line is longer than :data:`LONGEST_LINE`.
    """

    number: int
    offset: int
    data: bytes | None


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for reading; decompress it if it begins like gzip, and read UTF-16 as UTF-8.

    Raises:
        CorpusError: The file is missing, is not a regular file, is UTF-32, is damaged or oversized gzip, or changes
            while it is read. The error may come after a part was read; the caller must then not publish that part.
    """
    if not path.exists():
        raise CorpusError(Text("{path} does not exist: give the path of a file or folder to read.", path=path))
    if not path.is_file():
        raise CorpusError(
            Text("{path} is not a regular file: pipes and devices cannot be read twice and are refused.", path=path)
        )
    counted: _CountingReader | None = None
    try:
        with path.open("rb") as file:
            counted = _CountingReader(path, file)
            stream: io.BufferedReader[Any] = io.BufferedReader(counted, _BUFFER)
            head = stream.peek(4)[:4]
            _check_head(path, head, counted.compressed)
            if head.startswith(UTF16_MARKS):
                stream = io.BufferedReader(Utf8Reader(path, stream), _BUFFER)
            yield cast("BinaryIO", stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        last = counted.lines if counted else 0
        raise CorpusError(
            Text(
                "{path} is damaged gzip, it breaks off after line {last} ({error}): copy the file again from "
                "its source.",
                path=path,
                last=last,
                error=error,
            )
        ) from error
    except OSError as error:
        last = counted.lines if counted else 0
        raise CorpusError(
            Text(
                "{path} cannot be read after line {last}: {strerror}.",
                path=path,
                last=last,
                strerror=error.strerror or error,
            )
        ) from error


def read_head(path: Path, size: int) -> bytes:
    """Return the first ``size`` bytes of ``path`` in UTF-8 if they are text; raises as :func:`open_source`."""
    with open_source(path) as stream:
        return convert_lines(stream.read(size).removeprefix(UTF8_MARK))


def read_lines(path: Path) -> Iterator[SourceLine]:
    """Yield the lines of ``path`` in UTF-8, with one in memory at a time; raises as :func:`open_source`.

    Offsets count the bytes of the decompressed file; in a UTF-16 file they count its bytes after conversion to UTF-8.
    """
    decoder = LineDecoder()
    with open_source(path) as stream:
        number = offset = 0
        while raw := stream.readline(LONGEST_LINE + 1):
            number += 1
            length = len(raw)
            too_long = length > LONGEST_LINE and not raw.endswith(b"\n")
            if too_long:
                length += _skip_line(stream)
            data = raw.removeprefix(UTF8_MARK) if number == 1 else raw
            yield SourceLine(number, offset, None if too_long else decoder.convert(data.rstrip(b"\r\n")))
            offset += length


def is_utf16(path: Path) -> bool:
    """Return whether a file, after decompression, begins with UTF-16's byte order mark; raises ``OSError``."""
    with path.open("rb") as file:
        head = file.read(2)
    if head == GZIP_MAGIC:
        with gzip.open(path) as stream:
            head = stream.read(2)
    return head in UTF16_MARKS


def source_encoding(path: Path) -> str:
    """Return ``UTF-8``, ``UTF-16`` or ``CP949`` by the first bytes of a text file; raises as :func:`open_source`."""
    with open_source(path) as stream:
        if is_utf16(path):
            return "UTF-16"
        decoder = LineDecoder()
        for line in stream.read(_PIECE).removeprefix(UTF8_MARK).split(b"\n"):
            decoder.convert(line)
            if decoder.encoding:
                break
    return decoder.encoding or "UTF-8"


def read_bytes(path: Path, largest: int) -> bytes:
    """Return all bytes of ``path``; raises :class:`RejectedLine` if there are more than ``largest``."""
    parts: list[bytes] = []
    size = 0
    with open_source(path) as stream:
        # Reading in pieces keeps the buffer small. Reading to the end makes gzip verify its checksum.
        while part := stream.read(_PIECE):
            size += len(part)
            if size <= largest:
                parts.append(part)
    if size > largest:
        raise RejectedLine(Text("longer than {largest} bytes", largest=largest))
    return b"".join(parts)


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of the line and return the number of bytes read."""
    skipped = 0
    while part := stream.readline(LONGEST_LINE):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _check_head(path: Path, head: bytes, compressed: bool) -> None:
    encoding = next((name for mark, name in _ENCODING_MARKS if head.startswith(mark)), "")
    if encoding:
        raise CorpusError(
            Text(
                "{path} is {encoding}: convert it to UTF-8 (iconv -f {encoding} -t UTF-8) and read that.",
                path=path,
                encoding=encoding,
            )
        )
    if compressed and head.startswith(GZIP_MAGIC):
        raise CorpusError(Text("{path} is gzip inside gzip: decompress it once (gunzip) and read that.", path=path))


class _CountingReader(io.RawIOBase):
    """Reads and decompresses a file; counts bytes and lines, and checks at the end that the file has not changed."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self._path, self._file = path, file
        self._before = os.fstat(file.fileno())
        self.compressed = file.peek(2)[:2] == GZIP_MAGIC
        self._inner: Any = gzip.GzipFile(fileobj=file) if self.compressed else file
        self._bytes = 0
        self.lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        data: bytes = self._inner.read1(len(view))
        if not data:
            self._check_unchanged()
            return 0
        view[: len(data)] = data
        self._bytes += len(data)
        self.lines += data.count(b"\n")
        if self.compressed and self._bytes > max(RATIO_FROM, LARGEST_RATIO * self._file.tell()):
            raise CorpusError(
                Text(
                    "{path} holds more than {largest_ratio} bytes in each byte of gzip, like a decompression "
                    "bomb: if its content is right, decompress it yourself and read that.",
                    path=self._path,
                    largest_ratio=LARGEST_RATIO,
                )
            )
        return len(data)

    def _check_unchanged(self) -> None:
        now = os.fstat(self._file.fileno())
        if (now.st_size, now.st_mtime_ns) != (self._before.st_size, self._before.st_mtime_ns):
            raise CorpusError(
                Text("{path} changed while it was read: add it again when nothing writes to it.", path=self._path)
            )
