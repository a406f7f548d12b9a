"""The analysis process.

The process that the pool starts loads Kiwi and then only forks: each worker is a fork of it, so all share Kiwi's 250 MB
of memory and a new one is there in milliseconds. It never runs Java, which does not survive a fork. Workers read the
corpus themselves and send back frames of packed records, each message msgpack behind four bytes of length.

A record that crashes Kiwi, or keeps it busy beyond a deadline, ends its worker and nothing else: the kernel's timers
are left to kill the process, since nothing in Python can interrupt native code.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import UserDictionary, load_dictionary
from shrag.indexing.analyzed_record import PackedRecord, analyse_record, pack
from shrag.indexing.errors import PartMissing

if TYPE_CHECKING:
    from shrag.corpora.records import Record
    from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

PART_MISSING = 6
"""Exit status of the process where a part is not installed; what is missing is the last line of its stderr."""

_LENGTH = struct.Struct(">I")
_FRAME_BYTES = 1 << 20

# A piece is at most 200 letters for Kiwi (milliseconds) or one sentence for the rest. Processor time, so that a busy
# machine makes no difference; the clock only for what waits for ever.
_PIECE_SECONDS = 10.0
_PIECE_CLOCK_SECONDS = 300.0


class Setup(msgspec.Struct, frozen=True, array_like=True):
    """What all workers are given at their start.

    A word book of the same analyser, how much to keep in memory, and the folder that holds a user's words.
    """

    book: str | None
    cached_words: int
    words: str


class Task(msgspec.Struct, frozen=True, array_like=True):
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


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A record that has no analysis, and why."""

    docid: str
    reason: str


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """Records in the order they lie in, the words first met in them with their tokens, and what it took.

    ``error`` instead is a sentence that ends the build: the corpus cannot be read.
    """

    records: list[PackedRecord | Refused]
    words: list[tuple[str, bytes]]
    reading_seconds: float
    analysis_seconds: float
    error: str = ""


def send(connection: socket.socket, message: msgspec.Struct) -> None:
    """Send one message."""
    data = msgspec.msgpack.encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> bytes:
    """Return the next message as it came; raises :class:`EOFError` where the other side is gone."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray(length)
    view, got = memoryview(data), 0
    while got < length:
        try:
            more = connection.recv_into(view[got:])
        except ConnectionError:
            more = 0
        if not more:
            raise EOFError
        got += more
    return bytes(data)


class _Worker:
    """One forked process: tasks in, frames out, until the connection ends."""

    def __init__(
        self,
        connection: socket.socket,
        kiwi: Any,  # noqa: ANN401  (Kiwi has no types)
        words: UserDictionary,
        setup: Setup,
    ) -> None:
        from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

        self._connection = connection
        self._words: list[tuple[str, bytes]] = []
        self._analyzer: KoreanEnglishAnalyzer = KoreanEnglishAnalyzer(
            TokenStore(Path(setup.book)) if setup.book else None,
            words,
            kiwi=kiwi,
            cached_words=setup.cached_words,
            on_new_word=lambda word, tokens: self._words.append((word, msgspec.json.encode(tokens))),
            before_kiwi=_set_deadline,
        )

    def serve(self) -> None:
        """Do tasks until there is nobody to do them for."""
        read = _reader()
        while True:
            try:
                task = msgspec.msgpack.decode(receive(self._connection), type=Task)
                self._analyzer.add_tokens(task.known)
                if task.words:
                    self._analyzer.terms(task.words)
                    self._send(Frame([], self._words, 0.0, 0.0))
                else:
                    self._do(task, read(task.path, task.start, task.count))
            except (EOFError, ConnectionError):
                return

    def _do(self, task: Task, records: Iterator[Record]) -> None:
        done: list[PackedRecord | Refused] = []
        size, reading, analysis = 0, 0.0, 0.0
        left = task.count
        while left:
            started = time.perf_counter()
            try:
                record = next(records)
            except CorpusError as error:
                return self._send(Frame([], [], 0.0, 0.0, str(error)))
            except StopIteration:
                return self._send(Frame([], [], 0.0, 0.0, f"{task.path} ends before record {task.start + task.count}."))
            begun = time.perf_counter()
            done.append(self._analyse(record))
            ended = time.perf_counter()
            reading, analysis, left = reading + begun - started, analysis + ended - begun, left - 1
            size += len(record.text)
            if not left or len(done) == task.frame or size >= _FRAME_BYTES:
                self._send(Frame(done, self._words, reading, analysis))
                done, size, reading, analysis = [], 0, 0.0, 0.0
        return None

    def _analyse(self, record: Record) -> PackedRecord | Refused:
        _set_deadline()
        try:
            return pack(analyse_record(record, self._analyzer, _set_deadline))
        except Exception as error:
            return Refused(record.docid, f"{type(error).__name__}: {error}")
        finally:
            _clear_deadline()

    def _send(self, frame: Frame) -> None:
        send(self._connection, frame)
        self._words.clear()


def _reader() -> Callable[[str, int, int], Iterator[Record]]:
    """Return a function that reads a stretch of a file of records, and keeps the file open for the next."""
    from shrag.corpora.store.parquet import RecordFile

    files: dict[str, RecordFile] = {}

    def read(path: str, start: int, count: int) -> Iterator[Record]:
        if path not in files:
            files.clear()
            files[path] = RecordFile(Path(path))
        yield from files[path].read(start, count)

    return read


def _set_deadline() -> None:
    signal.setitimer(signal.ITIMER_PROF, _PIECE_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _PIECE_CLOCK_SECONDS)


def _clear_deadline() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Load Kiwi, then fork a worker for every connection that comes over the socket whose number is the argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    setup = msgspec.json.decode(sys.argv[2], type=Setup)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the builder's to answer
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a worker that has ended is nobody's concern here
    try:
        from shrag.indexing.analysis.morphological_analysis import load_kiwi

        words = load_dictionary(Path(setup.words))
        kiwi = load_kiwi(words)
    except PartMissing as error:
        print(error, file=sys.stderr)  # noqa: T201  (the pool reads it)
        sys.exit(PART_MISSING)
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        with warnings.catch_warnings():
            # Kiwi's one idle thread is not in the fork, and single texts do not use it.
            warnings.simplefilter("ignore", DeprecationWarning)
            forked = os.fork()
        if not forked:
            control.close()
            _Worker(socket.socket(fileno=descriptors[0]), kiwi, words, setup).serve()
            os._exit(0)
        os.close(descriptors[0])


if __name__ == "__main__":
    main()
