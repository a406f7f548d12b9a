"""Token store: the tokens of a corpus's words, in a SQLite file of the index.

Without it, the first search would load Kiwi. That takes about a second, more than the rest of a search from a cold
start. The stored tokens equal those of the index's analyzer, because an index is opened only with the analyzer that
built it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.storage.checksums import open_readonly
from shrag.messages.text import Text

FILE = "tokens.sqlite"
"""File name in an index's folder."""

_LONGEST_WORD = 40

decode_tokens = msgspec.json.Decoder(tuple[Token, ...]).decode


class TokenStore:
    """A token store, open for reading. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_readonly(path)
        self._lock = threading.Lock()

    def get(self, word: str) -> tuple[Token, ...] | None:
        """Return the tokens of ``word``, or None if it is not stored."""
        with self._lock:
            row = self._database.execute("SELECT tokens FROM words WHERE word = ?", (word,)).fetchone()
        try:
            return decode_tokens(row[0]) if row else None
        except msgspec.MsgspecError as error:
            raise IndexDamaged(
                Text("The tokens of {word!r} in the token store cannot be read ({error}).", word=word, error=error)
            ) from error

    def words(self) -> list[tuple[str, bytes]]:
        """Return all words with their tokens (as JSON), sorted by word."""
        with self._lock:
            return self._database.execute("SELECT word, tokens FROM words ORDER BY word").fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def write_token_store(path: Path, words: Iterable[tuple[str, bytes]]) -> None:
    """Write a new token store of ``words`` with their tokens (as JSON), which must be sorted by word."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE words (word TEXT PRIMARY KEY, tokens BLOB) WITHOUT ROWID")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO words VALUES (?, ?)", (entry for entry in words if len(entry[0]) <= _LONGEST_WORD)
        )
        database.execute("COMMIT")
