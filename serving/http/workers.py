"""Pre-fork worker processes (or: uvicorn Multiprocess).

Each worker is a whole server: its own Java, analyser, places, kept answers and figures. The system gives each new
connection to one of them. This process only starts them, before it has a thread of its own, and looks after them.
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

_LOOK_SECONDS = 0.2
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 30.0
_LAST_SECONDS = 15.0
"""How long workers that were told to stop may take: longer than a server lets open answers go on."""


def run_workers(count: int, work: Callable[[Callable[[str], None]], None], say: Callable[[str], None]) -> int:
    """Run ``work`` in ``count`` processes until this one is told to stop; return the exit status.

    ``work`` is given what to call, with a text, once it serves. The others are started when the first serves, and when
    all do ``say`` is called with that text. Where one ends before that, its exit status is returned. A worker that ends
    later is replaced, after a second, and after twice the time whenever its replacement ends before it serves; ``say``
    is told so.

    The first SIGTERM or SIGINT lets every worker drain, the second ends them at once. Workers end with this process,
    however it ends. In a worker this returns 0 when the work is done, and raises what it raises.
    """
    workers = _Workers(count, say)
    signal.signal(signal.SIGTERM, workers.stop)
    signal.signal(signal.SIGINT, workers.stop)
    while not workers.ended():
        if workers.wanted() and not workers.start():
            work(workers.tell)
            return 0
        workers.look()
    return workers.status


@dataclass(slots=True)
class _Worker:
    """A process, and the end of the pipe that its readiness is read from; closed (-1) once it was."""

    pid: int
    news: int
    ready: bool = False


class _Workers:
    """The workers as their parent sees them. After a fork the child keeps its copy for :meth:`tell` alone."""

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        self.status = 0
        self._count = count
        self._say = say
        self._announced = False
        self._running: list[_Worker] = []
        self._stops = 0
        self._kill_at = float("inf")
        self._start_at = 0.0
        self._delay = _FIRST_DELAY
        # Nobody writes into it: a worker that reads its end knows that this process is gone.
        self._lifeline, self._held = os.pipe()
        self._news = -1

    def ended(self) -> bool:
        """Say whether there is nothing left to look after."""
        return bool(self._stops) and not self._running

    def wanted(self) -> bool:
        """Say whether another worker is to be started now."""
        if self._stops or len(self._running) >= self._count or time.monotonic() < self._start_at:
            return False
        return not self._running or any(worker.ready for worker in self._running)

    def start(self) -> bool:
        """Fork; return True in this process and False in the worker."""
        news, tell = os.pipe()
        pid = os.fork()
        if pid:
            os.close(tell)
            self._running.append(_Worker(pid, news))
            return True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setpgid(0, 0)  # a terminal's Ctrl-C comes by way of the parent, once
        for descriptor in (news, self._held, *(each.news for each in self._running if each.news >= 0)):
            os.close(descriptor)
        self._news = tell
        threading.Thread(target=self._end_with_parent, name="lifeline", daemon=True).start()
        return False

    def tell(self, text: str) -> None:
        """Tell the parent, from a worker, that it serves."""
        os.write(self._news, text.encode())
        os.close(self._news)

    def stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Tell the workers to stop; told a second time, they end at once."""
        self._stops += 1
        self._kill_at = min(self._kill_at, time.monotonic() + _LAST_SECONDS)
        for worker in self._running:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)

    def look(self) -> None:
        """Wait for news a moment, and see who is ready and who has ended."""
        waiting = {worker.news: worker for worker in self._running if worker.news >= 0}
        for news in select.select(list(waiting), [], [], _LOOK_SECONDS)[0]:
            self._hear(waiting[news])
        for worker in list(self._running):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._running.remove(worker)
                self._lost(worker, os.waitstatus_to_exitcode(status))
        if time.monotonic() > self._kill_at:
            for worker in self._running:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def _hear(self, worker: _Worker) -> None:
        text = os.read(worker.news, 65_536).decode()
        os.close(worker.news)
        worker.news = -1
        worker.ready = bool(text)
        if not self._announced and sum(each.ready for each in self._running) == self._count:
            self._announced = True
            self._say(text)

    def _lost(self, worker: _Worker, status: int) -> None:
        if worker.news >= 0:
            os.close(worker.news)
        if self._stops:
            return
        if not worker.ready and not self._announced:
            self.status = status if status > 0 else 1
            self.stop()
            return
        self._delay = _FIRST_DELAY if worker.ready else min(_LONGEST_DELAY, 2 * self._delay)
        self._start_at = time.monotonic() + self._delay
        self._say(f"Worker {worker.pid} ended with status {status}: another is started in {self._delay:g} s.")

    def _end_with_parent(self) -> None:
        os.read(self._lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)
