"""First build step: analyze every record of the corpus and write it to Lucene, or note why it is rejected.

A Lucene commit follows each shard. It stores the number of processed records and a digest of the notes. To resume a
killed build, this step verifies that Lucene's files and the notes are unchanged, and continues after the last commit.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.stopwords import QUESTION_WORDS
from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.build.checkpoints import BuildWorkspace
from shrag.indexing.build.cluster.shard_analysis import FOLDER as SHARDS
from shrag.indexing.build.job import BuildJob
from shrag.indexing.build.worker import AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.maintenance.checks import check_lucene
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.indexing.build.cluster.ray_pool import RayPool

NOTES = "notes.sqlite"
"""Name of the file of :class:`BuildNotes`, in a build's stage."""

CACHED_WORDS = 800_000
"""Most words in the caches of all workers together; a word takes about 300 bytes."""

_SMALLEST_SHARD = 2_048
_LARGEST_SHARD = 65_536
_SHARDS = 16
_MOST_WORDS = 2_000_000


class BuildNotes:
    """Database of new words with their tokens, for the token store, and of the rejected records.

    It is committed just before each of Lucene's commits, so it covers at least the records that Lucene has. Entries of
    later records are removed when the build resumes (:meth:`rewind`).
    """

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        # Without shared memory, a full disk raises an error instead of the signal SIGBUS.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = TRUNCATE")
        self._database.execute("CREATE TABLE IF NOT EXISTS words (word TEXT, tokens BLOB)")
        self._database.execute("CREATE TABLE IF NOT EXISTS rejects (number INTEGER PRIMARY KEY, docid, reason)")
        self._words = 0
        self._digest = hashlib.sha256()
        self._database.execute("BEGIN")

    def __enter__(self) -> BuildNotes:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add_words(self, words: Sequence[tuple[str, bytes]]) -> None:
        """Add words with their tokens, up to :data:`_MOST_WORDS`; words may repeat."""
        if words and self._words < _MOST_WORDS:
            self._database.executemany("INSERT INTO words VALUES (?, ?)", words)
            self._count(words)

    def reject(self, number: int, docid: str, reason: str) -> None:
        """Add a rejected record; ``number`` is its position in the corpus."""
        self._database.execute("INSERT OR REPLACE INTO rejects VALUES (?, ?, ?)", (number, docid, reason))

    def state(self) -> str:
        """Return the number of words, and a digest of words and rejected records."""
        digest = self._digest.copy()
        for row in self._database.execute("SELECT number, docid, reason FROM rejects ORDER BY number"):
            digest.update(repr(row).encode())
        return f"{self._words} {digest.hexdigest()}"

    def rewind(self, state: str, done: int) -> None:
        """Return to the notes of the first ``done`` records, at which :meth:`state` was ``state``.

        Raises:
            IndexDamaged: The remaining notes are not those that were written.
            sqlite3.DatabaseError: The file is damaged.
        """
        self._database.execute("DELETE FROM words WHERE rowid > ?", (int(state.partition(" ")[0]),))
        self._database.execute("DELETE FROM rejects WHERE number >= ?", (done,))
        self._words, self._digest = 0, hashlib.sha256()
        self._count(self._database.execute("SELECT word, tokens FROM words ORDER BY rowid"))
        problem = self._database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if self.state() != state or problem != "ok":
            raise IndexDamaged(Text("The words that the interrupted build noted have changed since."))

    def commit(self) -> None:
        """Write the notes so far to the disk."""
        self._database.execute("COMMIT")
        self._database.execute("BEGIN")

    def words(self) -> Iterator[tuple[str, bytes]]:
        """Return the words and their tokens, sorted."""
        # The cursor itself and no generator: after an error, that would close its cursor later than the database.
        return self._database.execute("SELECT word, min(tokens) FROM words GROUP BY word ORDER BY word")

    def rejects(self) -> list[RejectedRecord]:
        """Return the rejected records in the corpus's order."""
        rows = self._database.execute("SELECT docid, reason FROM rejects ORDER BY number")
        return [RejectedRecord(*row) for row in rows]

    def rejected_numbers(self) -> list[int]:
        """Return the positions of the rejected records in the corpus, in ascending order."""
        return [number for (number,) in self._database.execute("SELECT number FROM rejects ORDER BY number")]

    def _count(self, words: Iterable[tuple[str, bytes]]) -> None:
        for word in words:
            self._digest.update(repr(word).encode())
            self._words += 1


class BatchWriter:
    """Writes batches of analyzed records to Lucene and the notes; ``done`` is the number of records written so far."""

    def __init__(
        self, job: BuildJob, records: Path, writer: LuceneIndexWriter, notes: BuildNotes, done: int = 0
    ) -> None:
        self._records, self._writer, self._notes = records, writer, notes
        self._utilization, self._workers, self._report = job.utilization, job.workers, job.options.report
        self.done = done

    def write(self, batch: AnalyzedBatch) -> None:
        """Write the next batch of the file."""
        started = time.perf_counter()
        self._writer.add([record for record in batch.records if isinstance(record, PackedRecord)])
        written = time.perf_counter()
        self._notes.add_words(batch.words)
        for number, record in enumerate(batch.records, self.done):
            if isinstance(record, RejectedRecord):
                self._notes.reject(number, record.docid or self._docid(number), record.reason)
        self.done += len(batch.records)
        self._utilization.add("reading", batch.reading_seconds, self._workers)
        self._utilization.add("analysis", batch.analysis_seconds, self._workers)
        self._utilization.add("Lucene", written - started)
        self._utilization.add("token store", time.perf_counter() - written)
        self._report("records indexed", self.done)

    def _docid(self, number: int) -> str:
        with RecordFile(self._records) as file:
            return next(file.read(number, 1)).docid


def shard_size(records: int) -> int:
    """Return the number of records between commits: a sixteenth of all, within limits."""
    return min(max(records // _SHARDS, _SMALLEST_SHARD), _LARGEST_SHARD)


def index_records(job: BuildJob, store: Path | None) -> None:
    """Analyze and write the records that are not written yet.

    Args:
        job: The build.
        store: A token store of the same analyzer, None if there is none.

    Raises:
        IndexDamaged: The files of an interrupted build have changed since they were written.
        IndexingError: Workers keep crashing.
    """
    build, total = job.workspace, job.workspace.plan.records
    _check_commit(build)
    setup = WorkerSetup(str(store) if store else None, CACHED_WORDS // job.workers, str(build.index))
    # The pool is opened first, so that its process loads Kiwi while Java starts here.
    with (
        _make_pool(job, setup) as pool,
        BuildNotes(build.stage / NOTES) as notes,
        LuceneIndexWriter(build.index / FOLDER, build.plan.bm25) as writer,
    ):
        batches = BatchWriter(job, job.records, writer, notes, _rewind(build, writer, notes))
        shard, size = batches.done // shard_size(total), shard_size(total)
        for batch in pool.analyze(job.records, batches.done, total, () if batches.done else QUESTION_WORDS):
            batches.write(batch)
            if batches.done // size > shard:
                shard = batches.done // size
                with job.utilization.measure("token store"):
                    notes.commit()
                with job.utilization.measure("Lucene"):
                    writer.checkpoint(_commit_data(job, batches.done, writer, notes))
        with job.utilization.measure("merging"):
            job.options.report("merging", batches.done)
            notes.commit()
            writer.commit(_commit_data(job, batches.done, writer, notes))
    shutil.rmtree(build.stage / SHARDS, ignore_errors=True)


def _make_pool(job: BuildJob, setup: WorkerSetup) -> WorkerPool | RayPool:
    if not job.options.ray:
        return WorkerPool(job.workers, setup)
    from shrag.indexing.build.cluster.ray_pool import RayPool

    build = job.workspace
    return RayPool(job.options.ray, job.workers, setup, build.stage / SHARDS, build.plan.analyzer)


def _check_commit(build: BuildWorkspace) -> None:
    """Check the last commit of an interrupted build. Without a commit, remove the notes, which then cover nothing."""
    folder = build.index / FOLDER
    if not any(folder.glob("segments_*")):
        (build.stage / NOTES).unlink(missing_ok=True)
    elif problems := check_lucene(folder, checksums_only=True):
        raise IndexDamaged(
            Text("{folder} has changed since it was written ({problems}).", folder=folder, problems=problems[0])
        )


def _rewind(build: BuildWorkspace, writer: LuceneIndexWriter, notes: BuildNotes) -> int:
    """Return the number of records that the last commit covers; remove the notes of later records."""
    data = writer.commit_data()
    if not data:
        return 0
    done = int(data["processed"])
    notes.rewind(data["notes"], done)
    if (written := writer.count()) + len(notes.rejects()) != done:
        raise IndexDamaged(
            Text("{folder} has {written} of {expected} records.", folder=build.folder, written=written, expected=done)
        )
    return done


def _commit_data(job: BuildJob, done: int, writer: LuceneIndexWriter, notes: BuildNotes) -> dict[str, str]:
    return {
        "corpus": job.workspace.plan.corpus,
        "processed": str(done),
        "records": str(writer.count()),
        "notes": notes.state(),
    }
