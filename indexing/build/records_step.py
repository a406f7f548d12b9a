"""Analyse and write all records; rejects and word counts.

Kept in the build's stage and committed just before each of Lucene's commits, so that it knows at least as much as
Lucene does; what it knows beyond is noted again when the build goes on, and counts once.

Each shard ends in a Lucene commit that says how many records of the corpus have been dealt with; a build that was
killed goes on after the last of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.stopwords import QUESTION_WORDS
from shrag.indexing.build.checkpoints import HalfBuilt
from shrag.indexing.build.resources import Busy
from shrag.indexing.build.worker import Frame, Refused, Setup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.writer import LexicalWriter

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


NOTES = "notes.sqlite"

_SMALLEST_SHARD = 2_048
_LARGEST_SHARD = 65_536
_SHARDS = 16
# Over all workers, each word some 300 bytes: what keeps a build's memory bounded.
CACHED_WORDS = 800_000


def shard_size(records: int) -> int:
    """Return after how many records to commit: at most a sixteenth of the work is lost, and no time with committing."""
    return min(max(records // _SHARDS, _SMALLEST_SHARD), _LARGEST_SHARD)


class RecordPhase:
    """Reads, analyses and writes records; keeps what one such run needs."""

    def __init__(
        self,
        build: HalfBuilt,
        records: Path,
        *,
        workers: int,
        book: Path | None,
        busy: Busy,
        report: Callable[[str, int], None],
    ) -> None:
        self._build = build
        self._records = records
        self._workers = workers
        self._book = book
        self._busy = busy
        self._report = report

    def run(self) -> None:
        """Do what is left of the corpus. Raises :class:`IndexingError` where the count does not come out."""
        setup = Setup(str(self._book) if self._book else None, CACHED_WORDS // self._workers, str(self._build.index))
        total = self._build.plan.records
        # The workers' process first: Kiwi is loaded there while Java starts here.
        with (
            WorkerPool(self._workers, setup) as pool,
            BuildNotes(self._build.stage / NOTES) as notes,
            LexicalWriter(self._build.index / FOLDER, self._build.plan.bm25) as writer,
        ):
            done = self._done(writer, notes)
            if not done:
                notes.add_words(pool.analyse_words(QUESTION_WORDS).words)
            size = shard_size(total)
            for frame in pool.analyse(self._records, done, total):
                self._write(frame, done, writer, notes)
                reached = done + len(frame.records)
                if reached // size > done // size:
                    self._checkpoint(reached, writer, notes)
                done = reached
                self._report("records indexed", done)
            with self._busy.at("merging"):
                self._report("merging", done)
                notes.commit()
                writer.commit(self._about(done, writer))

    def _done(self, writer: LexicalWriter, notes: BuildNotes) -> int:
        """Return how many records the last commit has dealt with."""
        done = int(writer.about().get("read", "0"))
        notes.forget_rejects_from(done)
        if writer.count() + len(notes.rejects()) != done:
            raise IndexingError(
                f"{self._build.folder} holds {writer.count()} of {done} records: delete that folder and run again."
            )
        return done

    def _write(self, frame: Frame, done: int, writer: LexicalWriter, notes: BuildNotes) -> None:
        self._busy.add("reading", frame.reading_seconds, self._workers)
        self._busy.add("analysis", frame.analysis_seconds, self._workers)
        with self._busy.at("Lucene"):
            for number, record in enumerate(frame.records, done):
                if isinstance(record, Refused):
                    notes.reject(number, record.docid or self._docid(number), record.reason)
                else:
                    writer.add_packed(record)
        with self._busy.at("word book"):
            notes.add_words(frame.words)

    def _checkpoint(self, done: int, writer: LexicalWriter, notes: BuildNotes) -> None:
        with self._busy.at("word book"):
            notes.commit()
        with self._busy.at("Lucene"):
            writer.checkpoint(self._about(done, writer))

    def _about(self, done: int, writer: LexicalWriter) -> dict[str, str]:
        return {"corpus": self._build.plan.corpus, "read": str(done), "records": str(writer.count())}

    def _docid(self, number: int) -> str:
        with RecordFile(self._records) as file:
            return next(file.read(number, 1)).docid
