"""Where requests are worked on: as many at once as may be, each as long as it may take, none once the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from shrag.serving.admission import Gate
from shrag.serving.errors import NotServed, Stopping
from shrag.serving.limits import Limits
from shrag.serving.metrics import Metrics
from shrag.serving.patience import Patience, stays

_Done = TypeVar("_Done")


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
