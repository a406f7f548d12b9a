"""WorkerPool: analysis on all cores, in processes that may crash or hang at the cost of one record.

Frames come out in the corpus's order, while up to ``workers`` tasks are worked on. What waits to be taken is bounded in
bytes, so a slow consumer makes workers wait instead of memory grow.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.indexing.build.worker import DEPENDENCY_MISSING, AnalysisTask, AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.models.fork_server import Connection, ForkServer

COMMAND = (sys.executable, "-P", "-m", "shrag.indexing.build.worker")
"""Starts the process that workers are forked from."""

_TASK_RECORDS = 512
_FRAME_RECORDS = 32
_WAITING_BYTES = 16 << 20
_MOST_CRASHES_IN_A_ROW = 20
_MOST_NEWS = 200_000


class WorkerPool:
    """Workers that analyse records; a context manager, which ends them."""

    def __init__(self, workers: int, setup: WorkerSetup) -> None:
        self._workers = workers
        self._server = ForkServer(COMMAND, setup)
        self._server.start()
        self._tasks: list[_PendingTask] = []
        self._slots: list[_WorkerSlot] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.interrupt()
        for task in self._tasks:
            task.fail(EOFError())
        for slot in self._slots:
            slot.thread.join()
        self._server.close()

    def analyze_words(self, words: Sequence[str]) -> AnalyzedBatch:
        """Return a frame with the given words, each with its tokens."""
        connection = _connect(self._server)
        try:
            connection.send(AnalysisTask("", 0, 0, 0, tuple(words)))
            return _decode(connection.receive())
        except EOFError:
            raise _failure(self._server) from None
        finally:
            self._server.release(connection)

    def analyse(self, path: Path, start: int, stop: int) -> Iterator[AnalyzedBatch]:
        """Yield frames of the records ``start`` to ``stop`` of a file, in order, every record in one of them.

        A record that kills its worker comes as :class:`RejectedRecord`, without a docid.

        Raises:
            CorpusError: The file cannot be read.
            DependencyMissing: The analyser is not installed.
            IndexingError: Workers keep ending.
        """
        self._tasks = [
            _PendingTask(AnalysisTask(str(path), begin, min(_TASK_RECORDS, stop - begin), _FRAME_RECORDS))
            for begin in range(start, stop, _TASK_RECORDS)
        ]
        waiting = deque(self._tasks)
        self._slots = []
        self._slots.extend(
            _WorkerSlot(f"analysis-{number}", self._server, waiting, self._slots)
            for number in range(min(self._workers, len(waiting)))
        )
        for slot in self._slots:
            slot.thread.start()
        for task in self._tasks:
            yield from task.frames()


class _WorkerSlot:
    """A thread with one worker at a time, and a new one after each that its record has killed."""

    def __init__(
        self, name: str, server: ForkServer, waiting: deque[_PendingTask], slots: Sequence[_WorkerSlot]
    ) -> None:
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._server, self._waiting, self._slots = server, waiting, slots
        self._connection: Connection | None = None
        self._crashes = 0
        # Words that other workers have met and this one does not know yet; the oldest go where they are too many.
        self._news: deque[tuple[str, bytes]] = deque(maxlen=_MOST_NEWS)

    def _run(self) -> None:
        """Do one task after another until none waits."""
        while True:
            try:
                task = self._waiting.popleft()
            except IndexError:
                break
            try:
                self._do(task)
            except Exception as error:
                task.fail(error)
                break
        if self._connection is not None:
            self._server.release(self._connection)

    def _do(self, task: _PendingTask) -> None:
        """Do a task to its end, rejecting the records that kill a worker twice: in a frame, then alone."""
        one_by_one = 0
        while task.left:
            if self._connection is None:
                self._connection = _connect(self._server)
            try:
                self._request(self._connection, task, one_by_one)
                one_by_one = self._crashes = 0
                continue
            except EOFError:
                self._crashes += 1
            self._server.release(self._connection)
            self._connection = None
            if self._crashes > _MOST_CRASHES_IN_A_ROW or self._server.has_ended():
                raise _failure(self._server)
            if one_by_one:
                task.reject("the analysis of this record crashed, or took longer than it may")
            one_by_one = min(_FRAME_RECORDS, task.left)

    def _request(self, connection: Connection, task: _PendingTask, one_by_one: int) -> None:
        """Have the worker do what is left of a task, or its next few records singly; ``EOFError`` where it dies."""
        ends = task.left - one_by_one if one_by_one else 0
        known = tuple(self._news.popleft() for _ in range(len(self._news)))
        connection.send(task.rest(one_by_one, known))
        while task.left > ends:
            received = connection.receive()
            frame = _decode(received)
            # What one worker has asked Kiwi is not asked again by the others.
            for slot in self._slots:
                if slot is not self:
                    slot._news.extend(frame.words)
            task.put(frame, len(received))


class _PendingTask:
    """A task with the frames that have come of it and have not been taken yet."""

    def __init__(self, task: AnalysisTask) -> None:
        self.task = task
        self.left = task.count
        self._frames: deque[tuple[AnalyzedBatch, int]] = deque()
        self._bytes = 0
        self._error: Exception | None = None
        self._changed = threading.Condition()

    def rest(self, one_by_one: int, known: tuple[tuple[str, bytes], ...]) -> AnalysisTask:
        """Return the task of what is left, or of its next few records singly."""
        start = self.task.start + self.task.count - self.left
        count, frame = (one_by_one, 1) if one_by_one else (self.left, self.task.frame)
        return AnalysisTask(self.task.path, start, count, frame, known=known)

    def put(self, frame: AnalyzedBatch, size: int) -> None:
        """Add a frame, once there is room for it."""
        with self._changed:
            while self._bytes >= _WAITING_BYTES and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            if frame.error:
                raise CorpusError(frame.error)
            self.left -= len(frame.records)
            self._frames.append((frame, size))
            self._bytes += size
            self._changed.notify_all()

    def reject(self, reason: str) -> None:
        """Give up the next record."""
        self.put(AnalyzedBatch([RejectedRecord("", reason)], [], 0.0, 0.0), 0)

    def fail(self, error: Exception) -> None:
        """Give up the task."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def frames(self) -> Iterator[AnalyzedBatch]:
        """Yield the frames as they come, to the last."""
        taken = 0
        while taken < self.task.count:
            with self._changed:
                while not self._frames:
                    if self._error is not None:
                        raise self._error
                    self._changed.wait()
                frame, size = self._frames.popleft()
                self._bytes -= size
                self._changed.notify_all()
            taken += len(frame.records)
            yield frame


def _connect(server: ForkServer) -> Connection:
    try:
        return server.connect()
    except EOFError:
        raise _failure(server) from None


def _failure(server: ForkServer) -> IndexingError:
    """Return the error that says why there are no workers."""
    status, last = server.failure()
    if status == DEPENDENCY_MISSING:
        return DependencyMissing(last)
    return IndexingError(
        f"The analysis processes keep ending (exit status {status}, {last or 'it left no message'}): free some memory "
        "and run again."
    )


_decode = msgspec.msgpack.Decoder(AnalyzedBatch).decode
