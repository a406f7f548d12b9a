"""WorkerPool: analysis on all cores, in processes that may crash or hang at the cost of one record.

Batches are yielded in the corpus's order. If the consumer is slow, the workers wait: within a task when too many bytes
of its batches wait for the consumer, and before a task when too many tasks do. So the memory does not grow with the
corpus.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed
from shrag.indexing.build.worker import DEPENDENCY_MISSING, AnalysisTask, AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.messages.text import Text
from shrag.models.fork_server import Connection, ForkServer

COMMAND = (sys.executable, "-P", "-m", "shrag.indexing.build.worker")
"""Command of the fork server."""

_TASK_RECORDS = 512
_BATCH_RECORDS = 32
_WAITING_BYTES = 16 << 20  # of each task
_TASKS_PER_WORKER = 2  # begun, and not yet taken by the consumer
_MOST_CRASHES_IN_A_ROW = 20
_MOST_NEW_WORDS = 200_000


class WorkerPool:
    """Workers that analyze records. The end of its ``with`` block ends them.

    The workers stay for the next call of :meth:`analyze`. They remember the words that they have analyzed, and send
    each new word only once.
    """

    def __init__(self, workers: int, setup: WorkerSetup) -> None:
        self._workers = workers
        self._server = ForkServer(COMMAND, setup)
        self._server.start()
        self._tasks: list[_PendingTask] = []
        self._slots: list[_WorkerSlot] = []
        self._idle: deque[Connection] = deque()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.interrupt()
        for task in self._tasks:
            task.fail(EOFError())
        for slot in self._slots:
            slot.room.release()
        for slot in self._slots:
            slot.thread.join()
        self._server.close()

    def analyze(self, path: Path, start: int, stop: int, words: Sequence[str] = ()) -> Iterator[AnalyzedBatch]:
        """Yield batches of the records ``start`` to ``stop`` of a file, in order; ``words`` are analyzed before them.

        A record that crashes its worker is yielded as :class:`RejectedRecord` without a docid.

        Raises:
            CorpusError: The file cannot be read.
            DiskFailed: Another file cannot be read.
            DependencyMissing: The analyzer is not installed.
            IndexingError: Workers keep crashing.
        """
        self._tasks = [
            _PendingTask(
                AnalysisTask(
                    str(path),
                    begin,
                    min(_TASK_RECORDS, stop - begin),
                    _BATCH_RECORDS,
                    tuple(words) if begin == start else (),
                )
            )
            for begin in range(start, stop, _TASK_RECORDS)
        ]
        waiting = deque(self._tasks)
        room = threading.Semaphore(_TASKS_PER_WORKER * self._workers)
        self._slots = []
        self._slots.extend(
            _WorkerSlot(f"analysis-{number}", self._server, waiting, room, self._slots, self._idle)
            for number in range(min(self._workers, len(waiting)))
        )
        for slot in self._slots:
            slot.thread.start()
        for task in self._tasks:
            yield from task.batches()
            room.release()
        for slot in self._slots:
            slot.thread.join()


class _WorkerSlot:
    """A thread with one worker. It takes an idle worker if there is one, and replaces a worker that crashes.

    It acquires ``room`` before each task. The consumer releases it after each task.
    """

    def __init__(
        self,
        name: str,
        server: ForkServer,
        waiting: deque[_PendingTask],
        room: threading.Semaphore,
        slots: Sequence[_WorkerSlot],
        idle: deque[Connection],
    ) -> None:
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.room = room
        self._server, self._waiting, self._slots, self._idle = server, waiting, slots, idle
        self._connection: Connection | None = None
        self._crashes = 0
        # New words of other workers that this one has not received; the oldest are dropped if there are too many.
        self._new_words: deque[tuple[str, bytes]] = deque(maxlen=_MOST_NEW_WORDS)

    def _run(self) -> None:
        """Execute tasks until none is left."""
        while True:
            self.room.acquire()
            try:
                task = self._waiting.popleft()
            except IndexError:
                break
            try:
                self._do(task)
            except Exception as error:
                task.fail(error)
                if self._connection is not None:
                    self._server.release(self._connection)
                return
        if self._connection is not None:
            self._idle.append(self._connection)

    def _do(self, task: _PendingTask) -> None:
        """Execute a task; a record that crashes a worker twice, in a batch and alone, is rejected."""
        one_by_one = 0
        while task.left:
            if self._connection is None:
                self._connection = self._idle.popleft() if self._idle else _connect(self._server)
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
                task.reject("the analysis of this record crashed or exceeded the time limit")
            one_by_one = min(_BATCH_RECORDS, task.left)

    def _request(self, connection: Connection, task: _PendingTask, one_by_one: int) -> None:
        """Send the rest of a task, or its next ``one_by_one`` records singly; raise ``EOFError`` if the worker ends."""
        ends = task.left - one_by_one if one_by_one else 0
        known = tuple(self._new_words.popleft() for _ in range(len(self._new_words)))
        connection.send(task.rest(one_by_one, known))
        while task.left > ends:
            received = connection.receive()
            batch = _decode(received)
            # Other workers need not analyze the new words again.
            for slot in self._slots:
                if slot is not self:
                    slot._new_words.extend(batch.words)
            task.put(batch, len(received))


class _PendingTask:
    """A task, and those of its batches that were not taken yet."""

    def __init__(self, task: AnalysisTask) -> None:
        self.task = task
        self.left = task.count
        self._batches: deque[tuple[AnalyzedBatch, int]] = deque()
        self._bytes = 0
        self._error: Exception | None = None
        self._changed = threading.Condition()

    def rest(self, one_by_one: int, known: tuple[tuple[str, bytes], ...]) -> AnalysisTask:
        """Return a task for the records that are left, or for the next ``one_by_one`` singly."""
        start = self.task.start + self.task.count - self.left
        count, batch = (one_by_one, 1) if one_by_one else (self.left, self.task.batch)
        words = self.task.words if self.left == self.task.count else ()
        return AnalysisTask(self.task.path, start, count, batch, words, known)

    def put(self, batch: AnalyzedBatch, size: int) -> None:
        """Add a batch, once there is room for it."""
        with self._changed:
            while self._bytes >= _WAITING_BYTES and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            if batch.error:
                raise DiskFailed(batch.error) if batch.failed else CorpusError(batch.error)
            self.left -= len(batch.records)
            self._batches.append((batch, size))
            self._bytes += size
            self._changed.notify_all()

    def reject(self, reason: str) -> None:
        """Reject the next record."""
        self.put(AnalyzedBatch([RejectedRecord("", reason)], [], 0.0, 0.0), 0)

    def fail(self, error: Exception) -> None:
        """Make the task fail with this error, unless it has failed already."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def batches(self) -> Iterator[AnalyzedBatch]:
        """Yield the batches as they are added."""
        taken = 0
        while taken < self.task.count:
            with self._changed:
                while not self._batches:
                    if self._error is not None:
                        raise self._error
                    self._changed.wait()
                batch, size = self._batches.popleft()
                self._bytes -= size
                self._changed.notify_all()
            taken += len(batch.records)
            yield batch


def _connect(server: ForkServer) -> Connection:
    try:
        return server.connect()
    except EOFError:
        raise _failure(server) from None


def _failure(server: ForkServer) -> Exception:
    """Return an error with the reason why there are no workers."""
    if (error := server.system_error()) is not None:
        return error
    status, last = server.failure()
    if status == DEPENDENCY_MISSING:
        return DependencyMissing(last)
    return IndexingError(
        Text(
            "The analysis processes keep ending (exit status {status}, {message}): free some memory and run again.",
            status=status,
            message=last or Text("it left no message"),
        )
    )


_decode = msgspec.msgpack.Decoder(AnalyzedBatch).decode
