"""One answer that is streamed: its events, the place it takes, and the generation it is from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

from shrag.serving.admission import Gate
from shrag.serving.event_feed import Stoppable, feed
from shrag.serving.patience import Patience

_Happening_co = TypeVar("_Happening_co", covariant=True)
_Event = TypeVar("_Event")


class Begun(Stoppable[_Happening_co], Protocol[_Happening_co]):
    """What happens to a question, as :class:`~shrag.serving.asking.Asking` has it."""

    @property
    def cached(self) -> bool:
        """Whether it was made before, so that nothing is waited for."""


class Answering(Generic[_Event]):
    """Events that are still to come, of the index's ``generation``.

    Without a ``gate`` they are kept ones, which need no place and no thread. Whoever has it calls :meth:`leave` at the
    end, also where no event was ever taken.
    """

    def __init__(self, asking: Begun[_Event], generation: int, gate: Gate | None) -> None:
        self.generation = generation
        self.cached = asking.cached
        self._asking = asking
        self._gate = gate
        self._fed = False

    async def feed(
        self, patience: Patience, seen: Callable[[_Event], None] = lambda _: None
    ) -> AsyncGenerator[_Event | None, None]:
        """Yield the events as :func:`~shrag.serving.event_feed.feed` does."""
        self._fed = True
        if self._gate is None:
            for event in self._asking:
                seen(event)
                yield event
                patience.check(asyncio.get_running_loop().time())
            return
        events = feed(self._asking, self._gate.workers, patience, seen)
        async with aclosing(events):
            async for each in events:
                yield each

    def leave(self) -> None:
        """Give the place back. Events that nobody has begun to take are let go of: a client may leave that early."""
        if not self._fed:
            self._asking.close()
        if self._gate is not None:
            self._gate.leave()
