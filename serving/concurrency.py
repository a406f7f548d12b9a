"""Parallel calls in threads, a limit of the threads that compute at once, and a token that cancels work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

PARALLEL_CALLS = 4
"""The number of calls that :func:`parallel_map` makes at a time."""


class ProcessorShare:
    """Turns on the processors for one kind of work: at most ``turns`` of its threads compute at the same time.

    A thread gives up its turn while it waits in a block of :func:`waiting`.

    Args:
        turns: The number of turns.
        is_limited: Returns whether the limit applies now. It is called when a thread wants a turn and when a turn ends.
    """

    def __init__(self, turns: int, is_limited: Callable[[], bool] = lambda: True) -> None:
        self._turns = turns
        self._is_limited = is_limited
        self._changed = threading.Condition()
        self._computing = 0

    def run(self, work: Callable[[], _Made]) -> _Made:
        """Wait for a turn and return what ``work`` returns."""
        self._take_turn()
        _THREAD.share = self
        try:
            return work()
        finally:
            _THREAD.share = None
            self._end_turn()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Give up the calling thread's turn for the ``with`` block. Only :func:`waiting` calls this."""
        _THREAD.share = None
        self._end_turn()
        try:
            yield
        finally:
            self._take_turn()
            _THREAD.share = self

    def _take_turn(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._computing < self._turns or not self._is_limited())
            self._computing += 1

    def _end_turn(self) -> None:
        with self._changed:
            self._computing -= 1
            self._changed.notify_all()


_THREAD = threading.local()
"""Its ``share`` is the :class:`ProcessorShare` in which the current thread has a turn, or None."""


@contextmanager
def waiting() -> Iterator[None]:
    """Give up the calling thread's turn on the processors, if it has one, for a ``with`` block that only waits.

    A thread must wait in such a block whenever it waits for a language model, or for another thread that may need a
    turn. The block ends by waiting for a new turn. So the caller must hold no lock that a thread with a turn may need.
    """
    share: ProcessorShare | None = getattr(_THREAD, "share", None)
    if share is None:
        yield
    else:
        with share.given_up():
            yield


def parallel_map(make: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """Call ``make`` with each item, in parallel threads, and return the results in the order of the items.

    If calls fail, the exception of the first failed item is raised. If the calling thread has a turn on the
    processors, the threads take their turns from the same :class:`ProcessorShare`.
    """
    if len(items) < 2:
        return [make(item) for item in items]
    share: ProcessorShare | None = getattr(_THREAD, "share", None)
    in_turn = make if share is None else lambda item: share.run(partial(make, item))
    with waiting(), ThreadPoolExecutor(min(PARALLEL_CALLS, len(items)), thread_name_prefix="parallel") as workers:
        return list(workers.map(in_turn, items))


class CancellationToken:
    """A request to stop. Any thread can make it, even before there is anything to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._cancelled = False

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` on cancellation; at once if the token is cancelled already."""
        with self._lock:
            self._callbacks.append(callback)
            cancelled = self._cancelled
        if cancelled:
            callback()

    def cancel(self) -> None:
        """Cancel."""
        with self._lock:
            self._cancelled = True
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()
