"""Near-duplicate detection finds records of one paper under two identifiers, by their titles and shingles of the text.

A paper in two databases has either the same title (except for blanks, punctuation and case) and nearly the same
abstract, or the same abstract and a title that was translated or lost a word. A title or an abstract alone is not
enough. A review, a lecture and a book are all called "Artificial intelligence", and the passages of a Wikipedia article
share a title. The parts of a series ("(1)", "(2)") have the same note as their abstract.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.ingest.ledger import ScratchDatabase
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language

SHORTEST_TEXT = 100
"""The fewest letters and digits of a text that is compared; shorter texts are repeated titles and publishers' notes."""

LONGEST_COMPARED = 10_000
"""How many characters at the beginning of a text are compared."""

MIN_SIMILARITY = 0.7
"""The least Jaccard similarity of the shingles of two texts of one paper if the titles are the same."""

MIN_SIMILARITY_OTHER_TITLE = 0.95
"""The least similarity of two texts of one paper if the titles differ."""

_COMPARED = 64
"""A record is compared with at most this many others of the same key, the latest; many are called "Introduction"."""

_SHINGLE = 5
_BEGINNING = 150
_SURELY_BEGINNING = 4 * _BEGINNING
_TITLES_NEAR = 0.5
_TITLE_SHINGLE = 3

_LETTERS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The parts of a record that are compared: its title, the title's letters, and five-letter shingles of its text."""

    title: str
    title_letters: str
    shingles: frozenset[str]


class _First(NamedTuple):
    """The first record of a group of duplicates."""

    docid: str
    fingerprint: Fingerprint


class DuplicateFinder(ScratchDatabase):
    """Finds duplicates with data on disk: collects the keys of all rows, then compares the rows that share a key."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "keys (key INTEGER, row INTEGER)",
            "candidates (row INTEGER PRIMARY KEY)",
            "firsts (key INTEGER, row INTEGER)",
            "records (row INTEGER PRIMARY KEY, docid TEXT, title TEXT, text TEXT)",
        )
        self._database.execute("CREATE INDEX first_key ON firsts (key, row)")
        # The passages of an article come one after the other and are all compared with each other, so a cache helps.
        self._first = lru_cache(maxsize=2 * _COMPARED)(self._read_first)

    def add(self, row: int, record: Record) -> None:
        """Add the keys of the record in ``row``."""
        self._database.executemany("INSERT INTO keys VALUES (?, ?)", [(key, row) for key in fingerprint_keys(record)])

    def candidates(self, compared: int = 0) -> Iterator[int]:
        """Yield in order the rows that share a key, unless all rows with this key are among the first ``compared``.

        The first ``compared`` rows were compared with each other before.
        """
        self._database.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.execute(
            "INSERT OR IGNORE INTO candidates SELECT row FROM keys"
            " WHERE key IN (SELECT key FROM keys GROUP BY key HAVING count(*) > 1 AND max(row) >= ?)",
            (compared,),
        )
        with closing(self._database.execute("SELECT row FROM candidates ORDER BY row")) as rows:
            for (row,) in rows:
                yield row

    def link(self, row: int, record: Record) -> str | None:
        """Compare a candidate with earlier ones; return the docid of its group's first record, or None for a new group.

        Candidates must come in order.
        """
        first = self._first_of(record)
        if first is None:
            self.add_first(row, record)
        return first

    def add_first(self, row: int, record: Record) -> None:
        """Make a candidate the first record of a group, without comparing it."""
        keys = [(key, row) for key in fingerprint_keys(record)]
        self._database.executemany("INSERT INTO firsts VALUES (?, ?)", keys)
        values = (row, record.docid, record.title, record.text)
        self._database.execute("INSERT INTO records VALUES (?, ?, ?, ?)", values)

    def _first_of(self, record: Record) -> str | None:
        own = fingerprint(record.title, record.text)
        if own is None:
            return None
        for key in fingerprint_keys(record):
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
    """Return the letters and digits of a text in NFKC, case-folded.

    >>> letters("일-가정 갈등 : ＣＯ₂ 'Part II'")
    '일가정갈등co2partii'
    """
    return "".join(_LETTERS.findall(unicodedata.normalize("NFKC", text).casefold()))


def fingerprint(title: str, text: str) -> Fingerprint | None:
    """Return the fingerprint of a record, or None if its text is too short to compare."""
    own = letters(text[:LONGEST_COMPARED])
    if len(own) < SHORTEST_TEXT:
        return None
    return Fingerprint(title, letters(title), _shingles(own, _SHINGLE))


def fingerprint_keys(record: Record) -> tuple[int, ...]:
    """Return the 63-bit keys that records of one paper may share.

    One key is made of the title, the other of the first 150 letters of the text. A text of fewer letters gives no key,
    and a record whose text is too short to compare has no keys at all.
    """
    beginning = letters(record.text[:_SURELY_BEGINNING])[:_BEGINNING]
    if len(beginning) < SHORTEST_TEXT:
        return ()
    parts = [(b"title", letters(record.title)), (b"text", beginning if len(beginning) == _BEGINNING else "")]
    digests = [hashlib.blake2b(text.encode(), digest_size=8, person=kind).digest() for kind, text in parts if text]
    return tuple(int.from_bytes(digest) >> 1 for digest in digests)


def same_paper(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether two records are of one paper: compatible titles and nearly identical texts."""
    if one.title_letters == other.title_letters != "":
        return _jaccard(one.shingles, other.shingles) >= MIN_SIMILARITY
    return _titles_fit(one.title, other.title) and _jaccard(one.shingles, other.shingles) >= MIN_SIMILARITY_OTHER_TITLE


def _titles_fit(one: str, other: str) -> bool:
    """Return whether two different titles may belong to one paper.

    They must have the same numbers, and be similar or in two languages.
    """
    numbers = [sorted(_NUMBER.findall(unicodedata.normalize("NFKC", title).casefold())) for title in (one, other)]
    if numbers[0] != numbers[1]:
        return False
    if {detect_language(one), detect_language(other)} == {"ko", "en"}:
        return True
    return _jaccard(_shingles(letters(one), _TITLE_SHINGLE), _shingles(letters(other), _TITLE_SHINGLE)) >= _TITLES_NEAR


def _shingles(text: str, length: int) -> frozenset[str]:
    return frozenset(text[start : start + length] for start in range(len(text) - length + 1))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 if both sets are empty."""
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)
