"""Where agents' tools are worked on: as many at once as may be, each as long as it may take, none once it stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from shrag.serving.admission import Gate
from shrag.serving.errors import NotServed, Stopping
from shrag.serving.limits import Limits
from shrag.serving.metrics import Metrics
from shrag.serving.patience import Patience

_Done = TypeVar("_Done")


async def _stays() -> bool:
    return False


class ToolWork:
    """The places of searches and of answers, as :class:`~shrag.serving.service.Service` has them for questions."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.searches = Gate("search", self.limits.searches, self.limits.queued_searches)
        self.asks = Gate("ask", self.limits.asks, self.limits.queued_asks)
        self.draining = False
        self._ended = False

    @property
    def in_flight(self) -> int:
        """Calls that are worked on or wait to be."""
        return sum(gate.busy + gate.queued for gate in (self.searches, self.asks))

    def drain(self) -> None:
        """Take no more calls; those begun go on. From any thread, also a signal's."""
        self.draining = True

    def end(self) -> None:
        """Give up what still runs: each such call is told so."""
        self._ended = True

    async def run(
        self,
        gate: Gate,
        work: Callable[[], _Done],
        give_up: Callable[[], None],
        gone: Callable[[], Awaitable[bool]] = _stays,
    ) -> _Done:
        """Return what ``work`` returns, run in its turn; ``gone`` says that nobody waits for it any more.

        Raises :class:`NotServed` and as :meth:`Gate.run` does; the work is given up then.
        """
        until = asyncio.get_running_loop().time() + self.limits.deadline
        try:
            if self.draining:
                raise Stopping("The server is being stopped: ask again once it is back.", retry_after=5)
            patience = Patience(until, self.limits.deadline, lambda: self._ended, gone)
            return await gate.run(work, patience, give_up)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    def scrape(self) -> bytes:
        """Return the figures as they are now."""
        for gate in (self.searches, self.asks):
            self.metrics.work(gate.stage, gate.queued, gate.busy)
        return self.metrics.text()

    def close(self) -> None:
        """Take no more work; what runs is not waited for."""
        for gate in (self.searches, self.asks):
            gate.close()
