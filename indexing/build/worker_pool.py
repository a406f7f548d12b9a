"""Crash-isolated analysis processes.

Order is kept: frames come out in the order the records lie in, while up to ``workers`` tasks are worked on. What waits
to be taken is bounded by bytes, so a slow taker makes workers wait, not memory grow.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.indexing.build.worker import PART_MISSING, Frame, Refused, Setup, Task, receive, send
from shrag.indexing.errors import IndexingError, PartMissing

COMMAND = (sys.executable, "-P", "-m", "shrag.indexing.build.worker")
"""Starts the process that workers are forked from."""

_TASK_RECORDS = 512
_FRAME_RECORDS = 32
_WAITING_BYTES = 16 << 20
_MOST_CRASHES_IN_A_ROW = 20
_MOST_NEWS = 200_000


class WorkerPool:
    """Workers that analyse records; a context, at the end of which none is left."""

    def __init__(self, workers: int, setup: Setup) -> None:
        self._workers = workers
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the pool)
        self._control, other = socket.socketpair()
        command = [*COMMAND, str(other.fileno()), msgspec.json.encode(setup).decode()]
        with other:
            self._process = subprocess.Popen(  # noqa: S603  (our own module)
                command,
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
            )
        self._forking = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._pending: list[_Pending] = []
        self._lanes: list[threading.Thread] = []
        self._working: list[_Lane] = []
        self._closed = False

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._forking:
            self._closed = True
            for connection in list(self._connections):
                # Whoever waits for it, here or there, wakes up to its end.
                connection.shutdown(socket.SHUT_RDWR)
        for task in self._pending:
            task.fail(EOFError())
        for lane in self._lanes:
            lane.join()
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def analyse_words(self, words: Sequence[str]) -> Frame:
        """Return a frame with the given words, each as the analyser has it."""
        connection = self.connect()
        try:
            send(connection, Task("", 0, 0, 0, tuple(words)))
            return _decode(receive(connection))
        except (EOFError, ConnectionError):
            raise self.trouble() from None
        finally:
            self.let_go(connection)

    def analyse(self, path: Path, start: int, stop: int) -> Iterator[Frame]:
        """Yield frames of the records ``start`` to ``stop`` of a file, in order, every record in one of them.

        A record that a worker does not survive comes as :class:`Refused`, without a docid. Raises
        :class:`CorpusError` where the file cannot be read, :class:`PartMissing` where the analyser is not installed.
        """
        self._pending = [
            _Pending(Task(str(path), begin, min(_TASK_RECORDS, stop - begin), _FRAME_RECORDS))
            for begin in range(start, stop, _TASK_RECORDS)
        ]
        waiting = deque(self._pending)
        self._lanes = [
            threading.Thread(target=self._work, args=(waiting,), name=f"analysis-{number}", daemon=True)
            for number in range(min(self._workers, len(waiting)))
        ]
        for lane in self._lanes:
            lane.start()
        for task in self._pending:
            yield from task.frames()

    def _work(self, waiting: deque[_Pending]) -> None:
        """Do one task after another, by one worker as long as it lives."""
        lane = _Lane(self)
        self._working.append(lane)
        try:
            while not self._closed:
                try:
                    task = waiting.popleft()
                except IndexError:
                    return
                try:
                    lane.do(task)
                except Exception as error:
                    task.fail(error)
                    return
        finally:
            lane.close()

    def tell_others(self, speaker: _Lane, words: Sequence[tuple[str, bytes]]) -> None:
        """Have all workers but one know the words that one has met: what Kiwi has read once is not read again."""
        for lane in list(self._working):
            if lane is not speaker:
                lane.hear(words)

    def connect(self) -> socket.socket:
        """Return a connection to a new worker."""
        with self._forking:
            if self._closed:
                raise EOFError
            ours, theirs = socket.socketpair()
            self._connections.add(ours)
            with theirs:
                try:
                    socket.send_fds(self._control, [b"f"], [theirs.fileno()])
                except OSError:
                    self.let_go(ours)
                    raise self.trouble() from None
        return ours

    def let_go(self, connection: socket.socket) -> None:
        """Close a connection; its worker ends."""
        self._connections.discard(connection)
        connection.close()

    def ended(self) -> bool:
        """Whether the process that workers are forked from is gone."""
        return self._process.poll() is not None

    def trouble(self) -> IndexingError:
        """Return the error that says why there are no workers."""
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            status = None
        self._errors.seek(0)
        last = (self._errors.read().decode(errors="replace").strip().splitlines() or ["it left no message"])[-1]
        if status == PART_MISSING:
            return PartMissing(last)
        return IndexingError(
            f"The analysis processes keep ending (exit status {status}, {last}): free some memory and run again."
        )


class _Lane:
    """One worker at a time, and a new one after each that did not survive its record."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._connection: socket.socket | None = None
        self._crashes = 0
        self._untold: deque[tuple[str, bytes]] = deque(maxlen=_MOST_NEWS)

    def hear(self, words: Iterable[tuple[str, bytes]]) -> None:
        """Keep words that another worker has met for this one; the oldest go where they are too many."""
        self._untold.extend(words)

    def _news(self) -> tuple[tuple[str, bytes], ...]:
        news = []
        while self._untold:
            news.append(self._untold.popleft())
        return tuple(news)

    def do(self, task: _Pending) -> None:
        """Do a task to its end, refusing the records that kill a worker twice: in company, then alone."""
        one_by_one = 0
        while task.left:
            if self._run(task, one_by_one):
                one_by_one = self._crashes = 0
                continue
            self.close()
            self._crashes += 1
            if self._crashes > _MOST_CRASHES_IN_A_ROW or self._pool.ended():
                raise self._pool.trouble()
            if one_by_one:
                task.refuse("the analysis of this record crashed, or took longer than it may")
            one_by_one = min(_FRAME_RECORDS, task.left)

    def close(self) -> None:
        """Let go of the worker."""
        if self._connection is not None:
            self._pool.let_go(self._connection)
            self._connection = None

    def _run(self, task: _Pending, one_by_one: int) -> bool:
        """Have a worker do what is left of a task, or its next few records singly; return whether it lived."""
        ends = task.left - one_by_one if one_by_one else 0
        if self._connection is None:
            self._connection = self._pool.connect()
        try:
            send(self._connection, task.rest(one_by_one, self._news()))
            while task.left > ends:
                received = receive(self._connection)
                frame = _decode(received)
                self._pool.tell_others(self, frame.words)
                task.put(frame, len(received))
        except (EOFError, ConnectionError):
            return False
        return True


class _Pending:
    """A task with the frames that have come of it and not been taken yet."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.left = task.count
        self._frames: deque[tuple[Frame, int]] = deque()
        self._bytes = 0
        self._error: Exception | None = None
        self._changed = threading.Condition()

    def rest(self, one_by_one: int, known: tuple[tuple[str, bytes], ...]) -> Task:
        """Return the task of what is left, or of its next few records singly, with words to tell the worker."""
        start = self.task.start + self.task.count - self.left
        count, frame = (one_by_one, 1) if one_by_one else (self.left, self.task.frame)
        return Task(self.task.path, start, count, frame, known=known)

    def put(self, frame: Frame, size: int) -> None:
        """Add a frame, once there is room for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < _WAITING_BYTES or self._error is not None)
            if self._error is not None:
                raise self._error
            if frame.error:
                raise CorpusError(frame.error)
            self.left -= len(frame.records)
            self._frames.append((frame, size))
            self._bytes += size
            self._changed.notify_all()

    def refuse(self, reason: str) -> None:
        """Give up the next record."""
        self.put(Frame([Refused("", reason)], [], 0.0, 0.0), 0)

    def fail(self, error: Exception) -> None:
        """Give up the task."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def frames(self) -> Iterator[Frame]:
        """Yield the frames as they come, to the last."""
        taken = 0
        while taken < self.task.count:
            with self._changed:
                self._changed.wait_for(lambda: self._frames or self._error is not None)
                if not self._frames and self._error is not None:
                    raise self._error
                frame, size = self._frames.popleft()
                self._bytes -= size
                self._changed.notify_all()
            taken += len(frame.records)
            yield frame


_decode = msgspec.msgpack.Decoder(Frame).decode
