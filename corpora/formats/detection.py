"""Detect a file's format, for the error message of a wrong one."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.paper_sections import is_known
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head

_HEAD = 4_096
_TRIED = 20
_SHOWN_KEYS = 12
_FEWEST_KEYS = 2
_FEWEST_OBJECTS = 3
_TREC = re.compile(rb"<DOC\b", re.IGNORECASE)
_SECTIONED = ("sections", "full_text", "body_text")

# The keys that together make a format's objects, most telling first.
_KEYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("scienceon", ("CN",)),
    ("miracl", ("docid", "text", "title")),
    ("beir", ("_id", "text")),
    ("papers", ("paper_id", "text")),
)


class Guess(NamedTuple):
    """A format that a file may be of; ``why`` goes on a sentence about the file, ``usage`` behind ``--format``."""

    name: str
    why: str
    usage: str


def guess_format(path: Path) -> Guess | None:
    """Return the format the file looks like by its first bytes and the keys of its first objects, None for none."""
    try:
        head = read_head(path, _HEAD).lstrip()
        if head.startswith((b"{", b"[")):
            return _by_keys(path)
    except CorpusError:
        return None
    return _by_tags(head) if head.startswith(b"<") else _by_text(head)


def _by_text(head: bytes) -> Guess | None:
    if head.startswith(b"%PDF"):
        return Guess("papers", "is a PDF", "papers")
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if "CN" in re.split(r'[",;\t]+', first):
        return Guess("scienceon", "has a column CN", "scienceon")
    if first.startswith("# ") or is_known(first):
        return Guess("papers", "is text with headings", "papers")
    return None


def _by_tags(head: bytes) -> Guess | None:
    if _TREC.search(head):
        return Guess("trec", "holds <DOC> elements", "trec")
    if b"<record" in head or b"<MetaData" in head:
        return Guess("scienceon", "holds <record> elements", "scienceon")
    return None


def _by_keys(path: Path) -> Guess | None:
    objects = [item.fields for item in islice(read_objects(path), _TRIED) if isinstance(item.fields, dict)]
    if not objects:
        return None
    keys = list(objects[0])
    for name, wanted in _KEYS:
        if all(key in keys for key in wanted):
            return Guess(name, f"holds objects with {' and '.join(wanted)}", name)
    if any(key in keys for key in _SECTIONED):
        return Guess("papers", "holds objects with sections", "papers")
    # Any object can be mapped, but only a few with an identifier and a text, all alike, show that it is meant to be.
    if len(keys) < _FEWEST_KEYS or len(objects) < _FEWEST_OBJECTS or any(list(found) != keys for found in objects):
        return None
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return Guess("jsonl", f"holds objects with {shown}", "jsonl (with --id-key and --text-key)")
