"""The analysis process: reads records of the corpus, analyzes them, and sends packed records back.

It is a fork server (:mod:`shrag.models.fork_server`) that loads Kiwi. The workers are forks of it, and share Kiwi's
250 MB. It never runs Java, which does not survive a fork. A record that crashes Kiwi or exceeds the time limit ends
only its worker. Timers of the kernel kill the process, since Python cannot interrupt native code.
"""

from __future__ import annotations

import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import MACHINE_ERRORS, DiskFailed, DiskFull, disk_errors
from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import UserDictionary, load_dictionary
from shrag.indexing.analyzed_record import PackedRecord, analyze_record, pack_record
from shrag.indexing.errors import DependencyMissing
from shrag.messages.text import Text
from shrag.models.fork_server import Connection, serve

if TYPE_CHECKING:
    from shrag.corpora.records import Record
    from shrag.corpora.store.parquet import RecordFile
    from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

DEPENDENCY_MISSING = 6
"""Exit status if a dependency is missing. The last line of stderr names it."""

_BATCH_BYTES = 1 << 20

# Time limits for one piece: a sentence, or 200 letters for Kiwi, which take milliseconds. Processor time is independent
# of the machine's load. The limit of wall-clock time ends a process that only waits.
_PIECE_SECONDS = 10.0
_PIECE_CLOCK_SECONDS = 300.0


class WorkerSetup(msgspec.Struct, frozen=True, array_like=True):
    """Settings of all workers.

    Attributes:
        store: A token store of the same analyzer, None for none.
        cached_words: Most words in a worker's cache.
        dictionary: The folder with the user dictionary.
    """

    store: str | None
    cached_words: int
    dictionary: str


class AnalysisTask(msgspec.Struct, frozen=True, array_like=True):
    """Records to analyze.

    Attributes:
        start: Number of the first record.
        count: How many records.
        batch: Most records in a message.
        words: Words to analyze first, for the token store.
        known: New words of other workers, with their tokens.
    """

    path: str
    start: int
    count: int
    batch: int
    words: tuple[str, ...] = ()
    known: tuple[tuple[str, bytes], ...] = ()


class RejectedRecord(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A record that cannot be analyzed, and the reason."""

    docid: str
    reason: str


class AnalyzedBatch(msgspec.Struct, frozen=True, array_like=True):
    """Analyzed records in the corpus's order, new words with their tokens, and the seconds for reading and analysis.

    ``error`` is a message that ends the build. The file that cannot be read is the corpus, or another one if ``failed``
    is true.
    """

    records: list[PackedRecord | RejectedRecord]
    words: list[tuple[str, bytes]]
    reading_seconds: float
    analysis_seconds: float
    error: str = ""
    failed: bool = False


class _Worker:
    """A worker process, which executes tasks until its connection ends."""

    def __init__(
        self,
        connection: Connection,
        kiwi: Any,  # noqa: ANN401  (Kiwi has no types)
        dictionary: UserDictionary,
        setup: WorkerSetup,
    ) -> None:
        self._connection, self._kiwi, self._dictionary, self._setup = connection, kiwi, dictionary, setup
        self._store = Path(setup.store) if setup.store else None
        self._words: list[tuple[str, tuple[Token, ...]]] = []
        self._file: tuple[str, RecordFile] | None = None

    @cached_property
    def _analyzer(self) -> KoreanEnglishAnalyzer:
        """The analyzer. The first task creates it, so that an error of the token store's file reaches the pool."""
        from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

        return KoreanEnglishAnalyzer(
            TokenStore(self._store) if self._store else None,
            self._dictionary,
            kiwi=self._kiwi,
            cached_words=self._setup.cached_words,
            on_new_word=self._words.append,
            before_kiwi=_set_deadline,
        )

    def run(self) -> None:
        """Execute tasks until the connection ends, which raises ``EOFError``."""
        while True:
            task = msgspec.msgpack.decode(self._connection.receive(), type=AnalysisTask)
            try:
                with disk_errors(self._store or Path(self._setup.dictionary)):
                    self._analyzer.add_tokens(task.known)
                    self._analyzer.terms(task.words)
                    self._analyze(task)
            except CorpusError as error:
                self._send([], 0.0, 0.0, str(error))
            except (DiskFull, DiskFailed) as error:
                self._send([], 0.0, 0.0, str(error), failed=True)
            except OSError as error:
                what = f"{error.filename or 'A file'} cannot be read ({error.strerror})"
                way = MACHINE_ERRORS.get(error.errno, "check the disk (`dmesg`) and the right to the file")
                self._send([], 0.0, 0.0, f"{what}: {way}, and run again.", failed=True)

    def _analyze(self, task: AnalysisTask) -> None:
        done: list[PackedRecord | RejectedRecord] = []
        size, reading, analysis = 0, 0.0, 0.0
        records = self._open(task.path).read(task.start, task.count)
        for left in range(task.count - 1, -1, -1):
            started = time.perf_counter()
            record = next(records, None)
            if record is None:
                raise CorpusError(
                    Text("{path} ends before record {number}.", path=task.path, number=task.start + task.count)
                )
            read = time.perf_counter()
            done.append(self._analyze_record(record))
            ended = time.perf_counter()
            reading, analysis = reading + read - started, analysis + ended - read
            size += len(record.text)
            if not left or len(done) == task.batch or size >= _BATCH_BYTES:
                self._send(done, reading, analysis)
                done, size, reading, analysis = [], 0, 0.0, 0.0

    def _open(self, path: str) -> RecordFile:
        """Return the open file of records; it stays open for the next task."""
        from shrag.corpora.store.parquet import RecordFile

        if self._file is None or self._file[0] != path:
            self._file = path, RecordFile(Path(path))
        return self._file[1]

    def _analyze_record(self, record: Record) -> PackedRecord | RejectedRecord:
        try:
            return pack_record(analyze_record(record, self._analyzer, _set_deadline))
        except (OSError, sqlite3.DatabaseError):
            raise  # not the record's fault
        except Exception as error:
            return RejectedRecord(record.docid, f"{type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _send(
        self,
        records: list[PackedRecord | RejectedRecord],
        reading: float,
        analysis: float,
        error: str = "",
        *,
        failed: bool = False,
    ) -> None:
        words = [(word, msgspec.json.encode(tokens)) for word, tokens in self._words]
        self._connection.send(AnalyzedBatch(records, words, reading, analysis, error, failed))
        self._words.clear()


def _set_deadline() -> None:
    signal.setitimer(signal.ITIMER_PROF, _PIECE_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _PIECE_CLOCK_SECONDS)


def _load(setup: bytes) -> Callable[[Connection], None]:
    chosen = msgspec.json.decode(setup, type=WorkerSetup)
    try:
        from shrag.indexing.analysis.morphological_analysis import load_kiwi

        dictionary = load_dictionary(Path(chosen.dictionary))
        kiwi = load_kiwi(dictionary)
    except DependencyMissing as error:
        print(error, file=sys.stderr)  # noqa: T201  (the pool reads it)
        sys.exit(DEPENDENCY_MISSING)
    return lambda connection: _Worker(connection, kiwi, dictionary, chosen).run()


def main() -> None:
    """Run the fork server of the workers."""
    serve(_load)


if __name__ == "__main__":
    main()
