"""Cancellable event iterators and a parallel map."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from shrag.serving.events import Event


class Withdrawable(Protocol):
    """Work on a question that can be given up."""

    def cancel(self) -> None:
        """Give it up, from any thread."""


class Asking(Iterator[Event]):
    """The events of one question. They are taken, and it is closed, by one thread; :meth:`cancel` is for any.

    ``work`` is what a cancellation is passed on to. ``ended`` is called once: behind the last event, where answering
    fails, or when it is closed. ``cached`` says that the events were made before, and that nothing is waited for.
    """

    def __init__(
        self,
        events: Generator[Event, None, None],
        work: Withdrawable | None,
        ended: Callable[[], None] | None = None,
        *,
        cached: bool = False,
    ) -> None:
        self.cached = cached
        self._events = events
        self._work = work
        self._ended = ended
        self._cancelled = threading.Event()

    def __next__(self) -> Event:
        """Return the next event; raises :class:`StopIteration` behind the last, and once it is cancelled."""
        if self._cancelled.is_set():
            raise StopIteration
        try:
            event = next(self._events)
        except BaseException:
            self._end()
            raise
        if self._cancelled.is_set():
            raise StopIteration
        return event

    def close(self) -> None:
        """End it; a model that is writing stops."""
        self._cancelled.set()
        self._events.close()
        self._end()

    def cancel(self) -> None:
        """End it from another thread: the model is let go of at once, a search that runs is not waited for."""
        self._cancelled.set()
        if self._work is not None:
            self._work.cancel()

    def _end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()


def one_by_one(events: Iterable[Event]) -> Generator[Event, None, None]:
    """Yield ``events``, as :class:`Asking` takes them; where they can be closed, closing this closes them."""
    yield from events


class Withdrawal:
    """A way to stop a question from another thread, also before it was begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: Asking | None = None
        self._withdrawn = False

    def begun(self, asking: Asking) -> None:
        """Say what is to be stopped; at once where it was withdrawn already."""
        with self._lock:
            self._asking = asking
            withdrawn = self._withdrawn
        if withdrawn:
            asking.cancel()

    def withdraw(self) -> None:
        """Stop it."""
        with self._lock:
            self._withdrawn = True
            asking = self._asking
        if asking is not None:
            asking.cancel()


_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

AT_ONCE = 4
"""How many are worked on at a time."""


def side_by_side(work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """Return what ``work`` makes of each item, in their order; raises what the first of them that fails raises."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(AT_ONCE, len(items)), thread_name_prefix="side-by-side") as workers:
        return list(workers.map(work, items))
