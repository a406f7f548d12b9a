"""Move events from a worker thread to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

from shrag.serving.runtime.admission import Gate
from shrag.serving.runtime.deadline import Patience

KEEP_ALIVE_SECONDS = 15.0

_Happening_co = TypeVar("_Happening_co", covariant=True)
_Event = TypeVar("_Event")


class Stoppable(Protocol[_Happening_co]):
    """What happens, one by one, as :class:`~shrag.serving.concurrency.Asking` has it."""

    def __next__(self) -> _Happening_co:
        """Return what happens next."""

    def __iter__(self) -> Iterator[_Happening_co]:
        """Return itself."""

    def close(self) -> None:
        """End it, from the thread that takes what happens."""

    def cancel(self) -> None:
        """End it, from any thread."""


async def feed(
    asking: Stoppable[_Event],
    workers: Executor,
    patience: Patience,
    seen: Callable[[_Event], None] = lambda _: None,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> AsyncGenerator[_Event | None, None]:
    """Yield the events, and None whenever there was nothing for ``keep_alive`` seconds; ``seen`` is told each event.

    Raises what the question raises, and as :meth:`Patience.wait` does. However it ends, the question is let go of: a
    client may leave in the middle of a step, so what that waits for is let go of at once, and the rest is closed when
    the step is over, by a thread that may wait.
    """
    loop = asyncio.get_running_loop()
    taken: asyncio.Future[_Event | None] | None = None
    try:
        while True:
            taken = loop.run_in_executor(workers, next, asking, None)
            while not await patience.wait(taken, keep_alive):
                yield None
            event = taken.result()
            if event is None:
                return
            seen(event)
            yield event
            patience.check(loop.time())
    finally:
        asking.cancel()
        if taken is not None and not taken.done():
            taken.add_done_callback(lambda done: _close(done, asking, workers))
        else:
            asking.close()


def _close(step: asyncio.Future[_Event | None], asking: Stoppable[_Event], workers: Executor) -> None:
    if not step.cancelled():
        step.exception()  # seen: a step that was given up may fail as it likes
    try:
        workers.submit(asking.close)
    except RuntimeError:  # the workers are being closed: nothing else will come of it
        return


class Begun(Stoppable[_Happening_co], Protocol[_Happening_co]):
    """What happens to a question, as :class:`~shrag.serving.concurrency.Asking` has it."""

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
        """Yield the events as :func:`~shrag.serving.runtime.event_feed.feed` does."""
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
