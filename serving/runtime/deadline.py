"""Deadline of one request: how long work in a thread is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from shrag.serving.errors import ClientDisconnected, DeadlineExceeded, ShuttingDown

_POLL_SECONDS = 0.25


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
