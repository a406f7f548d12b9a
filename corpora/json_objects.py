"""JSON objects, one a line or in one array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.items import Item, decode_object
from shrag.corpora.json_array import read_json_array
from shrag.corpora.lines import read_lines
from shrag.corpora.source import read_head

_ARRAY_OF_OBJECTS = re.compile(rb"\s*\[\s*\{")
_HEAD = 4_096


def read_objects(path: Path) -> Iterator[Item]:
    """Yield the objects of ``path`` in order: the elements of one array where it begins like one, else its lines.

    Errors as :func:`shrag.corpora.source.open_source` and :func:`shrag.corpora.json_array.read_json_array`.
    """
    return read_json_array(path) if is_json_array(read_head(path, _HEAD)) else read_json_lines(path)


def is_json_array(head: bytes) -> bool:
    """Say whether a file that begins so holds one array of objects; ``[]`` alone may as well be a broken line."""
    return _ARRAY_OF_OBJECTS.match(head) is not None


def read_json_lines(path: Path) -> Iterator[Item]:
    """Yield the object on each line; errors as :func:`shrag.corpora.source.open_source`."""
    for line in read_lines(path):
        blank = line.data is not None and not line.data.strip()
        yield Item(line.number, line.offset, None if blank else decode_object(line.data))
