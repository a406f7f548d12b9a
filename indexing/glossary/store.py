"""Korean–English glossary of an index, with synonyms in either language (a SQLite file)."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer, Token
from shrag.indexing.analysis.latin import stem_words
from shrag.indexing.glossary.spelling.table import SpellingTable
from shrag.indexing.storage.checksums import open_readonly

FILE = "glossary.sqlite"
"""File name in an index's folder."""

Language = Literal["ko", "en"]
"""A side of the glossary."""

Source = Literal["parenthetical", "keywords", "general", "alignment", "transliteration", "user"]
"""Source of a pair: ``parenthetical`` for "한국어(English)" in a text, ``keywords`` for keyword lists in both
languages, ``general`` for the vocabulary that comes with SHRAG, ``alignment`` for word alignment over bilingual
records, ``transliteration`` for loanwords by their sound, ``user`` for the user's terms."""

MAX_TERMS = 8
"""Largest number of terms of a phrase, in either language."""


class Entry(NamedTuple):
    """A Korean and an English phrase that translate each other.

    Attributes:
        korean: The Korean phrase.
        english: The English phrase.
        korean_terms: The index terms of the Korean phrase.
        english_terms: The index terms of the English phrase.
        records: Number of records that have the pair; 0 for the user's own.
        source: Where the pair was found.
        score: Confidence that each translates the other, from 0 to 1.
        only: The language of the phrase that the records have, if they lack the other; empty if they have both.
    """

    korean: str
    english: str
    korean_terms: tuple[str, ...]
    english_terms: tuple[str, ...]
    records: int
    source: Source
    score: float
    only: Language | Literal[""] = ""


class Synonym(NamedTuple):
    """A word or phrase, and another of the same language that means the same.

    Attributes:
        word: The word or phrase.
        terms: Its index terms.
        synonym: The other one.
        synonym_terms: The index terms of the other one.
        records: The number of records that have the rarest term of the other one.
        word_records: The number of records that have the rarest of ``terms``.
    """

    word: str
    terms: tuple[str, ...]
    synonym: str
    synonym_terms: tuple[str, ...]
    records: int
    word_records: int


_ALL = "SELECT korean, english, korean_terms, english_terms, records, source, score, '' FROM entries"
# These are looked up only by the phrase that the records lack, to translate it into the one that they have.
_ONE_SIDED = "SELECT korean, english, korean_terms, english_terms, records, source, score, only FROM one_sided"
# Rows are sorted and made unique in Python: SQLite would prepare both for each phrase, and most phrases have no entry.
_MATCHES = " UNION ALL ".join(
    [f"{_ALL} WHERE korean_terms = ?1", f"{_ALL} WHERE english_terms = ?1", f"{_ONE_SIDED} WHERE terms = ?1"]
)
# Most phrases of a question have no entry. One query finds all phrases that begin with a term: they sort between the
# term with a space after it and the term with the next character, "!".
_LONGER = (
    "SELECT korean_terms FROM entries WHERE korean_terms > ?1 || ' ' AND korean_terms < ?1 || '!' "
    "UNION SELECT english_terms FROM entries WHERE english_terms > ?1 || ' ' AND english_terms < ?1 || '!' "
    "UNION SELECT terms FROM one_sided WHERE terms > ?1 || ' ' AND terms < ?1 || '!'"
)
_SYNONYMS = (
    "SELECT word, terms, synonym, synonym_terms, records, word_records FROM synonyms "
    "WHERE terms IN (SELECT value FROM json_each(?)) ORDER BY records DESC, synonym"
)
_HAS_SYNONYMS = "SELECT 1 FROM sqlite_master WHERE name = 'synonyms'"
_SUREST_FIRST = "ORDER BY score DESC, korean, english"
_MOST_FREQUENT_FIRST = "ORDER BY records DESC, score DESC, korean, english"

_SOURCES: dict[str, Source] = {name: name for name in get_args(Source)}

_MAX_CACHED = 20_000


class Glossary:
    """A glossary file, open for reading. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_readonly(path)
        self._lock = threading.Lock()
        self._cached_look_up = lru_cache(maxsize=_MAX_CACHED)(self._look_up)
        self._cached_longer = lru_cache(maxsize=_MAX_CACHED)(self._longer)
        self._spellings = SpellingTable(self._database)
        self._cached_transliterations = lru_cache(maxsize=_MAX_CACHED)(self._transliterations)
        self._has_synonyms = bool(self._database.execute(_HAS_SYNONYMS).fetchone())
        self._cached_most_frequent = lru_cache(maxsize=1)(self._most_frequent)  # the query sorts all entries

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """Look up whole phrases, to translate them into phrases that the records have.

        Args:
            phrases: The index terms of each phrase, Korean or English.

        Returns:
            For each phrase its entries by descending score; none if the glossary does not have it.
        """
        return [list(self._cached_look_up(" ".join(phrase))) if self._may_have(phrase) else [] for phrase in phrases]

    def transliterations(self, word: str) -> list[Entry]:
        """Look up the words of the index that a word most likely transliterates, or that transliterate it.

        Args:
            word: A Hangul word, or an English one in lower case.

        Returns:
            Entries of the source ``transliteration``, by descending score. Most words have none.
        """
        return list(self._cached_transliterations(word))

    def synonyms(self, phrases: Sequence[Sequence[str]]) -> list[list[Synonym]]:
        """Look up the synonyms of whole phrases, in the phrases' own language.

        Args:
            phrases: The index terms of each phrase.

        Returns:
            For each phrase its synonyms, those of the most records first. An index that was built before there were
            synonyms has none.
        """
        found: dict[str, list[Synonym]] = {" ".join(phrase): [] for phrase in phrases}
        if self._has_synonyms:
            with self._lock:
                rows = self._database.execute(_SYNONYMS, (json.dumps(list(found)),)).fetchall()
            for word, terms, synonym, synonym_terms, *counts in rows:
                found[terms].append(Synonym(word, tuple(terms.split()), synonym, tuple(synonym_terms.split()), *counts))
        return [found[" ".join(phrase)] for phrase in phrases]

    def entries(self) -> Iterator[Entry]:
        """Return the entries that the records have in both languages, by descending score, then by the phrases."""
        with self._lock:
            rows = self._database.execute(f"{_ALL} {_SUREST_FIRST}").fetchall()
        return map(_entry, rows)

    def most_frequent(self, limit: int) -> list[Entry]:
        """Return at most ``limit`` entries, by descending number of records, then score, then by the phrases."""
        return list(self._cached_most_frequent(limit))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def __len__(self) -> int:
        with self._lock:
            count: int = self._database.execute("SELECT count(*) FROM entries").fetchone()[0]
        return count

    def _most_frequent(self, limit: int) -> tuple[Entry, ...]:
        with self._lock:
            rows = self._database.execute(f"{_ALL} {_MOST_FREQUENT_FIRST} LIMIT ?", (limit,)).fetchall()
        return tuple(_entry(row) for row in rows)

    def _transliterations(self, word: str) -> tuple[Entry, ...]:
        with self._lock:
            if word.isascii():
                found = self._spellings.of_english(word)
                terms = tuple(stem_words([word]))
                return tuple(
                    Entry(each.text, word, each.terms, terms, 0, "transliteration", each.probability) for each in found
                )
            found = self._spellings.of_korean(word)
        return tuple(
            Entry(word, each.text, (word,), each.terms, 0, "transliteration", each.probability) for each in found
        )

    def _may_have(self, phrase: Sequence[str]) -> bool:
        return len(phrase) < 2 or " ".join(phrase) in self._cached_longer(phrase[0])

    def _longer(self, term: str) -> frozenset[str]:
        """Return the terms of all phrases of several terms that begin with ``term``."""
        with self._lock:
            rows = self._database.execute(_LONGER, (term,)).fetchall()
        return frozenset(terms for (terms,) in rows)

    def _look_up(self, terms: str) -> tuple[Entry, ...]:
        with self._lock:
            rows = self._database.execute(_MATCHES, (terms,)).fetchall()
        found = map(_entry, dict.fromkeys(rows))
        return tuple(sorted(found, key=lambda entry: (-entry.score, entry.korean, entry.english)))


def write_glossary(path: Path, entries: Iterable[Entry], synonyms: Iterable[Synonym] = ()) -> None:
    """Write a new glossary file.

    Args:
        path: The file, which must not exist.
        entries: The entries; no two may have the same terms on both sides. Scores are rounded to four decimals.
        synonyms: The synonyms; no two may have the same terms of the word and of the synonym.
    """
    entries = list(entries)
    rows = sorted(_row(entry) for entry in entries if not entry.only)
    one_sided = sorted((_absent_terms(entry), *_row(entry), entry.only) for entry in entries if entry.only)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(
            "CREATE TABLE entries (korean_terms TEXT, english_terms TEXT, korean TEXT, english TEXT, records INTEGER, "
            "source TEXT, score REAL, PRIMARY KEY (korean_terms, english_terms)) WITHOUT ROWID"
        )
        database.execute(
            "CREATE TABLE one_sided (terms TEXT, korean_terms TEXT, english_terms TEXT, korean TEXT, english TEXT, "
            "records INTEGER, source TEXT, score REAL, only TEXT, PRIMARY KEY (terms, korean_terms, english_terms)) "
            "WITHOUT ROWID"
        )
        database.execute(
            "CREATE TABLE synonyms (terms TEXT, synonym_terms TEXT, word TEXT, synonym TEXT, records INTEGER, "
            "word_records INTEGER, PRIMARY KEY (terms, synonym_terms)) WITHOUT ROWID"
        )
        database.execute("BEGIN")
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.executemany("INSERT INTO one_sided VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", one_sided)
        database.executemany(
            "INSERT INTO synonyms VALUES (?, ?, ?, ?, ?, ?)",
            sorted(
                (
                    " ".join(each.terms),
                    " ".join(each.synonym_terms),
                    each.word,
                    each.synonym,
                    each.records,
                    each.word_records,
                )
                for each in synonyms
            ),
        )
        database.execute("CREATE INDEX by_english ON entries (english_terms)")
        database.execute("COMMIT")


def _row(entry: Entry) -> tuple[str, str, str, str, int, str, float]:
    korean_terms, english_terms = " ".join(entry.korean_terms), " ".join(entry.english_terms)
    return korean_terms, english_terms, entry.korean, entry.english, entry.records, entry.source, round(entry.score, 4)


def _absent_terms(entry: Entry) -> str:
    return " ".join(entry.english_terms if entry.only == "ko" else entry.korean_terms)


def _entry(row: tuple[str, str, str, str, int, str, float, Language | Literal[""]]) -> Entry:
    korean, english, korean_terms, english_terms, records, source, score, only = row
    terms = tuple(korean_terms.split()), tuple(english_terms.split())
    return Entry(korean, english, *terms, records, _SOURCES[source], score, only)


def simple_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Return the shortest of overlapping tokens, in the order of the text: of gpt, 4 and gpt4 the first two."""
    simple: list[Token] = []
    for token in sorted(tokens, key=lambda token: (token.end - token.start, token.start)):
        if not any(token.start < other.end and other.start < token.end for other in simple):
            simple.append(token)
    return sorted(simple, key=lambda token: token.start)


def phrase_terms(analyzer: Analyzer, phrase: str) -> tuple[str, ...]:
    """Return the index terms of a phrase's nouns, foreign words and numbers, in order; a hyphen divides words."""
    return tuple(token.term for token in phrase_tokens(analyzer, phrase))


def phrase_parts(analyzer: Analyzer, phrase: str) -> tuple[str, ...]:
    """Return the parts of a phrase that are looked up.

    Args:
        analyzer: The analyzer of the index.
        phrase: The phrase.

    Returns:
        The text of the phrase that gives each of its :func:`phrase_terms`. Endings and other words are left out.
    """
    return tuple(phrase[token.start : token.end] for token in phrase_tokens(analyzer, phrase))


def phrase_tokens(analyzer: Analyzer, phrase: str) -> list[Token]:
    """Return the tokens that give a phrase's :func:`phrase_terms`."""
    (tokens,) = analyzer.tokens([phrase.replace("-", " ")])
    return [token for token in simple_tokens(tokens) if token.kind in KEYWORD_KINDS]
