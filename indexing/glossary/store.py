"""Bilingual lexicon in SQLite; general terms.

One sealed SQLite file beside the index, read a term at a time like the word book, so that opening it costs nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer, Token
from shrag.indexing.storage.checksums import open_sealed

FILE = "glossary.sqlite"
"""Its name in an index's folder."""

Language = Literal["ko", "en"]

Source = Literal["brackets", "keywords", "general", "alignment", "sound", "user"]
"""Where a pair comes from: "한국어(English)" in a text; a record's keywords in both languages; the general words of
research; terms that stand for each other in records of two languages; a borrowed word; the user's own list."""

MOST_TERMS = 8
"""Terms of a phrase, at most, on either side."""


class Entry(NamedTuple):
    """A Korean and an English term that mean the same, as they are written and as the index has them.

    ``records`` says in how many records the pair was seen, ``score`` how surely it is one, from 0 to 1.
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
    """A sealed glossary, open for reading. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._database = open_sealed(path)
        self._lock = threading.Lock()
        self._cached_look_up = lru_cache(maxsize=_MAX_CACHED)(self._look_up)
        self._cached_most_seen = lru_cache(maxsize=1)(self._most_seen)  # it reads every entry

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """Return the entries of each phrase, a sequence of terms in either language, the surest first."""
        return [list(self._cached_look_up(" ".join(phrase))) for phrase in phrases]

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, the surest first, then by its terms."""
        with self._lock:
            rows = self._database.execute(f"{_ALL} {_SUREST_FIRST}")
            for row in rows.fetchall():
                yield _entry(row)

    def most_seen(self, most: int) -> list[Entry]:
        """Return ``most`` entries at most, those seen in most records first, then the surest, then by their words."""
        return list(self._cached_most_seen(most))

    def close(self) -> None:
        """Let go of the file."""
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
    """Write a new glossary, in the order of its terms; return how many entries it holds.

    Two entries of the same terms are an error: the file has one of each.
    """
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
    """Return the tokens that hold no smaller one, by their places: of GPT-4's gpt, 4 and gpt4 the first two."""
    kept: list[Token] = []
    for token in sorted(tokens, key=lambda token: (token.end - token.start, token.start)):
        if not any(token.start < other.end and other.start < token.end for other in kept):
            kept.append(token)
    return sorted(kept, key=lambda token: token.start)


def phrase_terms(analyzer: Analyzer, phrase: str) -> tuple[str, ...]:
    """Return the phrase's terms that can be keywords, in their order."""
    (tokens,) = analyzer.tokens([phrase.replace("-", " ")])
    return tuple(token.term for token in simple_tokens(tokens) if token.kind in KEYWORD_KINDS)


_FILE = Path(__file__).with_name("general_terms.tsv")
_SURENESS, _EACH_FURTHER = 0.95, 0.1


class GeneralTerm(NamedTuple):
    """A Korean and an English word or phrase; the first English one of a Korean is the surest."""

    korean: str
    english: str
    confidence: float


def read_general_terms() -> Iterator[GeneralTerm]:
    """Yield the pairs in the file's order."""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            korean, _, english = line.partition("\t")
            for place, term in enumerate(english.split(", ")):
                yield GeneralTerm(korean, term, _SURENESS - _EACH_FURTHER * place)
