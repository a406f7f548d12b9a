"""Near-duplicate detection: records of the same paper under two identifiers, by title and text shingles.

A paper that stands in two databases has the same title up to spaces, punctuation and case, and nearly the same
abstract; or the same abstract under a title that was translated or lost a word. Neither alone is enough: a review, a
lecture and a book are all called "Artificial intelligence", the passages of one Wikipedia article share a title, and
the parts of a series ("(1)", "(2)") come with one and the same note.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.ingest.ledger import ScratchDatabase
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language

SHORTEST_TEXT = 100
"""Letters and digits a text must have to be compared: shorter ones are titles repeated and notes of the publisher."""

LONGEST_COMPARED = 10_000
"""Characters from its beginning that are compared of a text."""

NEAR = 0.7
"""Share of common shingles (Jaccard) from which on two texts under one title are the same paper's."""

NEARER = 0.95
"""The same for texts whose titles differ."""

_COMPARED = 64
"""Records under one key that a record is compared with, the latest ones: a bound for titles such as "Introduction"."""

_SHINGLE = 5
_BEGINNING = 150
_SURELY_BEGINNING = 4 * _BEGINNING
_TITLES_NEAR = 0.5
_TITLE_SHINGLE = 3

_LETTERS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is compared of a record: its title, that as :func:`letters`, and its text as runs of five of them."""

    title: str
    title_letters: str
    shingles: frozenset[str]


class _First(NamedTuple):
    """The first record of a group, of which later ones may turn out to be duplicates."""

    docid: str
    fingerprint: Fingerprint


class DuplicateFinder(ScratchDatabase):
    """Notes every row's keys first; then compares the rows that share a key. Memory does not grow with the corpus."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "keys (key INTEGER, row INTEGER)",
            "candidates (row INTEGER PRIMARY KEY)",
            "firsts (key INTEGER, row INTEGER)",
            "records (row INTEGER PRIMARY KEY, docid TEXT, title TEXT, text TEXT)",
        )
        self._database.execute("CREATE INDEX first_key ON firsts (key, row)")
        # Passages of one article come one after the other, and are compared with one another again and again.
        self._first = lru_cache(maxsize=2 * _COMPARED)(self._read_first)

    def add(self, row: int, record: Record) -> None:
        """Note the keys of the record in ``row``."""
        self._database.executemany("INSERT INTO keys VALUES (?, ?)", [(key, row) for key in fingerprint_keys(record)])

    def candidates(self) -> Iterator[int]:
        """Yield, in order, the rows that share a key with another."""
        self._database.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.execute(
            "INSERT OR IGNORE INTO candidates SELECT row FROM keys"
            " WHERE key IN (SELECT key FROM keys GROUP BY key HAVING count(*) > 1)"
        )
        with closing(self._database.execute("SELECT row FROM candidates ORDER BY row")) as rows:
            for (row,) in rows:
                yield row

    def link(self, row: int, record: Record) -> str | None:
        """Compare a candidate with those before it; return the docid of the first record of its group, if it has one.

        Rows must come in order. The docid is never that of a linked record.
        """
        keys = fingerprint_keys(record)
        first = self._first_of(record, keys)
        if first is None:
            self._database.executemany("INSERT INTO firsts VALUES (?, ?)", [(key, row) for key in keys])
            values = (row, record.docid, record.title, record.text)
            self._database.execute("INSERT INTO records VALUES (?, ?, ?, ?)", values)
        return first

    def _first_of(self, record: Record, keys: Iterable[int]) -> str | None:
        own = fingerprint(record.title, record.text)
        if own is None:
            return None
        for key in keys:
            rows = self._database.execute(
                "SELECT row FROM firsts WHERE key = ? ORDER BY row DESC LIMIT ?", (key, _COMPARED)
            )
            for (row,) in rows.fetchall():
                first = self._first(row)
                if same_paper(first.fingerprint, own):
                    return first.docid
        return None

    def _read_first(self, row: int) -> _First:
        docid, title, text = self._database.execute(
            "SELECT docid, title, text FROM records WHERE row = ?", (row,)
        ).fetchone()
        found = fingerprint(title, text)
        if found is None:
            raise ValueError(f"row {row} is the first of a group though its text cannot be compared")
        return _First(docid, found)


def letters(text: str) -> str:
    """Return the letters and digits of a text, compatibility forms and case folded.

    >>> letters("일-가정 갈등 : ＣＯ₂ 'Part II'")
    '일가정갈등co2partii'
    """
    return "".join(_LETTERS.findall(unicodedata.normalize("NFKC", text).casefold()))


def fingerprint(title: str, text: str) -> Fingerprint | None:
    """Return what is compared of a record, None where its text is too short to be compared."""
    own = letters(text[:LONGEST_COMPARED])
    if len(own) < SHORTEST_TEXT:
        return None
    return Fingerprint(title, letters(title), _shingles(own, _SHINGLE))


def fingerprint_keys(record: Record) -> tuple[int, ...]:
    """Return the 63-bit keys that the same paper would share: one of its title, one of its text's beginning.

    There are none where the text is too short to be compared, and none of the text where it is not half as long again.
    """
    beginning = letters(record.text[:_SURELY_BEGINNING])[:_BEGINNING]
    if len(beginning) < SHORTEST_TEXT:
        return ()
    parts = [(b"title", letters(record.title)), (b"text", beginning if len(beginning) == _BEGINNING else "")]
    digests = [hashlib.blake2b(text.encode(), digest_size=8, person=kind).digest() for kind, text in parts if text]
    return tuple(int.from_bytes(digest) >> 1 for digest in digests)


def same_paper(one: Fingerprint, other: Fingerprint) -> bool:
    """Say whether two records are one paper: the same title or one that fits, and near-identical texts."""
    if one.title_letters == other.title_letters != "":
        return _jaccard(one.shingles, other.shingles) >= NEAR
    return _titles_fit(one.title, other.title) and _jaccard(one.shingles, other.shingles) >= NEARER


def _titles_fit(one: str, other: str) -> bool:
    """Say whether two titles may name one paper: they have the same numbers, and are translated or nearly the same."""
    numbers = [sorted(_NUMBER.findall(unicodedata.normalize("NFKC", title).casefold())) for title in (one, other)]
    if numbers[0] != numbers[1]:
        return False
    if {detect_language(one), detect_language(other)} == {"ko", "en"}:
        return True
    return _jaccard(_shingles(letters(one), _TITLE_SHINGLE), _shingles(letters(other), _TITLE_SHINGLE)) >= _TITLES_NEAR


def _shingles(text: str, length: int) -> frozenset[str]:
    return frozenset(text[start : start + length] for start in range(len(text) - length + 1))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the shingles of either that both have, 0 where neither has any."""
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)
