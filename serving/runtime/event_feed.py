"""EventFeed: passes the events of a run from worker threads to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, Generic, TypeVar

from shrag.serving.event_run import EventRun
from shrag.serving.runtime.admission import AdmissionQueue, Deadline

KEEP_ALIVE_SECONDS = 15.0

_Event = TypeVar("_Event")
_Done = TypeVar("_Done")


class EventFeed(Generic[_Event]):
    """A run whose events are sent as they are made; ``generation`` is the generation of the index.

    A cached run needs no queue. The owner must call :meth:`leave` at the end, even if it took no event.
    """

    def __init__(self, run: EventRun[_Event], generation: int, queue: AdmissionQueue | None) -> None:
        """Make a feed of ``run``. The caller has just taken a slot of ``queue`` for it."""
        self.generation = generation
        self.cached = run.cached
        self._run = run
        self._queue = queue
        self._entered = asyncio.get_running_loop().time()
        self._step: asyncio.Future[Any] | None = None

    async def events(
        self,
        deadline: Deadline,
        observe: Callable[[_Event], None] = lambda _: None,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> AsyncGenerator[_Event | None, None]:
        """Yield the events, and None whenever ``keep_alive`` seconds pass without one. At the end, close the run.

        Args:
            deadline: How long the whole stream may take.
            observe: Called with each event.
            keep_alive: Seconds.

        Raises:
            Exception: What the run or :meth:`Deadline.wait` raises.
        """
        loop = asyncio.get_running_loop()
        try:
            while True:
                if self._queue is None:
                    event = next(self._run, None)
                else:
                    taken = self._submit(self._queue, partial(next, self._run, None))
                    while not await deadline.wait(taken, keep_alive):
                        yield None
                    event = taken.result()
                if event is None:
                    return
                observe(event)
                yield event
                deadline.check(loop.time())
        finally:
            self._run.close()

    async def start(self, deadline: Deadline) -> None:
        """Begin the run in a thread, since that may wait; raises what the run or :meth:`Deadline.wait` raises."""
        if self._queue is not None:
            begun = self._submit(self._queue, self._run.start)
            await deadline.wait(begun)
            begun.result()

    def leave(self) -> None:
        """Close the run. Give the slot back once its thread is free, as :meth:`AdmissionQueue.run` does."""
        self._run.close()
        queue = self._queue
        if queue is None:
            return

        def give_back(_: object = None) -> None:
            queue.leave(asyncio.get_running_loop().time() - self._entered)

        if self._step is None or self._step.done():
            give_back()
        else:
            self._step.add_done_callback(give_back)

    def _submit(self, queue: AdmissionQueue, step: Callable[[], _Done]) -> asyncio.Future[_Done]:
        """Begin a step of the run in a thread."""
        taken = queue.submit(step)
        taken.add_done_callback(_retrieve)
        self._step = taken
        return taken


async def open_feed(
    run: EventRun[_Event], generation: int, queue: AdmissionQueue | None, deadline: Deadline
) -> EventFeed[_Event]:
    """Take a slot of ``queue``, begin the run, and return its feed. The caller must call :meth:`EventFeed.leave`.

    Raises what :meth:`AdmissionQueue.enter` and :meth:`EventFeed.start` raise; the run is closed then.
    """
    try:
        if queue is not None:
            await queue.enter(deadline)
    except BaseException:
        run.close()
        raise
    feed = EventFeed(run, generation, queue)
    try:
        await feed.start(deadline)
    except BaseException:
        feed.leave()
        raise
    return feed


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a step, so that asyncio does not report it if nobody waits for the step."""
    if not done.cancelled():
        done.exception()
