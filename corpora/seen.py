"""Which identifiers a corpus already has, kept on disk so that memory does not grow with the corpus."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import NamedTuple


class Sighting(NamedTuple):
    """Where an identifier was first read, and the digest of its record there."""

    digest: bytes
    file: str
    line: int


class SeenDocids:
    """A set of identifiers with the place of each. A throw-away SQLite file: nothing in it outlives the reading."""

    def __init__(self, path: Path) -> None:
        # One thread writes, and a crash throws the file away: no journal, no syncing, statements committed never.
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA cache_size = -65536")
        self._database.execute(
            "CREATE TABLE seen (docid TEXT PRIMARY KEY, digest BLOB, file TEXT, line INTEGER) WITHOUT ROWID"
        )

    def __enter__(self) -> SeenDocids:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, docid: str, sighting: Sighting) -> Sighting | None:
        """Remember ``docid``; return its earlier sighting where there is one, which then stays the remembered one."""
        cursor = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", (docid, *sighting))
        if cursor.rowcount:
            return None
        row = self._database.execute("SELECT digest, file, line FROM seen WHERE docid = ?", (docid,)).fetchone()
        return Sighting(*row)
