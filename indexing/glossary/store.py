"""Glossary of an index: entries in a SQLite file, and the list of general research terms.

Entries are read on demand, so that opening the file takes no time.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer, Token
from shrag.indexing.storage.checksums import open_readonly

FILE = "glossary.sqlite"
"""File name in an index's folder."""

Language = Literal["ko", "en"]

Source = Literal["parenthetical", "keywords", "general", "alignment", "transliteration", "user"]
"""Source of a pair: parentheticals ("한국어(English)"); keyword lists in both languages; general research terms; word
alignment over bilingual records; transliteration of a loanword; the user's corrections."""

MOST_TERMS = 8
"""Most terms of a phrase, in either language."""


class Entry(NamedTuple):
    """A pair of a Korean and an English phrase, as written and as index terms.

    ``records`` is the number of records with the pair, ``score`` the confidence in it, from 0 to 1.
    """

    korean: str
    english: str
    korean_terms: tuple[str, ...]
    english_terms: tuple[str, ...]
    records: int
    source: Source
    score: float


_ALL = "SELECT korean, english, korean_terms, english_terms, records, source, score FROM entries"
_SUREST_FIRST = "ORDER BY score DESC, korean, english"
_MOST_SEEN_FIRST = "ORDER BY records DESC, score DESC, korean, english"


_MAX_CACHED = 20_000


class Glossary:
    """A glossary file, open for reading. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_readonly(path)
        self._lock = threading.Lock()
        self._cached_look_up = lru_cache(maxsize=_MAX_CACHED)(self._look_up)
        self._cached_most_seen = lru_cache(maxsize=1)(self._most_seen)  # the query reads every entry

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """Return the entries of each phrase, by descending score.

        Args:
            phrases: Each a sequence of terms in either language.
        """
        return [list(self._cached_look_up(" ".join(phrase))) for phrase in phrases]

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, by descending score, then by spelling."""
        with self._lock:
            rows = self._database.execute(f"{_ALL} {_SUREST_FIRST}")
            for row in rows.fetchall():
                yield _entry(row)

    def most_seen(self, most: int) -> list[Entry]:
        """Return at most ``most`` entries, by descending number of records, then score, then by spelling."""
        return list(self._cached_most_seen(most))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __len__(self) -> int:
        with self._lock:
            count: int = self._database.execute("SELECT count(*) FROM entries").fetchone()[0]
        return count

    def _most_seen(self, most: int) -> tuple[Entry, ...]:
        with self._lock:
            rows = self._database.execute(f"{_ALL} {_MOST_SEEN_FIRST} LIMIT ?", (most,)).fetchall()
        return tuple(_entry(row) for row in rows)

    def _look_up(self, terms: str) -> tuple[Entry, ...]:
        with self._lock:
            rows = self._database.execute(
                f"{_ALL} WHERE korean_terms = ?1 UNION {_ALL} WHERE english_terms = ?1 {_SUREST_FIRST}", (terms,)
            ).fetchall()
        return tuple(_entry(row) for row in rows)


def write_glossary(path: Path, entries: Iterable[Entry]) -> int:
    """Write a new glossary file; return the number of entries, whose pairs of terms must be distinct."""
    rows = sorted(_row(entry) for entry in entries)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(
            "CREATE TABLE entries (korean_terms TEXT, english_terms TEXT, korean TEXT, english TEXT, records INTEGER, "
            "source TEXT, score REAL, PRIMARY KEY (korean_terms, english_terms)) WITHOUT ROWID"
        )
        database.execute("BEGIN")
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute("CREATE INDEX by_english ON entries (english_terms)")
        database.execute("COMMIT")
        return len(rows)
    finally:
        database.close()


def _row(entry: Entry) -> tuple[str, str, str, str, int, str, float]:
    korean, english = " ".join(entry.korean_terms), " ".join(entry.english_terms)
    return korean, english, entry.korean, entry.english, entry.records, entry.source, round(entry.score, 4)


def _entry(row: tuple[str, str, str, str, int, str, float]) -> Entry:
    korean, english, korean_terms, english_terms, records, source, score = row
    known: Source = next(name for name in get_args(Source) if name == source)
    return Entry(korean, english, tuple(korean_terms.split()), tuple(english_terms.split()), records, known, score)


def simple_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without those that contain shorter ones, by position: of gpt, 4 and gpt4 the first two."""
    simple: list[Token] = []
    for token in sorted(tokens, key=lambda token: (token.end - token.start, token.start)):
        if not any(token.start < other.end and other.start < token.end for other in simple):
            simple.append(token)
    return sorted(simple, key=lambda token: token.start)


def phrase_terms(analyzer: Analyzer, phrase: str) -> tuple[str, ...]:
    """Return the phrase's terms of keyword kinds, in order."""
    (tokens,) = analyzer.tokens([phrase.replace("-", " ")])
    return tuple(token.term for token in simple_tokens(tokens) if token.kind in KEYWORD_KINDS)


_GENERAL_TERMS = Path(__file__).with_name("general_terms.tsv")
_FIRST_CONFIDENCE, _DECREASE = 0.95, 0.1


class GeneralTerm(NamedTuple):
    """A general research term in Korean and English; later translations of a line have a lower confidence."""

    korean: str
    english: str
    confidence: float


def read_general_terms() -> Iterator[GeneralTerm]:
    """Yield the general terms in the file's order."""
    for line in _GENERAL_TERMS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            korean, _, english = line.partition("\t")
            for number, term in enumerate(english.split(", ")):
                yield GeneralTerm(korean, term, _FIRST_CONFIDENCE - _DECREASE * number)
