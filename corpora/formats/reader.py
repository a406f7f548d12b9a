"""ParsedItem: what one item of a source file is; records of items by a format's parse function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.records import Record


class ParsedItem(NamedTuple):
    """What one piece is: a record, the reason why it is none, or None for a blank one.

    ``number`` is the line on which it begins, counted from 1, ``offset`` the byte, of the decompressed file. A piece is
    a line, an element of a JSON array or of XML, a row of CSV, a document, or a chunk of a paper.
    """

    number: int
    offset: int
    outcome: Record | str | None


def parse_items(items: Iterable[SourceItem], parse: Callable[[Mapping[str, object]], Record]) -> Iterator[ParsedItem]:
    """Make a record of every item that has fields; the message of a ``RejectedLine`` is the reason."""
    for item in items:
        outcome: Record | str | None
        if item.fields is None or isinstance(item.fields, str):
            outcome = item.fields
        else:
            try:
                outcome = parse(item.fields)
            except RejectedLine as reason:
                outcome = str(reason)
        yield ParsedItem(item.number, item.offset, outcome)
