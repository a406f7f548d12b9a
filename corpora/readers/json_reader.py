"""Read the JSON objects of a file, one per line or the elements of one array; only one is in memory at a time.

The array may be a member of an object, as in the replies of web interfaces: ``{"total": 3, "records": [{…}, …]}``.

In an array, the scanner looks only at brackets and strings, to find where an element ends; msgspec decodes each
element. So each element has its exact position, and a malformed element does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.encodings import LineDecoder, convert_lines
from shrag.corpora.readers.item import SourceItem, decode_object
from shrag.corpora.readers.source import LONGEST_LINE, UTF8_MARK, SourceLine, open_source, read_lines
from shrag.messages.text import Text

# An object around the array has only numbers and strings before it, and no id or title, so it is not a record itself.
_ARRAY_START = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*
    (?P<object>\{\s*
      (?:(?!"(?:id|title)")"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)\s*,\s*)*
      "(?:articles|data|docs|documents|items|papers|recordList|records?|references|results?|rows)"\s*:\s*)?
    (?=\[\s*\{)""",
    re.VERBOSE | re.IGNORECASE,
)
_HEAD = 4_096
_CHUNK = 2**20
_MARK = re.compile(rb'["{}\[\],]')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SPACE = b" \t\r\n"


def read_objects(path: Path) -> Iterator[SourceItem]:
    """Yield the objects of ``path`` in order: the elements of its array if it begins with an array, else its lines.

    Raises:
        CorpusError: As :func:`~shrag.corpora.readers.source.open_source`, or an array is incomplete or something
            follows it, so that the items could not be counted.
    """
    with open_source(path) as stream:
        start = _ARRAY_START.match(stream.read(_HEAD))
    if start:
        yield from read_json_array(path, start.end(), in_object=bool(start["object"]))
        return
    for line in read_lines(path):
        blank = line.data is not None and not line.data.strip()
        yield SourceItem(line.number, line.offset, None if blank else decode_object(line.data))


def read_json_array(path: Path, start: int = 0, *, in_object: bool = False) -> Iterator[SourceItem]:
    """Yield the elements of the array that begins at the byte ``start`` of ``path``; raises as :func:`read_objects`.

    With ``in_object``, the array is a member of an object, whose other members are skipped.
    """
    decoder = LineDecoder()
    count = 0
    with open_source(path) as stream:
        scanner = _Scanner(path, stream.read(start), in_object)
        while chunk := stream.read(_CHUNK):
            for element in scanner.feed(chunk):
                count += 1
                data = None if element.data is None else decoder.convert(element.data)
                fields = decode_object(data)
                if isinstance(fields, str):
                    fields = Text("element {count}: {reason}", count=count, reason=fields)
                yield SourceItem(element.number, element.offset, fields, count)
    scanner.check_end(count)


class _Scanner:
    """Splits a stream of chunks at the commas of the array that begins after the bytes ``before``."""

    def __init__(self, path: Path, before: bytes, in_object: bool) -> None:
        self._path = path
        self._in_object = in_object
        self._rest = b""  # what follows the array
        self._buffer = b""
        self._at = 0  # the buffer is scanned up to here
        self._start = 0  # the current element begins here
        self._offset = len(before)  # of the buffer in the file
        self._line = 1 + before.count(b"\n")  # the line at _start
        self._depth = 0
        self._in_string = False
        self._too_long: SourceLine | None = None  # position of the current element if it is too long to keep
        self._any = False
        self._ended = False

    def feed(self, chunk: bytes) -> Iterator[SourceLine]:
        """Yield the elements that end in this chunk."""
        self._append(chunk)
        while not self._ended and self._advance():
            mark = self._buffer[self._at : self._at + 1]
            self._at += 1
            if mark == b'"':
                self._in_string = True
            elif mark in (b"{", b"["):
                self._depth += 1
                if self._depth == 1:
                    self._begin()
            elif mark == b",":
                if self._depth == 1:
                    yield self._element()
                    self._any = True
            else:
                self._depth -= 1
                if self._depth == 0:
                    self._ended = True
                    if self._any or self._buffer[self._start : self._at - 1].strip(_SPACE) or self._too_long:
                        yield self._element()
        if self._ended:
            self._check_rest()

    def check_end(self, count: int) -> None:
        """Raise :class:`CorpusError` if the array has not ended, or the object around it is not well-formed."""
        if not self._ended:
            raise CorpusError(
                Text(
                    "{path} is a JSON array that breaks off after element {count}: copy the file again from "
                    "its source.",
                    path=self._path,
                    count=count,
                )
            )
        if self._in_object:
            self._check_object()

    def _append(self, chunk: bytes) -> None:
        if self._at - self._start > LONGEST_LINE and not self._too_long:
            self._too_long = self._line_of(self._buffer[self._start : self._at], None)
        if self._too_long:
            self._line += self._buffer.count(b"\n", self._start, self._at)
            self._start = self._at
        self._offset += self._start
        self._at -= self._start
        self._buffer = self._buffer[self._start :] + chunk
        self._start = 0
        if self._offset == 0 and self._at == 0 and self._buffer.startswith(UTF8_MARK):
            self._at = len(UTF8_MARK)

    def _advance(self) -> bool:
        """Move to the next mark outside strings; return False if the buffer has no more."""
        if self._in_string:
            match = _IN_STRING.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._buffer[self._at : self._at + 1] != b'"':
                return False
            self._at += 1
            self._in_string = False
        found = _MARK.search(self._buffer, self._at)
        self._at = found.start() if found else len(self._buffer)
        return found is not None

    def _begin(self) -> None:
        self._line += self._buffer.count(b"\n", self._start, self._at)
        self._start = self._at

    def _element(self) -> SourceLine:
        raw = self._buffer[self._start : self._at - 1]
        element = self._too_long or self._line_of(raw, raw.strip(_SPACE) if len(raw) <= LONGEST_LINE else None)
        self._begin()
        self._too_long = None
        return element

    def _line_of(self, raw: bytes, data: bytes | None) -> SourceLine:
        lead = len(raw) - len(raw.lstrip(_SPACE))
        return SourceLine(self._line + raw.count(b"\n", 0, lead), self._offset + self._start + lead, data)

    def _check_rest(self) -> None:
        rest = self._buffer[self._at :]
        if self._in_object:
            self._rest += rest
            self._check_size()
        elif rest.strip(_SPACE):
            raise self._more_after(self._offset + self._at + len(rest) - len(rest.lstrip(_SPACE)))
        self._at = self._start = len(self._buffer)

    def _check_size(self) -> None:
        if len(self._rest) > LONGEST_LINE:
            raise self._more_after(self._offset + self._at)

    def _check_object(self) -> None:
        """Raise :class:`CorpusError` if the bytes after the array are not the rest of the object around it."""
        rest = convert_lines(self._rest.strip(_SPACE))
        if rest != b"}" and isinstance(decode_object(b"{" + rest.removeprefix(b",")), str):
            raise self._more_after(self._offset)

    def _more_after(self, offset: int) -> CorpusError:
        return CorpusError(
            Text(
                "{path} has more after the end of its JSON array, at byte {offset}: correct it, or write one "
                "object a line.",
                path=self._path,
                offset=offset,
            )
        )
