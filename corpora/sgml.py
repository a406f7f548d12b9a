"""The mark-up of TREC's files: tags as in SGML, which need not close, nest or be escaped; no XML parser reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*+)(?:\s[^<>]*+)?>")


class Tagged(NamedTuple):
    """A tag, lower case, ``/`` before an end's, and the text from there to the next; ``""`` before the first tag."""

    tag: str
    text: str
    attributes: str = ""


def read_tags(text: str) -> Iterator[Tagged]:
    """Yield the tags of ``text`` in order, each with the text behind it."""
    tag = attributes = ""
    start = 0
    for match in _TAG.finditer(text):
        yield Tagged(tag, text[start : match.start()], attributes)
        tag, start = match.group(1) + match.group(2).lower(), match.end()
        attributes = match.group()[len(tag) + 1 : -1].strip()
    yield Tagged(tag, text[start:], attributes)
