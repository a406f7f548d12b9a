"""The analysis process: reads records of the corpus, analyses them, sends packed records back.

It is a fork server (:mod:`shrag.models.fork_server`) that loads Kiwi: each worker is a fork of it and shares Kiwi's
250 MB. It never runs Java, which does not survive a fork. A record that crashes Kiwi, or keeps it busy beyond a
deadline, ends its worker and nothing else: the kernel's timers kill the process, since nothing in Python can interrupt
native code.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import UserDictionary, load_dictionary
from shrag.indexing.analyzed_record import PackedRecord, analyze_record, pack_record
from shrag.indexing.errors import DependencyMissing
from shrag.models.fork_server import Connection, serve

if TYPE_CHECKING:
    from shrag.corpora.records import Record
    from shrag.corpora.store.parquet import RecordFile

DEPENDENCY_MISSING = 6
"""Exit status of the process where a part is not installed; what is missing is the last line of its stderr."""

_FRAME_BYTES = 1 << 20

# A piece is at most 200 letters for Kiwi (milliseconds) or one sentence for the rest. Processor time, so that a busy
# machine makes no difference; the clock only for what waits for ever.
_PIECE_SECONDS = 10.0
_PIECE_CLOCK_SECONDS = 300.0


class WorkerSetup(msgspec.Struct, frozen=True, array_like=True):
    """What all workers get at their start.

    A token store of the same analyser, how many words to cache, and the folder that holds a user's words.
    """

    store: str | None
    cached_words: int
    words: str


class AnalysisTask(msgspec.Struct, frozen=True, array_like=True):
    """Analyse ``count`` records of the file ``path`` from number ``start`` on, ``frame`` of them in a message.

    With ``words`` instead of a path: analyse these words alone. ``known`` are words with their tokens that other
    workers have met since this one's last task.
    """

    path: str
    start: int
    count: int
    frame: int
    words: tuple[str, ...] = ()
    known: tuple[tuple[str, bytes], ...] = ()


class RejectedRecord(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A record that has no analysis, and why."""

    docid: str
    reason: str


class AnalyzedBatch(msgspec.Struct, frozen=True, array_like=True):
    """Records in the corpus's order, the words first met in them with their tokens, and the seconds it took.

    ``error`` instead is a sentence that ends the build: the corpus cannot be read.
    """

    records: list[PackedRecord | RejectedRecord]
    words: list[tuple[str, bytes]]
    reading_seconds: float
    analysis_seconds: float
    error: str = ""


class _Worker:
    """One forked process: does tasks until its connection ends."""

    def __init__(
        self,
        connection: Connection,
        kiwi: Any,  # noqa: ANN401  (Kiwi has no types)
        words: UserDictionary,
        setup: WorkerSetup,
    ) -> None:
        from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

        self._connection = connection
        self._words: list[tuple[str, tuple[Token, ...]]] = []
        self._file: tuple[str, RecordFile] | None = None
        self._analyzer = KoreanEnglishAnalyzer(
            TokenStore(Path(setup.store)) if setup.store else None,
            words,
            kiwi=kiwi,
            cached_words=setup.cached_words,
            on_new_word=self._words.append,
            before_kiwi=_set_deadline,
        )

    def run(self) -> None:
        """Do tasks; ends with ``EOFError`` where nobody asks for more."""
        while True:
            task = msgspec.msgpack.decode(self._connection.receive(), type=AnalysisTask)
            self._analyzer.add_tokens(task.known)
            if task.words:
                self._analyzer.terms(task.words)
                self._send([], 0.0, 0.0)
                continue
            try:
                self._analyze(task)
            except CorpusError as error:
                self._send([], 0.0, 0.0, str(error))

    def _analyze(self, task: AnalysisTask) -> None:
        done: list[PackedRecord | RejectedRecord] = []
        size, reading, analysis = 0, 0.0, 0.0
        records = self._open(task.path).read(task.start, task.count)
        for left in range(task.count - 1, -1, -1):
            started = time.perf_counter()
            record = next(records, None)
            if record is None:
                raise CorpusError(f"{task.path} ends before record {task.start + task.count}.")
            begun = time.perf_counter()
            done.append(self._analyze_record(record))
            ended = time.perf_counter()
            reading, analysis = reading + begun - started, analysis + ended - begun
            size += len(record.text)
            if not left or len(done) == task.frame or size >= _FRAME_BYTES:
                self._send(done, reading, analysis)
                done, size, reading, analysis = [], 0, 0.0, 0.0

    def _open(self, path: str) -> RecordFile:
        """Return the file of records; the last one stays open for the next task."""
        from shrag.corpora.store.parquet import RecordFile

        if self._file is None or self._file[0] != path:
            self._file = path, RecordFile(Path(path))
        return self._file[1]

    def _analyze_record(self, record: Record) -> PackedRecord | RejectedRecord:
        try:
            return pack_record(analyze_record(record, self._analyzer, _set_deadline))
        except Exception as error:
            return RejectedRecord(record.docid, f"{type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _send(
        self, records: list[PackedRecord | RejectedRecord], reading: float, analysis: float, error: str = ""
    ) -> None:
        words = [(word, msgspec.json.encode(tokens)) for word, tokens in self._words]
        self._connection.send(AnalyzedBatch(records, words, reading, analysis, error))
        self._words.clear()


def _set_deadline() -> None:
    signal.setitimer(signal.ITIMER_PROF, _PIECE_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _PIECE_CLOCK_SECONDS)


def _load(setup: bytes) -> Callable[[Connection], None]:
    chosen = msgspec.json.decode(setup, type=WorkerSetup)
    try:
        from shrag.indexing.analysis.morphological_analysis import load_kiwi

        words = load_dictionary(Path(chosen.words))
        kiwi = load_kiwi(words)
    except DependencyMissing as error:
        print(error, file=sys.stderr)  # noqa: T201  (the pool reads it)
        sys.exit(DEPENDENCY_MISSING)
    return lambda connection: _Worker(connection, kiwi, words, chosen).run()


def main() -> None:
    """Be the fork server of the analysis processes."""
    serve(_load)


if __name__ == "__main__":
    main()
