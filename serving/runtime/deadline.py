"""Deadline and cancellation of one request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from shrag.serving.errors import ClientLeft, DeadlineExceeded, Stopping

_POLL_SECONDS = 0.25


async def stays() -> bool:
    """Say that the client has not left; for one that cannot be asked."""
    return False


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is waited for.

    ``until`` is by the loop's clock, ``seconds`` what that was from its arrival. ``stopped`` says that the server gives
    up what still runs, ``gone`` that the client has left.
    """

    until: float = float("inf")
    seconds: float = float("inf")
    stopped: Callable[[], bool] = lambda: False
    gone: Callable[[], Awaitable[bool]] = stays

    async def wait(self, work: asyncio.Future[Any], at_most: float = float("inf")) -> bool:
        """Wait until ``work`` is done, ``at_most`` so many seconds; return whether it is.

        Raises :class:`DeadlineExceeded`, :class:`Stopping` and :class:`ClientLeft`; the work goes on then.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + at_most
        while not work.done():
            left = min(until, self.until) - loop.time()
            await asyncio.wait([work], timeout=max(0.0, min(left, _POLL_SECONDS)))
            if work.done():
                break
            self.check(loop.time())
            if await self.gone():
                raise ClientLeft("The client has left.")
            if loop.time() >= until:
                return False
        return True

    def of_stream(self) -> Patience:
        """Return the same for a streamed answer, whose response finds out by itself that the client has left."""
        return replace(self, gone=stays)

    def check(self, now: float) -> None:
        """Raise where there is no reason to wait any longer."""
        if self.stopped():
            raise Stopping
        if now >= self.until:
            raise DeadlineExceeded(
                f"There was no whole answer within {self.seconds:g} s: ask again, or for fewer records."
            )
