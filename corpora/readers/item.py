"""Items of a source file, such as lines, array elements, rows and documents, as read and as parsed to records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.duplicate_keys import duplicate_key
from shrag.corpora.readers.source import LONGEST_LINE
from shrag.corpora.records import Record
from shrag.messages.text import Text, message_of

LONGEST_REASON = 500
"""The length of the longest reason that comes from a library, in characters."""

_DECODER = msgspec.json.Decoder(dict[str, Any])


class SourceItem(NamedTuple):
    """An item as read.

    Attributes:
        number: The number of the line on which it begins, from 1.
        offset: The offset of its first byte in the decompressed file.
        fields: Its fields by name, or the reason why they cannot be read, or None for a blank item.
        element: Its number in a JSON array, from 1; 0 elsewhere.
    """

    number: int
    offset: int
    fields: Mapping[str, object] | str | None
    element: int = 0


class ParsedItem(NamedTuple):
    """An item's line, offset and element, as in :class:`SourceItem`, and its outcome.

    The outcome is the record, or the reason for a reject, or None for a blank item.
    """

    number: int
    offset: int
    outcome: Record | str | None
    element: int = 0


def row_fields(header: Sequence[str], cells: Iterable[str]) -> dict[str, object]:
    """Return the cells of a row by the names of their columns.

    A column without a name is called ``column 5`` by its place, and only in the rows in which it is not empty: a table
    may end in empty columns, but no value may get lost. Only the numbers of rows that pandas writes into a first column
    without a name are left out, since they change with every export.
    """
    named = enumerate(zip(header, cells, strict=True), 1)
    return {
        name or f"column {place}": cell
        for place, (name, cell) in named
        if name or (cell.strip() and not (place == 1 and cell.isdecimal()))
    }


def parse_items(items: Iterable[SourceItem], parse: Callable[[Mapping[str, object]], Record]) -> Iterator[ParsedItem]:
    """Parse every item that has fields; an item that raises an exception is a reject, see :func:`reject_reason`."""
    for item in items:
        outcome: Record | str | None
        if item.fields is None or isinstance(item.fields, str):
            outcome = item.fields
        else:
            try:
                outcome = parse(item.fields)
            except Exception as error:
                outcome = reject_reason(error)
        yield ParsedItem(item.number, item.offset, outcome, item.element)


def reject_reason(error: Exception) -> str:
    """Return why an item is rejected whose parser raised ``error``; raise a :class:`MemoryError` again.

    The libraries that read a malformed item can raise any exception, which must not cost the other items of the file.
    """
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, RecursionError):
        return Text("nested too deeply")
    return message_of(error) if isinstance(error, RejectedLine) else f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def decode_object(data: bytes | None) -> dict[str, Any] | str:
    """Return the JSON object in ``data``, or the reason why it cannot be read."""
    error: object = ""
    try:
        if data is not None:
            fields = _DECODER.decode(data)
            if (key := duplicate_key(data, fields)) is None:
                return fields
            return Text("the key {key!r} occurs more than once in an object: keep one", key=key)
    except (msgspec.MsgspecError, UnicodeDecodeError) as malformed:
        error = malformed
    except RecursionError:
        error = Text("nested too deeply")
    try:
        decode_text(data)
    except RejectedLine as reason:
        return message_of(reason)
    return Text("not a JSON object: {error}", error=error)


def decode_text(data: bytes | None) -> str:
    """Decode UTF-8; raises :class:`RejectedLine` for other bytes, and for None, which stands for too long an item."""
    if data is None:
        raise RejectedLine(Text("longer than {longest_line} bytes", longest_line=LONGEST_LINE))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RejectedLine(
            Text("not UTF-8: byte {byte:#04x} at position {position}", byte=data[error.start], position=error.start)
        ) from None
