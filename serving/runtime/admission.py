"""Admission control: concurrency limits, queues, load shedding."""

from __future__ import annotations

import asyncio
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shrag.serving.errors import NotServed, Overloaded, Stopping
from shrag.serving.runtime.deadline import Patience, stays
from shrag.serving.runtime.metrics import Metrics

_Done = TypeVar("_Done")

_WEIGHT_OF_LAST = 0.2
_LONGEST_RETRY = 60


class Gate:
    """The places of one kind of work, first come, first served, and the threads it is done in.

    Used from event loops only, its functions run in threads of their own: Lucene and Kiwi work outside the
    interpreter's lock, and Java knows each thread that calls it.
    """

    def __init__(self, stage: str, places: int, queue: int) -> None:
        self.stage = stage
        self.workers = ThreadPoolExecutor(max_workers=places, thread_name_prefix=stage)
        self._places = places
        self._queue = queue
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._seconds = 0.1

    @property
    def busy(self) -> int:
        """Places taken."""
        return self._busy

    @property
    def queued(self) -> int:
        """Requests waiting for a place."""
        return len(self._waiting)

    async def enter(self, patience: Patience) -> None:
        """Take a place, waiting for one where none is free; whoever took one calls :meth:`leave`.

        Raises :class:`Overloaded` at once where too many wait, and as :meth:`Patience.wait` does.
        """
        loop = asyncio.get_running_loop()
        patience.check(loop.time())
        if self._busy < self._places:
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
            await patience.wait(turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                turn.cancel()
                self._waiting.remove(turn)
            raise

    def leave(self, seconds: float | None = None) -> None:
        """Give the place to the one who has waited longest; ``seconds`` says how long it was taken."""
        if seconds is not None:
            self._seconds += _WEIGHT_OF_LAST * (seconds - self._seconds)
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._busy -= 1

    async def run(
        self, function: Callable[[], _Done], patience: Patience, give_up: Callable[[], None] | None = None
    ) -> _Done:
        """Return what ``function`` returns, run in a thread of this gate.

        Where it is waited for no longer, ``give_up`` is called, and the place is free once the thread is. Raises as
        :meth:`enter` does.
        """
        await self.enter(patience)
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            work = loop.run_in_executor(self.workers, function)
        except BaseException:
            self.leave()
            raise

        def ended(done: asyncio.Future[Any]) -> None:
            self.leave(loop.time() - started)
            if not done.cancelled():
                done.exception()  # seen, also where nobody waits for it any more

        work.add_done_callback(ended)
        try:
            await patience.wait(work)
        except BaseException:
            if give_up is not None:
                give_up()
            raise
        return work.result()

    def close(self) -> None:
        """Take no more work; what runs is not waited for."""
        self.workers.shutdown(wait=False, cancel_futures=True)

    def _retry_after(self) -> int:
        """Return the seconds in which those who wait now will have been served, by the time the last ones took."""
        seconds = self._seconds * (len(self._waiting) + 1) / self._places
        return min(_LONGEST_RETRY, max(1, math.ceil(seconds)))


def searches_at_once(workers: int = 1, waiting: int = 0) -> int:
    """Return how many searches one of so many processes works on at once.

    One process needs a few more than it has interpreters, for while one waits for Lucene another can run. Where a
    language model chooses the keywords, most of a search is ``waiting`` for it: so many at least may do so.
    """
    return max(4, (os.cpu_count() or 1) // workers, waiting)


@dataclass(frozen=True, slots=True)
class Limits:
    """Searches and answers have each their own places, so that slow answers do not hold searches up.

    ``searches`` and ``asks`` are worked on at once, in a thread each; ``queued_searches`` and ``queued_asks`` may wait
    for a place; more are refused at once. ``deadline`` is in seconds, from the request's arrival to its last byte.

    As many searches may wait as 64 callers make: a longer queue would only make everyone in it wait longer, and whoever
    comes when the rush is over wait behind it.
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


class Places:
    """The places of searches and those of answers, the figures, and whether the server is going."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.searches = Gate("search", self.limits.searches, self.limits.queued_searches)
        self.asks = Gate("ask", self.limits.asks, self.limits.queued_asks)
        self.draining = False
        self.ended = False

    @property
    def in_flight(self) -> int:
        """Requests that are worked on or wait to be."""
        return sum(gate.busy + gate.queued for gate in (self.searches, self.asks))

    def drain(self) -> None:
        """Say from now on that the server is going; what was begun goes on. From any thread, also a signal's."""
        self.draining = True

    def end(self) -> None:
        """Give up what still runs: each such request is told so."""
        self.ended = True

    def refuse_when_draining(self) -> None:
        """Raise :class:`Stopping` where the server is going."""
        if self.draining:
            raise Stopping

    def patience(self, gone: Callable[[], Awaitable[bool]] = stays) -> Patience:
        """Return how long a request that has just come is waited for; ``gone`` says that its client has left."""
        seconds = self.limits.deadline
        until = asyncio.get_running_loop().time() + seconds
        return Patience(until, seconds, lambda: self.ended, gone)

    async def run(
        self,
        gate: Gate,
        work: Callable[[], _Done],
        gone: Callable[[], Awaitable[bool]] = stays,
        give_up: Callable[[], None] | None = None,
    ) -> _Done:
        """Return what ``work`` returns, run in its turn at ``gate`` for as long as a request may take.

        ``gone`` says that nobody waits for it any more, and ``give_up`` is called once nobody does. Raises
        :class:`Stopping` where the server is going, and as :meth:`Gate.run` does.
        """
        try:
            self.refuse_when_draining()
            return await gate.run(work, self.patience(gone), give_up)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    def scrape(self) -> bytes:
        """Return the figures as they are now."""
        for gate in (self.searches, self.asks):
            self.metrics.work(gate.stage, gate.queued, gate.busy)
        return self.metrics.text()

    def close_gates(self) -> None:
        """Take no more work; what runs is not waited for."""
        for gate in (self.searches, self.asks):
            gate.close()
