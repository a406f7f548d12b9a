"""Read the JSON objects of a file, one per line or the elements of one array; only one is in memory at a time.

The array may be a member of an object, as in the replies of web interfaces: ``{"total": 3, "records": [{…}, …]}``, or
of an object in it: ``{"status": "ok", "message": {"items": [{…}, …]}}``.

In an array, the scanner looks only at brackets and strings, to find where an element ends; msgspec decodes each
element. So each element has its exact position, and a malformed element does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.encodings import LineDecoder, convert_lines
from shrag.corpora.readers.item import SourceItem, decode_object
from shrag.corpora.readers.source import LONGEST_LINE, UTF8_MARK, SourceLine, open_source, read_lines
from shrag.messages.text import Text

_ARRAY_NAMES = "articles|data|docs|documents|items|papers|recordList|records?|results?|rows"
_RECORD_KEYS = "id|_id|docid|paper_id|cn|doi|title|abstract|text|contents|제목|논문명|초록"

# An object that ends beyond LONGEST_LINE is judged by its beginning; the shorter ones are decoded.
_MEMBER = rf"""(?!"(?:{_RECORD_KEYS})")"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+|\{{[^{{}}]*\}})\s*,\s*"""
_ARRAY_START = re.compile(
    rf"""(?:\xef\xbb\xbf)?\s*
    (?:(?:\{{\s*(?:{_MEMBER})*"[^"\\]*"\s*:\s*)?\{{\s*(?:{_MEMBER})*"(?:{_ARRAY_NAMES})"\s*:\s*)?
    (?=\[\s*\{{)""".encode(),
    re.VERBOSE | re.IGNORECASE,
)
_IS_ARRAY_NAME = re.compile(_ARRAY_NAMES, re.IGNORECASE)
_IS_RECORD_KEY = re.compile(_RECORD_KEYS, re.IGNORECASE)
_OBJECTS = re.compile(rb"\[\s*\{")
_HEAD = 4_096
_CHUNK = 2**20
_MARK = re.compile(rb'["{}\[\],]')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SPACE = b" \t\r\n"
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_objects(path: Path) -> Iterator[SourceItem]:
    """Yield the objects of ``path`` in order: the elements of its array if it begins with an array, else its lines.

    Raises:
        CorpusError: As :func:`~shrag.corpora.readers.source.open_source`, or an array is incomplete or something
            follows it, so that the items could not be counted.
    """
    if (start := _find_array(path)) is not None:
        yield from read_json_array(path, start)
        return
    for line in read_lines(path):
        blank = line.data is not None and not line.data.strip()
        yield SourceItem(line.number, line.offset, None if blank else decode_object(line.data))


def read_json_array(path: Path, start: int = 0) -> Iterator[SourceItem]:
    """Yield the elements of the array that begins at the byte ``start`` of ``path``; raises as :func:`read_objects`.

    The other members of the objects around the array are skipped. If one of these objects has a key twice, a last item
    on line 1 says so, since the second value may be another array.
    """
    decoder = LineDecoder()
    count = 0
    with open_source(path) as stream:
        scanner = _Scanner(path, stream.read(start))
        while chunk := stream.read(_CHUNK):
            for element in scanner.feed(chunk):
                count += 1
                data = None if element.data is None else decoder.convert(element.data)
                fields = decode_object(data)
                if isinstance(fields, str):
                    fields = Text("element {count}: {reason}", count=count, reason=fields)
                yield SourceItem(element.number, element.offset, fields, count)
    scanner.check_end(count)
    if isinstance(around := scanner.decode_around(), str):
        yield SourceItem(1, 0, around)


def _find_array(path: Path) -> int | None:
    """Return the first byte of the array in ``path``, or None if it has no array."""
    with open_source(path) as stream:
        data = stream.readline(LONGEST_LINE + 1)
        if not data.removeprefix(UTF8_MARK).lstrip().startswith(b"["):
            members = _members(data)
            if members is None and len(data) <= LONGEST_LINE:
                data += stream.read(LONGEST_LINE + 1 - len(data))
                members = _members(data) if len(data) <= LONGEST_LINE else None
            if members is not None:
                return _find_member(data, members)
        elif len(data) < _HEAD:
            data += stream.read(_HEAD)
    if (start := _ARRAY_START.match(data[:_HEAD])) is None:
        return None
    return start.end()


def _members(data: bytes) -> dict[str, bytes] | None:
    """Return the members of a JSON object as they are written, or None for other data."""
    try:
        found = _MEMBERS.decode(convert_lines(data.removeprefix(UTF8_MARK)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return {name: bytes(value) for name, value in found.items()}


def _find_member(data: bytes, members: dict[str, bytes]) -> int | None:
    """Return the first byte of the array among the members of the object ``data``, or in one of the objects among them.

    There is none if any of these objects looks like a record, or if two arrays may be meant.
    """
    groups = [members, *(inner for value in members.values() if (inner := _members(value)) is not None)]
    if any(_IS_RECORD_KEY.fullmatch(name) for group in groups for name in group):
        return None
    arrays = [
        value
        for group in groups
        for name, value in group.items()
        if _IS_ARRAY_NAME.fullmatch(name) and _OBJECTS.match(value)
    ]
    if len(arrays) != 1:
        return None
    (array,) = arrays
    # CP949 has no brackets inside its characters, so the array's bracket has the same number before the conversion.
    before = convert_lines(data).partition(array)[0].count(b"[")
    start = -1
    for _ in range(before + 1):
        start = data.index(b"[", start + 1)
    return start


class _Scanner:
    """Splits a stream of chunks at the commas of the array that begins after the bytes ``before``."""

    def __init__(self, path: Path, before: bytes) -> None:
        self._path = path
        self._before = before.removeprefix(UTF8_MARK).strip(_SPACE)  # empty if there is no object around the array
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
        if _members(self._around()) is None:
            raise self._more_after(self._offset + len(self._buffer) - len(self._rest))

    def decode_around(self) -> dict[str, Any] | str:
        """Return the object around the array, in which the array has no elements, or the reason why it is rejected."""
        return decode_object(convert_lines(self._around()))

    def _around(self) -> bytes:
        return self._before + b"[]" + self._rest if self._before else b"{}"

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
        if self._before:
            self._rest += rest
            if len(self._rest) > LONGEST_LINE:
                raise self._more_after(self._offset + len(self._buffer) - len(self._rest))
        elif rest.strip(_SPACE):
            raise self._more_after(self._offset + self._at + len(rest) - len(rest.lstrip(_SPACE)))
        self._at = self._start = len(self._buffer)

    def _more_after(self, offset: int) -> CorpusError:
        return CorpusError(
            Text(
                "{path} has more after the end of its JSON array, at byte {offset}: correct it, or write one "
                "object a line.",
                path=self._path,
                offset=offset,
            )
        )
