"""Item: one piece of a source file (a line, an element, a row, a document) before a format makes a record of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.source import LONGEST_LINE

_DECODER = msgspec.json.Decoder(dict[str, Any])


class SourceItem(NamedTuple):
    """One piece: its fields by name, the reason why it has none, or None where it is blank.

    ``number`` is the line on which the piece begins, counted from 1; ``offset`` the byte, of the decompressed file.
    """

    number: int
    offset: int
    fields: Mapping[str, object] | str | None


def decode_object(data: bytes | None, place: str = "") -> dict[str, Any] | str:
    """Return the JSON object in ``data``, or the reason why it is none, which then begins with ``place``."""
    error: object = ""
    try:
        if data is not None:
            return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as malformed:
        error = malformed
    except RecursionError:
        error = "nested too deeply"
    try:
        decode_text(data)
    except RejectedLine as reason:
        return f"{place}{reason}"
    return f"{place}not a JSON object: {error}"


def decode_text(data: bytes | None) -> str:
    """Return UTF-8 as text; raises :class:`RejectedLine` for other bytes, and for None, which was too long to read."""
    if data is None:
        raise RejectedLine(f"longer than {LONGEST_LINE} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RejectedLine(f"not UTF-8: byte {data[error.start]:#04x} at position {error.start}") from None
