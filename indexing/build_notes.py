"""What a build notes beside Lucene while it reads records: the words analysed, and the records it had to leave out.

Kept in the build's stage and committed just before each of Lucene's commits, so that it knows at least as much as
Lucene does; what it knows beyond is noted again when the build goes on, and counts once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from shrag.indexing.worker import Refused

_MOST_WORDS = 2_000_000
"""Words noted of all that are analysed, the first: the common ones are met early, once by each worker."""


class BuildNotes:
    """A database of the stage, open for writing."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        # One connection, no shared memory: a full disk is an error, never a signal.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = TRUNCATE")
        self._database.execute("CREATE TABLE IF NOT EXISTS words (word TEXT, tokens BLOB)")
        self._database.execute("CREATE TABLE IF NOT EXISTS rejects (number INTEGER PRIMARY KEY, docid, reason)")
        self._words: int = self._database.execute("SELECT count(*) FROM words").fetchone()[0]
        self._database.execute("BEGIN")

    def __enter__(self) -> BuildNotes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add_words(self, words: Sequence[tuple[str, bytes]]) -> None:
        """Note words and their tokens, as many as there is room for; some have been noted before."""
        if words and self._words < _MOST_WORDS:
            self._words += self._database.executemany("INSERT INTO words VALUES (?, ?)", words).rowcount

    def reject(self, number: int, docid: str, reason: str) -> None:
        """Note that the corpus's record ``number`` is left out."""
        self._database.execute("INSERT OR REPLACE INTO rejects VALUES (?, ?, ?)", (number, docid, reason))

    def forget_rejects_from(self, number: int) -> None:
        """Forget what was noted of records that are read again."""
        self._database.execute("DELETE FROM rejects WHERE number >= ?", (number,))

    def commit(self) -> None:
        """Make what was noted durable."""
        self._database.execute("COMMIT")
        self._database.execute("BEGIN")

    def words(self) -> Iterator[tuple[str, bytes]]:
        """Yield the words and their tokens in order."""
        yield from self._database.execute("SELECT word, min(tokens) FROM words GROUP BY word ORDER BY word")

    def rejects(self) -> list[Refused]:
        """Return the records left out, in the corpus's order."""
        return [Refused(*row) for row in self._database.execute("SELECT docid, reason FROM rejects ORDER BY number")]
