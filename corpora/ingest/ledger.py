"""On-disk index of the identifiers seen while a corpus is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple


def scratch_database(path: Path) -> sqlite3.Connection:
    """Return a new SQLite file to work in. One thread writes, and a crash throws the file away.

    So: no journal, no syncing, and one transaction that is never committed: pages go to the file when memory for them
    is used up, not after every statement.
    """
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        database.execute(f"PRAGMA {pragma}")
    database.execute("BEGIN")
    return database


class Place(NamedTuple):
    """Where a record was read: the number of its source in the manifest, line from 1, byte offset."""

    source: int
    line: int
    offset: int


class Sighting(NamedTuple):
    """An identifier as it was read: the digest of its record, where, and its row in the draft."""

    digest: bytes
    place: Place
    row: int


class Ledger:
    """The identifiers of a corpus in the making, and which of the rows written so far will not stay."""

    def __init__(self, path: Path) -> None:
        self._database = scratch_database(path)
        self._database.execute(
            "CREATE TABLE docids (docid TEXT PRIMARY KEY, digest BLOB, source INTEGER, line INTEGER, offset INTEGER,"
            " row INTEGER) WITHOUT ROWID"
        )
        self._database.execute("CREATE TABLE dropped (row INTEGER PRIMARY KEY)")

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, docid: str, sighting: Sighting) -> Sighting | None:
        """Remember ``docid``; return its earlier sighting where there is one, which then stays the remembered one."""
        cursor = self._database.execute(
            "INSERT OR IGNORE INTO docids VALUES (?, ?, ?, ?, ?, ?)",
            (docid, sighting.digest, *sighting.place, sighting.row),
        )
        if cursor.rowcount:
            return None
        digest, source, line, offset, row = self._database.execute(
            "SELECT digest, source, line, offset, row FROM docids WHERE docid = ?", (docid,)
        ).fetchone()
        return Sighting(digest, Place(source, line, offset), row)

    def replace(self, docid: str, sighting: Sighting) -> None:
        """Remember ``docid`` as it is now, and drop the row that it had."""
        self._database.execute("INSERT INTO dropped SELECT row FROM docids WHERE docid = ?", (docid,))
        self._database.execute(
            "UPDATE docids SET digest = ?, source = ?, line = ?, offset = ?, row = ? WHERE docid = ?",
            (sighting.digest, *sighting.place, sighting.row, docid),
        )

    def change_digest(self, docid: str, digest: bytes) -> None:
        """Remember that the record of ``docid`` has another content than was read, namely a link."""
        self._database.execute("UPDATE docids SET digest = ? WHERE docid = ?", (digest, docid))

    def digest(self, docid: str) -> bytes | None:
        """Return the digest of ``docid``, None where it was not read."""
        found = self._database.execute("SELECT digest FROM docids WHERE docid = ?", (docid,)).fetchone()
        return found[0] if found else None

    def counts(self) -> dict[int, int]:
        """Return how many identifiers stay, by the source they were read from."""
        return dict(self._database.execute("SELECT source, count(*) FROM docids GROUP BY source"))

    def dropped(self) -> Iterator[int]:
        """Yield the rows that do not stay, in order."""
        with closing(self._database.execute("SELECT row FROM dropped ORDER BY row")) as rows:
            for (row,) in rows:
                yield row
