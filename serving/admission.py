"""Who may be worked on: a bounded number at once, a bounded number waiting, everyone else refused at once."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from shrag.serving.errors import Overloaded
from shrag.serving.patience import Patience

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
