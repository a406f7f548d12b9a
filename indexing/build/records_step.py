"""First step of a build: analyse every record of the corpus and write it to Lucene, or note why it is rejected.

Each shard ends in a Lucene commit that says how many records of the corpus have been dealt with; a build that was
killed resumes after the last of them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.stopwords import QUESTION_WORDS
from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.build.job import BuildJob
from shrag.indexing.build.worker import AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.writer import LuceneIndexWriter

NOTES = "notes.sqlite"
"""The file of :class:`BuildNotes` in a build's stage."""

CACHED_WORDS = 800_000
"""Words that all workers together cache, some 300 bytes each: this bounds a build's memory."""

_SMALLEST_SHARD = 2_048
_LARGEST_SHARD = 65_536
_SHARDS = 16
_MOST_WORDS = 2_000_000


class BuildNotes:
    """A database of the words analysed, for the token store, and of the rejected records.

    It is committed just before each of Lucene's commits, so that it knows at least as much as Lucene does; what it
    knows beyond that is noted again when the build resumes, and counts once.
    """

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
        """Note that the corpus's record ``number`` is rejected."""
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

    def rejects(self) -> list[RejectedRecord]:
        """Return the rejected records, in the corpus's order."""
        rows = self._database.execute("SELECT docid, reason FROM rejects ORDER BY number")
        return [RejectedRecord(*row) for row in rows]


class BatchWriter:
    """Writes frames of analysed records to Lucene and to the notes; ``done`` records of the file so far."""

    def __init__(
        self, job: BuildJob, records: Path, writer: LuceneIndexWriter, notes: BuildNotes, done: int = 0
    ) -> None:
        self._records, self._writer, self._notes = records, writer, notes
        self._utilization, self._workers, self._report = job.utilization, job.workers, job.options.report
        self.done = done

    def write(self, frame: AnalyzedBatch) -> None:
        """Write one frame, the next of the file."""
        started = time.perf_counter()
        self._writer.add([record for record in frame.records if isinstance(record, PackedRecord)])
        written = time.perf_counter()
        self._notes.add_words(frame.words)
        for number, record in enumerate(frame.records, self.done):
            if isinstance(record, RejectedRecord):
                self._notes.reject(number, record.docid or self._docid(number), record.reason)
        self.done += len(frame.records)
        self._utilization.add("reading", frame.reading_seconds, self._workers)
        self._utilization.add("analysis", frame.analysis_seconds, self._workers)
        self._utilization.add("Lucene", written - started)
        self._utilization.add("token store", time.perf_counter() - written)
        self._report("records indexed", self.done)

    def _docid(self, number: int) -> str:
        with RecordFile(self._records) as file:
            return next(file.read(number, 1)).docid


def shard_size(records: int) -> int:
    """Return after how many records to commit, so that a killed build repeats at most a sixteenth of its work."""
    return min(max(records // _SHARDS, _SMALLEST_SHARD), _LARGEST_SHARD)


def index_records(job: BuildJob, store: Path | None) -> None:
    """Analyse and write the records that are not written yet.

    Args:
        job: The build.
        store: A token store made by the same analyser, None where there is none.

    Raises:
        IndexingError: What an interrupted build left does not add up, or workers keep ending.
    """
    build, total = job.workspace, job.workspace.plan.records
    setup = WorkerSetup(str(store) if store else None, CACHED_WORDS // job.workers, str(build.index))
    # The workers' process first: Kiwi is loaded there while Java starts here.
    with (
        WorkerPool(job.workers, setup) as pool,
        BuildNotes(build.stage / NOTES) as notes,
        LuceneIndexWriter(build.index / FOLDER, build.plan.bm25) as writer,
    ):
        frames = BatchWriter(job, job.records, writer, notes, _done(build.folder, writer, notes))
        if not frames.done:
            notes.add_words(pool.analyze_words(QUESTION_WORDS).words)
        shard, size = frames.done // shard_size(total), shard_size(total)
        for frame in pool.analyse(job.records, frames.done, total):
            frames.write(frame)
            if frames.done // size > shard:
                shard = frames.done // size
                with job.utilization.at("token store"):
                    notes.commit()
                with job.utilization.at("Lucene"):
                    writer.checkpoint(_about(job, frames.done, writer.count()))
        with job.utilization.at("merging"):
            job.options.report("merging", frames.done)
            notes.commit()
            writer.commit(_about(job, frames.done, writer.count()))


def _done(folder: Path, writer: LuceneIndexWriter, notes: BuildNotes) -> int:
    """Return how many records the last commit has dealt with."""
    done = int(writer.about().get("processed", "0"))
    notes.forget_rejects_from(done)
    if writer.count() + len(notes.rejects()) != done:
        raise IndexingError(f"{folder} holds {writer.count()} of {done} records: delete that folder and run again.")
    return done


def _about(job: BuildJob, done: int, records: int) -> dict[str, str]:
    return {"corpus": job.workspace.plan.corpus, "processed": str(done), "records": str(records)}
