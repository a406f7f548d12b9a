"""Finding, in a corpus in the making, the papers that stand in it under two numbers. Memory does not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.corpora.same_paper import Likeness, likeness, likeness_keys, same_paper
from shrag.corpora.scratch import scratch_database

_COMPARED = 64
"""Records under one key that a record is compared with, the latest ones: a bound for titles such as "Introduction"."""


class _First(NamedTuple):
    """The first record of a group, of which later ones may turn out to be duplicates."""

    docid: str
    likeness: Likeness


class PaperLinks:
    """First told of every row's record, then asked to compare those that share a title or a text with another."""

    def __init__(self, path: Path) -> None:
        self._database = scratch_database(path)
        self._database.execute("CREATE TABLE keys (key INTEGER, row INTEGER)")
        self._database.execute("CREATE TABLE candidates (row INTEGER PRIMARY KEY)")
        self._database.execute("CREATE TABLE firsts (key INTEGER, row INTEGER)")
        self._database.execute("CREATE INDEX first_key ON firsts (key, row)")
        self._database.execute("CREATE TABLE records (row INTEGER PRIMARY KEY, docid TEXT, title TEXT, text TEXT)")
        self._database.execute("CREATE TABLE links (row INTEGER PRIMARY KEY, docid TEXT)")
        # Passages of one article come one after the other, and are compared with one another again and again.
        self._first = lru_cache(maxsize=2 * _COMPARED)(self._read_first)

    def __enter__(self) -> PaperLinks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def note(self, row: int, record: Record) -> None:
        """Remember what the record in ``row`` would be found by."""
        for key in likeness_keys(record):
            self._database.execute("INSERT INTO keys VALUES (?, ?)", (key, row))

    def candidates(self) -> Iterator[int]:
        """Yield, in order, the rows that share a key with another."""
        self._database.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.execute(
            "INSERT OR IGNORE INTO candidates SELECT row FROM keys"
            " WHERE key IN (SELECT key FROM keys GROUP BY key HAVING count(*) > 1)"
        )
        with closing(self._database.execute("SELECT row FROM candidates ORDER BY row")) as rows:
            for (row,) in rows:
                yield row

    def link(self, row: int, record: Record) -> str | None:
        """Compare a candidate with those before it; return the docid of the first record of its group, if it has one.

        Rows are to come in order. The docid is never that of a linked record itself.
        """
        keys = likeness_keys(record)
        first = self._first_of(record, keys)
        if first is None:
            self._database.executemany("INSERT INTO firsts VALUES (?, ?)", [(key, row) for key in keys])
            values = (row, record.docid, record.title, record.text)
            self._database.execute("INSERT INTO records VALUES (?, ?, ?, ?)", values)
        else:
            self._database.execute("INSERT INTO links VALUES (?, ?)", (row, first))
        return first

    def links(self) -> Iterator[tuple[int, str]]:
        """Yield each linked row, in order, with the docid of its group's first record."""
        with closing(self._database.execute("SELECT row, docid FROM links ORDER BY row")) as links:
            yield from links

    def _first_of(self, record: Record, keys: Iterable[int]) -> str | None:
        own = likeness(record)
        if own is None:
            return None
        for key in keys:
            rows = self._database.execute(
                "SELECT row FROM firsts WHERE key = ? ORDER BY row DESC LIMIT ?", (key, _COMPARED)
            )
            for (row,) in rows.fetchall():
                first = self._first(row)
                if same_paper(first.likeness, own):
                    return first.docid
        return None

    def _read_first(self, row: int) -> _First:
        docid, title, text = self._database.execute(
            "SELECT docid, title, text FROM records WHERE row = ?", (row,)
        ).fetchone()
        found = likeness(Record(docid, title, text, "und", complete=False))
        if found is None:
            raise ValueError(f"row {row} was kept though its text cannot be compared")
        return _First(docid, found)
