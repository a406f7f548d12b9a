"""Admission control: a limited number of requests run, and a limited number wait. Others are refused.

Each request runs and waits until its deadline at most. Searches and answers have separate queues and threads.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shrag.messages.text import Text
from shrag.serving.concurrency import ProcessorShare
from shrag.serving.errors import ClientDisconnected, DeadlineExceeded, Overloaded, ServiceUnavailable, ShuttingDown
from shrag.serving.runtime.metrics import Metrics

_Done = TypeVar("_Done")

_WEIGHT_OF_LAST = 0.2
_LONGEST_RETRY = 60
# For so long after a refusal, fewer may wait: refusals take processor time too, so each request waits longer.
_OVERLOADED_SECONDS = 1.0
_POLL_SECONDS = 0.25


def searches_at_once(workers: int = 1, waiting: int = 0) -> int:
    """Return how many searches run at once in each of ``workers`` processes.

    There is one for each processor of the process's share. There are at least four, since some wait for Lucene, and at
    least ``waiting``, for searches that wait for a language model's keywords.
    """
    return max(4, (os.cpu_count() or 1) // workers, waiting)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How many requests run and wait. Searches and answers have separate queues: slow answers do not delay searches.

    Answers do not take the processors from searches either: while searches run, at most a fifth of the computing
    threads works on answers. Threads that wait for a language model do not count.

    64 searches may wait. A longer queue would only make all requests wait longer, even those after a burst. After a
    refusal, half as many may wait, until a second has passed without a refusal. So a request that is admitted under
    overload waits no longer than one in a queue that is just full.

    Attributes:
        searches: Searches that run at once, in a thread each.
        queued_searches: Searches that may wait for a thread. Further ones are refused at once.
        asks: Answers that run at once.
        computing: Searches that compute at once. A quarter as many answers may compute beside them.
        queued_asks: Answers that may wait.
        deadline: Seconds from a request's arrival to the last byte of its response.
    """

    searches: int = field(default_factory=searches_at_once)
    queued_searches: int = 64
    asks: int = 16
    queued_asks: int = 128
    deadline: float = 120.0
    computing: int = field(default_factory=searches_at_once)

    def __post_init__(self) -> None:
        for name in ("searches", "asks", "computing"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)} and must be at least 1")
        for name in ("queued_searches", "queued_asks"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)} and must not be below 0")
        if not self.deadline > 0:
            raise ValueError(f"deadline is {self.deadline} and must be above 0")


async def never_disconnects() -> bool:
    """Return False, for clients whose connection cannot be watched."""
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time until which the server waits for a request's work.

    Attributes:
        until: The time, by the loop's clock.
        seconds: The time allowed from the request's arrival, for the message.
        stopped: Returns whether the server gives up running requests.
        is_disconnected: Returns whether the client has left.
    """

    until: float = float("inf")
    seconds: float = float("inf")
    stopped: Callable[[], bool] = lambda: False
    is_disconnected: Callable[[], Awaitable[bool]] = never_disconnects

    async def wait(self, work: asyncio.Future[Any], at_most: float = float("inf")) -> bool:
        """Wait at most ``at_most`` seconds for ``work``, and return whether it is done. The work goes on in any case.

        Raises:
            DeadlineExceeded: The deadline has passed.
            ShuttingDown: The server gives up running requests.
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
                raise ClientDisconnected(Text("The client closed the connection."))
            if loop.time() >= until:
                return False
        return True

    def without_disconnect(self) -> Deadline:
        """Return the same deadline for a streamed answer, whose response notices by itself that the client has left."""
        return replace(self, is_disconnected=never_disconnects)

    def check(self, now: float) -> None:
        """Raise :class:`ShuttingDown` or :class:`DeadlineExceeded` if :meth:`wait` would at the time ``now``."""
        if self.stopped():
            raise ShuttingDown
        if now >= self.until:
            raise DeadlineExceeded(
                Text(
                    "The answer was not complete within {seconds:g} s: ask again, or ask for fewer records.",
                    seconds=self.seconds,
                )
            )


class AdmissionQueue:
    """A first-in, first-out queue for a number of slots, and the threads of one kind of work.

    Call its methods in the event loop. Each kind of work has its own few threads, since the JVM keeps data for every
    thread that has called it.
    """

    def __init__(self, stage: str, slots: int, queue: int, share: ProcessorShare | None = None) -> None:
        """Make a queue for the work called ``stage``.

        Args:
            stage: The name of the work.
            slots: Requests that run at once, in a thread each.
            queue: Requests that may wait.
            share: Limits how many of the threads compute at once. None: all of them may.
        """
        self.stage = stage
        self._share = share or ProcessorShare(slots)
        self.workers = ThreadPoolExecutor(max_workers=slots, thread_name_prefix=stage)
        self._slots = slots
        self._queue = queue
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._seconds = 0.1
        self._overloaded_until = -math.inf

    @property
    def busy(self) -> int:
        """Slots taken."""
        return self._busy

    @property
    def queued(self) -> int:
        """Requests waiting for a slot."""
        return len(self._waiting)

    async def enter(self, deadline: Deadline) -> None:
        """Take a slot, or wait for one if none is free; :meth:`leave` gives it back.

        Raises:
            Overloaded: The queue is full. Within a second after a refusal, half of its length counts as full.
            ServingError: See :meth:`Deadline.wait`.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline.check(now)
        if self._busy < self._slots:
            self._busy += 1
            return
        most = self._queue if now >= self._overloaded_until else math.ceil(self._queue / 2)
        if len(self._waiting) >= most:
            self._overloaded_until = now + _OVERLOADED_SECONDS
            raise Overloaded(
                Text(
                    "{busy} requests are running and {waiting_count} are waiting, and at most {most} may wait now: "
                    "ask again later.",
                    busy=self._busy,
                    waiting_count=len(self._waiting),
                    most=most,
                ),
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
        """Give the slot to the request that has waited longest; ``seconds`` is how long it was taken."""
        if seconds is not None:
            self._seconds += _WEIGHT_OF_LAST * (seconds - self._seconds)
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._busy -= 1

    async def run(
        self, function: Callable[[], _Done], deadline: Deadline, cancel: Callable[[], None] = lambda: None
    ) -> _Done:
        """Run ``function`` in a thread of this queue, and return what it returns.

        The slot stays taken until the thread is free, even if the request has given up waiting.

        Args:
            function: The work.
            deadline: How long to wait for the work.
            cancel: Stops the work. It is called when the request gives up waiting, even before the work has begun.

        Raises:
            Exception: What ``function``, :meth:`enter` or :meth:`Deadline.wait` raises.
        """
        loop = asyncio.get_running_loop()
        started = 0.0

        def ended(done: asyncio.Future[_Done]) -> None:
            self.leave(loop.time() - started)
            if not done.cancelled():
                done.exception()  # retrieves it: asyncio would report an exception that nobody waits for

        try:
            await self.enter(deadline)
            started = loop.time()
            try:
                work = self.submit(function)
            except BaseException:
                self.leave()
                raise
            work.add_done_callback(ended)
            await deadline.wait(work)
        except BaseException:
            cancel()
            raise
        return work.result()

    def submit(self, function: Callable[[], _Done]) -> asyncio.Future[_Done]:
        """Run ``function`` in a thread, when it has a turn on the processors. The caller must have a slot."""
        return asyncio.get_running_loop().run_in_executor(self.workers, self._share.run, function)

    def close(self) -> None:
        """Take no more work, without waiting for running work."""
        self.workers.shutdown(wait=False, cancel_futures=True)

    def _retry_after(self) -> int:
        """Estimate the seconds until the waiting requests will be done, from the time that recent ones took."""
        seconds = self._seconds * (len(self._waiting) + 1) / self._slots
        return min(_LONGEST_RETRY, max(1, math.ceil(seconds)))


class AdmissionControl:
    """The queues of searches and of answers, the metrics, and whether the server is stopping."""

    def __init__(self, limits: ServerLimits | None = None) -> None:
        self.limits = limits or ServerLimits()
        self.metrics = Metrics()
        limits = self.limits
        self.searches = AdmissionQueue(
            "search", limits.searches, limits.queued_searches, ProcessorShare(limits.computing)
        )
        beside = ProcessorShare(max(1, limits.computing // 4), is_limited=lambda: self.searches.busy > 0)
        self.asks = AdmissionQueue("ask", limits.asks, limits.queued_asks, beside)
        self.draining = False
        self.ended = False

    @property
    def in_flight(self) -> int:
        """The number of requests that run or wait."""
        return sum(queue.busy + queue.queued for queue in (self.searches, self.asks))

    def drain(self) -> None:
        """Stop being ready, but answer requests that still come. Any thread or signal handler may call this."""
        self.draining = True

    def end(self) -> None:
        """Give up all running requests and those that still come: each gets an error."""
        self.ended = True

    def refuse_when_draining(self) -> None:
        """Raise :class:`ShuttingDown` if the server is stopping."""
        if self.draining:
            raise ShuttingDown

    def deadline(self, is_disconnected: Callable[[], Awaitable[bool]] = never_disconnects) -> Deadline:
        """Return the deadline of a request that has just come; ``is_disconnected`` tells if its client has left."""
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
        """Run ``work`` in ``queue`` for as long as a request may take, and return what it returns.

        Raises:
            ServiceUnavailable: See :meth:`AdmissionQueue.run`. The metrics count it.
        """
        try:
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
        """Take no more work, without waiting for running work."""
        for queue in (self.searches, self.asks):
            queue.close()
