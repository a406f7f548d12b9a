"""What changed between an index and its corpus, found by digests and kept on disk: memory does not grow with either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from shrag.corpora.digest import record_digest
from shrag.corpora.records import Record
from shrag.corpora.scratch import scratch_database

Change = Literal["added", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Changes:
    """How many records were what."""

    added: int
    changed: int
    deleted: int
    unchanged: int

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.changed:,} changed, {self.deleted:,} deleted, {self.unchanged:,} unchanged"


class IndexedDigests:
    """The records of an index by identifier and digest. A throw-away SQLite file: a crash throws it away too."""

    def __init__(self, path: Path, records: Iterable[Record]) -> None:
        self._database = scratch_database(path)
        self._database.execute("CREATE TABLE indexed (docid TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID")
        self._database.executemany(
            "INSERT INTO indexed VALUES (?, ?)", ((record.docid, record_digest(record)) for record in records)
        )

    def __enter__(self) -> IndexedDigests:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def take(self, record: Record) -> Change:
        """Say what became of a record of the corpus, and take it out: what is left at the end is deleted."""
        key = (record.docid,)
        row = self._database.execute("SELECT digest FROM indexed WHERE docid = ?", key).fetchone()
        if row is None:
            return "added"
        self._database.execute("DELETE FROM indexed WHERE docid = ?", key)
        return "unchanged" if row[0] == record_digest(record) else "changed"

    def left(self) -> Iterator[str]:
        """Yield the identifiers that were not taken out, in order."""
        return (docid for (docid,) in self._database.execute("SELECT docid FROM indexed ORDER BY docid"))
