"""Pre-fork worker processes.

Each worker is a complete server with its own Java, analyzer, queues, answer cache and metrics. The kernel gives each
new connection to one of them. The parent forks them before it has other threads, and supervises them. It replaces
workers that end. It kills workers that are not ready in time, or whose event loop sends no heartbeat.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from shrag.messages.text import Text

_POLL_SECONDS = 0.2
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 30.0
_STOP_SECONDS = 15.0
"""The time that workers have to stop. It is longer than a server waits for open answers."""

LONGEST_SILENCE = 30.0
"""Seconds without a heartbeat after which a worker is killed. A draining worker sends none, but drains for less."""

LONGEST_START = 600.0
"""Seconds after which a worker that is not ready is killed. Verifying an index of 50 GB takes less."""

_HEARTBEAT = b"\0"


def run_workers(
    count: int,
    work: Callable[[Callable[[str], None], Callable[[], None]], None],
    report: Callable[[str], None],
    longest_silence: float = LONGEST_SILENCE,
    longest_start: float = LONGEST_START,
) -> int:
    """Run ``work`` in ``count`` processes, forked from this one, until this one receives SIGTERM or SIGINT.

    Call it in the main thread, before others start. It passes each signal on to every worker, as SIGTERM. ``work`` must
    drain at the first signal and end at the second. Workers that still run 15 seconds after the first are killed. When
    this process ends, for whatever reason, so do its workers.

    A worker that ends is replaced after a second. If its replacement ends before it is ready, the delay doubles, up to
    30 seconds. A worker that hangs is killed.

    Args:
        count: The number of worker processes. The others are started when the first is ready.
        work: Serves, and handles SIGTERM. It gets two functions. Once ready, it calls the first with a message. From
            then on, it calls the second about every second, as a heartbeat.
        report: Called when all workers are ready, with the message of the last one; and with a message for each worker
            that is replaced or killed.
        longest_silence: Seconds without a heartbeat after which a worker is killed.
        longest_start: Seconds after which a worker that is not ready is killed.

    Returns:
        The exit status: 0, or that of a worker that ended before it was ready while all started (1 for a signal). In a
        worker, the call returns 0 when ``work`` ends: end the process then.
    """
    workers = _Workers(count, report, longest_silence, longest_start)
    signal.signal(signal.SIGTERM, workers.stop)
    signal.signal(signal.SIGINT, workers.stop)
    while not workers.are_stopped():
        if workers.needs_worker() and not workers.start():
            work(workers.report_ready, workers.send_heartbeat)
            return 0
        workers.poll()
    return workers.status


@dataclass(slots=True)
class _Worker:
    """A process, the pipe from which its readiness and heartbeats are read, and the time of its silence.

    ``pipe`` is -1 once it is closed. Before the worker is ready, its silence is the time since its start.
    """

    pid: int
    pipe: int
    ready: bool = False
    silent_seconds: float = 0.0


class _Workers:
    """The supervisor of the workers. A worker's copy is only for :meth:`report_ready` and :meth:`send_heartbeat`."""

    def __init__(self, count: int, report: Callable[[str], None], longest_silence: float, longest_start: float) -> None:
        self.status = 0
        self._count = count
        self._report = report
        self._longest_silence = longest_silence
        self._longest_start = longest_start
        self._announced = False
        self._running: list[_Worker] = []
        self._stops = 0
        self._kill_at = float("inf")
        self._start_at = 0.0
        self._delay = _FIRST_DELAY
        self._polled_at = time.monotonic()
        # Nobody writes into this pipe. A worker that reads its end-of-file knows that the parent has ended.
        self._lifeline, self._lifeline_end = os.pipe()
        self._pipe = -1

    def are_stopped(self) -> bool:
        """Return whether a stop was requested and all workers have ended."""
        return bool(self._stops) and not self._running

    def needs_worker(self) -> bool:
        """Return whether to start another worker now."""
        if self._stops or len(self._running) >= self._count or time.monotonic() < self._start_at:
            return False
        return not self._running or any(worker.ready for worker in self._running)

    def start(self) -> bool:
        """Fork unless a stop was requested; return True in this process and False in the worker."""
        # A stop waits until this process knows the worker and the worker has given up this process's signal handler.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
        try:
            if self._stops:
                return True
            read_end, write_end = os.pipe()
            try:
                pid = os.fork()
            except OSError as error:
                os.close(read_end)
                os.close(write_end)
                self._handle_failed_fork(error)
                return True
            if pid:
                os.close(write_end)
                self._running.append(_Worker(pid, read_end))
                return True
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.setpgid(0, 0)  # only the parent must receive a terminal's Ctrl-C
        for descriptor in (
            read_end,
            self._lifeline_end,
            *(each.pipe for each in self._running if each.pipe >= 0),
        ):
            os.close(descriptor)
        os.set_blocking(write_end, False)
        self._pipe = write_end
        threading.Thread(target=self._end_with_parent, name="lifeline", daemon=True).start()
        return False

    def report_ready(self, text: str) -> None:
        """Tell the parent, from a worker, that the worker is ready; ``text`` is its message."""
        os.write(self._pipe, text.encode())

    def send_heartbeat(self) -> None:
        """Tell the parent, from a worker, that the worker is alive."""
        with suppress(OSError):  # the parent has ended, or it is suspended and the pipe is full
            os.write(self._pipe, _HEARTBEAT)

    def stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Stop the workers. This is a signal handler."""
        self._stops += 1
        self._kill_at = min(self._kill_at, time.monotonic() + _STOP_SECONDS)
        for worker in self._running:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)

    def poll(self) -> None:
        """Wait for a moment. Handle workers that are ready or have ended; kill those that hang or do not stop."""
        waiting = {worker.pipe: worker for worker in self._running if worker.pipe >= 0}
        readable = select.select(list(waiting), [], [], _POLL_SECONDS)[0]
        self._add_silence()
        for pipe in readable:
            self._read(waiting[pipe])
        for worker in list(self._running):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._running.remove(worker)
                self._handle_exit(worker, os.waitstatus_to_exitcode(status))
            elif not self._stops:
                self._kill_if_silent(worker)
        if time.monotonic() > self._kill_at:
            for worker in self._running:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def _kill_if_silent(self, worker: _Worker) -> None:
        if worker.silent_seconds <= (self._longest_silence if worker.ready else self._longest_start):
            return
        worker.silent_seconds = 0.0
        if worker.ready:
            self._report(
                Text(
                    "Worker {pid} has sent no heartbeat for {seconds:g} s: it is killed.",
                    pid=worker.pid,
                    seconds=self._longest_silence,
                )
            )
        else:
            self._report(
                Text(
                    "Worker {pid} is not ready after {seconds:g} s: it is killed. If the index takes longer to open, "
                    "give more with --start-seconds.",
                    pid=worker.pid,
                    seconds=self._longest_start,
                )
            )
        os.kill(worker.pid, signal.SIGKILL)

    def _add_silence(self) -> None:
        """Count the time since the last call as silence, but not the time in which this process was suspended."""
        now = time.monotonic()
        seconds = min(now - self._polled_at, 2 * _POLL_SECONDS)
        self._polled_at = now
        for worker in self._running:
            worker.silent_seconds += seconds

    def _read(self, worker: _Worker) -> None:
        """Read a worker's message of readiness, its heartbeats, or the end of its pipe."""
        data = os.read(worker.pipe, 65_536)
        worker.silent_seconds = 0.0
        if not data:
            os.close(worker.pipe)
            worker.pipe = -1
        elif not worker.ready:
            worker.ready = True
            if not self._announced and sum(each.ready for each in self._running) == self._count:
                self._announced = True
                self._report(data.rstrip(_HEARTBEAT).decode())

    def _handle_exit(self, worker: _Worker, status: int) -> None:
        if worker.pipe >= 0:
            os.close(worker.pipe)
        if self._stops:
            return
        if not worker.ready and not self._announced:
            self.status = status if status > 0 else 1
            self.stop()
            return
        self._delay = _FIRST_DELAY if worker.ready else min(_LONGEST_DELAY, 2 * self._delay)
        self._start_at = time.monotonic() + self._delay
        self._report(
            Text(
                "Worker {pid} ended with status {status}: another is started in {seconds:g} s.",
                pid=worker.pid,
                status=status,
                seconds=self._delay,
            )
        )

    def _handle_failed_fork(self, error: OSError) -> None:
        """Try again later; raise ``error`` if this happens while all workers are started."""
        if not self._announced:
            raise error
        self._delay = min(_LONGEST_DELAY, 2 * self._delay)
        self._start_at = time.monotonic() + self._delay
        self._report(
            Text(
                "No worker can be started ({reason}): tried again in {seconds:g} s.",
                reason=error.strerror,
                seconds=self._delay,
            )
        )

    def _end_with_parent(self) -> None:
        os.read(self._lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_STOP_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)
