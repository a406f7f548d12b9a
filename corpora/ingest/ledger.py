"""SeenIds keeps the identifiers read so far, each with its digest and origin, in a temporary SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

from shrag.corpora.records import Origin


class SeenRecord(NamedTuple):
    """A record that was read: its digest, its origin, and its row in the draft."""

    digest: bytes
    origin: Origin
    row: int


class ScratchDatabase:
    """A temporary SQLite file for one thread; its data are on disk, so memory does not grow with them.

    The file need not survive a crash, so it has no journal and is not synced. Its only transaction is never committed,
    so SQLite writes pages only when its cache is full.
    """

    def __init__(self, path: Path, *tables: str) -> None:
        self._path = path
        self._path.unlink(missing_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("BEGIN")
        for table in tables:
            self._database.execute(f"CREATE TABLE {table}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._path.unlink()


class SeenIds(ScratchDatabase):
    """The identifiers of a corpus that is being added, and those rows of its draft that are superseded."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "docids (docid TEXT PRIMARY KEY, digest BLOB, source INTEGER, line INTEGER, offset INTEGER,"
            " element INTEGER, row INTEGER) WITHOUT ROWID",
            "dropped (row INTEGER PRIMARY KEY)",
            "links (docid TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID",
        )

    def add(self, docid: str, seen: SeenRecord) -> SeenRecord | None:
        """Add ``docid``; if it was read before, change nothing and return the earlier record."""
        cursor = self._database.execute(
            "INSERT OR IGNORE INTO docids VALUES (?, ?, ?, ?, ?, ?, ?)", (docid, seen.digest, *seen.origin, seen.row)
        )
        return None if cursor.rowcount else self.find(docid)

    def find(self, docid: str) -> SeenRecord | None:
        """Return the record of ``docid``, or None if it was not read."""
        found = self._database.execute(
            "SELECT digest, source, line, offset, element, row FROM docids WHERE docid = ?", (docid,)
        ).fetchone()
        if found is None:
            return None
        digest, source, line, offset, element, row = found
        return SeenRecord(digest, Origin(source, line, offset, element), row)

    def replace(self, docid: str, seen: SeenRecord) -> None:
        """Replace the record of ``docid``; its earlier row is superseded."""
        self._database.execute("INSERT INTO dropped SELECT row FROM docids WHERE docid = ?", (docid,))
        self._database.execute(
            "UPDATE docids SET digest = ?, source = ?, line = ?, offset = ?, element = ?, row = ? WHERE docid = ?",
            (seen.digest, *seen.origin, seen.row, docid),
        )

    def remove(self, docid: str) -> None:
        """Remove ``docid``; its row is superseded."""
        self._database.execute("INSERT INTO dropped SELECT row FROM docids WHERE docid = ?", (docid,))
        self._database.execute("DELETE FROM docids WHERE docid = ?", (docid,))

    def change_digest(self, docid: str, digest: bytes) -> None:
        """Set the digest of ``docid`` after its record was linked to a duplicate."""
        self._database.execute("UPDATE docids SET digest = ? WHERE docid = ?", (digest, docid))

    def keep_link(self, docid: str, digest: bytes) -> None:
        """Note the digest of a stored record together with its link, for :meth:`restore_links`."""
        self._database.execute("INSERT INTO links VALUES (?, ?)", (docid, digest))

    def restore_links(self) -> None:
        """Set the digests that :meth:`keep_link` noted, because the stored records keep their links."""
        self._database.execute(
            "UPDATE docids SET digest = (SELECT digest FROM links WHERE links.docid = docids.docid)"
            " WHERE docid IN (SELECT docid FROM links)"
        )

    def digest(self, docid: str) -> bytes | None:
        """Return the digest of ``docid``, or None if it was not read."""
        found = self._database.execute("SELECT digest FROM docids WHERE docid = ?", (docid,)).fetchone()
        return found[0] if found else None

    def counts(self) -> dict[int, int]:
        """Return the number of identifiers of each source, without superseded records."""
        return dict(self._database.execute("SELECT source, count(*) FROM docids GROUP BY source"))

    def dropped(self) -> Iterator[int]:
        """Yield the superseded rows, in order."""
        with closing(self._database.execute("SELECT row FROM dropped ORDER BY row")) as rows:
            for (row,) in rows:
                yield row
