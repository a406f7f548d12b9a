"""Admission control and deadlines: bounded numbers of requests are worked on and wait, each for a bounded time."""

from __future__ import annotations

import asyncio
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shrag.serving.errors import ClientDisconnected, DeadlineExceeded, Overloaded, ServiceUnavailable, ShuttingDown
from shrag.serving.runtime.metrics import Metrics

_Done = TypeVar("_Done")

_WEIGHT_OF_LAST = 0.2
_LONGEST_RETRY = 60
_POLL_SECONDS = 0.25


def searches_at_once(workers: int = 1, waiting: int = 0) -> int:
    """Return how many searches one of so many processes works on at once.

    One process needs a few more than it has interpreters, for while one waits for Lucene another can run. Where a
    language model chooses the keywords, most of a search is ``waiting`` for it: so many at least may do so.
    """
    return max(4, (os.cpu_count() or 1) // workers, waiting)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How much the server takes on at once; searches and answers have each their own queue.

    So slow answers do not hold searches up. As many searches may wait as 64 callers make: a longer queue would only
    make all in it wait longer, and those that come when the rush is over wait behind it.

    Attributes:
        searches: Searches worked on at once, in a thread each.
        queued_searches: Searches that may wait for a thread; more are refused at once.
        asks: Answers worked on at once, likewise.
        queued_asks: Answers that may wait.
        deadline: Seconds from a request's arrival to its last byte.
    """

    searches: int = field(default_factory=searches_at_once)
    queued_searches: int = 64
    asks: int = 16
    queued_asks: int = 128
    deadline: float = 120.0

    def __post_init__(self) -> None:
        for name in ("searches", "asks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)} and must be at least 1")
        for name in ("queued_searches", "queued_asks"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)} and must not be below 0")
        if not self.deadline > 0:
            raise ValueError(f"deadline is {self.deadline} and must be above 0")


async def never_disconnects() -> bool:
    """Say that the client has not left; for one that cannot be asked."""
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a request is given up.

    Attributes:
        until: The time, by the loop's clock.
        seconds: How long that was from the request's arrival, for the message.
        stopped: Says that the server gives up what still runs.
        is_disconnected: Says that the client has left.
    """

    until: float = float("inf")
    seconds: float = float("inf")
    stopped: Callable[[], bool] = lambda: False
    is_disconnected: Callable[[], Awaitable[bool]] = never_disconnects

    async def wait(self, work: asyncio.Future[Any], at_most: float = float("inf")) -> bool:
        """Wait until ``work`` is done, ``at_most`` so many seconds; return whether it is.

        Raises:
            DeadlineExceeded: The deadline has passed. Here and below, the work goes on.
            ShuttingDown: The server gives up what still runs.
            ClientDisconnected: The client has left.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + at_most
        while not work.done():
            left = min(until, self.until) - loop.time()
            await asyncio.wait([work], timeout=max(0.0, min(left, _POLL_SECONDS)))
            if work.done():
                break
            self.check(loop.time())
            if await self.is_disconnected():
                raise ClientDisconnected("The client has left.")
            if loop.time() >= until:
                return False
        return True

    def without_disconnect(self) -> Deadline:
        """Return the same for a streamed answer, whose response finds out by itself that the client has left."""
        return replace(self, is_disconnected=never_disconnects)

    def check(self, now: float) -> None:
        """Raise as :meth:`wait` does where there is no reason to wait any longer."""
        if self.stopped():
            raise ShuttingDown
        if now >= self.until:
            raise DeadlineExceeded(
                f"There was no whole answer within {self.seconds:g} s: ask again, or for fewer records."
            )


class AdmissionQueue:
    """The slots of one kind of work, first come, first served, and the threads it is done in.

    Used from event loops only, its functions run in threads of their own: Lucene and Kiwi work outside the
    interpreter's lock, and Java knows each thread that calls it.
    """

    def __init__(self, stage: str, slots: int, queue: int) -> None:
        """Make a queue for the work called ``stage``: so many ``slots``, and a ``queue`` of so many that wait."""
        self.stage = stage
        self.workers = ThreadPoolExecutor(max_workers=slots, thread_name_prefix=stage)
        self._slots = slots
        self._queue = queue
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._seconds = 0.1

    @property
    def busy(self) -> int:
        """Slots taken."""
        return self._busy

    @property
    def queued(self) -> int:
        """Requests waiting for a slot."""
        return len(self._waiting)

    async def enter(self, deadline: Deadline) -> None:
        """Take a slot, waiting for one where none is free; :meth:`leave` gives it back.

        Raises:
            Overloaded: Too many wait. Else raises as :meth:`Deadline.wait` does.
        """
        loop = asyncio.get_running_loop()
        deadline.check(loop.time())
        if self._busy < self._slots:
            self._busy += 1
            return
        if len(self._waiting) >= self._queue:
            raise Overloaded(
                f"{self._busy} requests are worked on and {len(self._waiting)} wait, as many as may: ask again later.",
                self._retry_after(),
            )
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        try:
            await deadline.wait(turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                turn.cancel()
                self._waiting.remove(turn)
            raise

    def leave(self, seconds: float | None = None) -> None:
        """Give the slot to the request that has waited longest; ``seconds`` says how long it was taken."""
        if seconds is not None:
            self._seconds += _WEIGHT_OF_LAST * (seconds - self._seconds)
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._busy -= 1

    async def run(
        self, function: Callable[[], _Done], deadline: Deadline, cancel: Callable[[], None] = lambda: None
    ) -> _Done:
        """Return what ``function`` returns, run in a thread of this queue.

        The slot is free once the thread is, also where it is waited for no longer.

        Args:
            function: The work.
            deadline: How long it is waited for.
            cancel: Stops the work; called where it is not waited for, whether it was begun or not.

        Raises:
            Overloaded: Too many wait. Else raises as ``function`` and :meth:`Deadline.wait` do.
        """
        loop = asyncio.get_running_loop()
        started = 0.0

        def ended(done: asyncio.Future[_Done]) -> None:
            self.leave(loop.time() - started)
            if not done.cancelled():
                done.exception()  # retrieved, also where nobody waits for it any more

        try:
            await self.enter(deadline)
            started = loop.time()
            try:
                work = loop.run_in_executor(self.workers, function)
            except BaseException:
                self.leave()
                raise
            work.add_done_callback(ended)
            await deadline.wait(work)
        except BaseException:
            cancel()
            raise
        return work.result()

    def close(self) -> None:
        """Take no more work; what runs is not waited for."""
        self.workers.shutdown(wait=False, cancel_futures=True)

    def _retry_after(self) -> int:
        """Return the seconds in which those that wait now will have been served, by the time the last ones took."""
        seconds = self._seconds * (len(self._waiting) + 1) / self._slots
        return min(_LONGEST_RETRY, max(1, math.ceil(seconds)))


class AdmissionControl:
    """The queues of searches and of answers, the metrics, and whether the server is stopping."""

    def __init__(self, limits: ServerLimits | None = None) -> None:
        self.limits = limits or ServerLimits()
        self.metrics = Metrics()
        self.searches = AdmissionQueue("search", self.limits.searches, self.limits.queued_searches)
        self.asks = AdmissionQueue("ask", self.limits.asks, self.limits.queued_asks)
        self.draining = False
        self.ended = False

    @property
    def in_flight(self) -> int:
        """Requests that are worked on or wait to be."""
        return sum(queue.busy + queue.queued for queue in (self.searches, self.asks))

    def drain(self) -> None:
        """Refuse new requests from now on; what was begun goes on. From any thread, also a signal's."""
        self.draining = True

    def end(self) -> None:
        """Give up what still runs: each such request gets an error."""
        self.ended = True

    def refuse_when_draining(self) -> None:
        """Raise :class:`ShuttingDown` where the server is stopping."""
        if self.draining:
            raise ShuttingDown

    def deadline(self, is_disconnected: Callable[[], Awaitable[bool]] = never_disconnects) -> Deadline:
        """Return the deadline of a request that has just come; ``is_disconnected`` says that its client has left."""
        seconds = self.limits.deadline
        until = asyncio.get_running_loop().time() + seconds
        return Deadline(until, seconds, lambda: self.ended, is_disconnected)

    async def run(
        self,
        queue: AdmissionQueue,
        work: Callable[[], _Done],
        is_disconnected: Callable[[], Awaitable[bool]] = never_disconnects,
        cancel: Callable[[], None] = lambda: None,
    ) -> _Done:
        """Return what ``work`` returns, run in its turn for as long as a request may take.

        Raises:
            ShuttingDown: The server is stopping. Else raises as :meth:`AdmissionQueue.run` does.
        """
        try:
            if self.draining:
                cancel()
                raise ShuttingDown
            return await queue.run(work, self.deadline(is_disconnected), cancel)
        except ServiceUnavailable as error:
            self.metrics.rejected(error.code)
            raise

    def scrape(self) -> bytes:
        """Return the metrics as they are now."""
        for queue in (self.searches, self.asks):
            self.metrics.work(queue.stage, queue.queued, queue.busy)
        return self.metrics.text()

    def close_queues(self) -> None:
        """Take no more work; what runs is not waited for."""
        for queue in (self.searches, self.asks):
            queue.close()
