"""EventRun: events that one thread takes and any thread may cancel; and work done in parallel threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

_Item = TypeVar("_Item")
_Item_co = TypeVar("_Item_co", covariant=True)
_Made = TypeVar("_Made")

PARALLEL_CALLS = 4
"""Calls that :func:`parallel_map` makes at a time."""


class ClosableIterator(Protocol[_Item_co]):
    """An iterator that can be ended before its last item, as a generator can."""

    def __next__(self) -> _Item_co:
        """Return the next item."""

    def close(self) -> None:
        """End it."""


class EventRun(Generic[_Item]):
    """The events of one question as they come. One thread takes them; :meth:`close` may be called by any.

    Nothing is done before the first event is taken, or before :meth:`start`.
    """

    def __init__(
        self,
        begin: Callable[[], ClosableIterator[_Item]],
        cancel: Callable[[], None] = lambda: None,
        *,
        cached: bool = False,
    ) -> None:
        """Make a run.

        Args:
            begin: Returns the events; called once, by the thread that takes the first of them.
            cancel: Stops what the next event waits for; called where the run is closed before its end.
            cached: Whether the events were made before, so that no work is done for them.
        """
        self.cached = cached
        self._begin: Callable[[], ClosableIterator[_Item]] | None = begin
        self._cancel: Callable[[], None] | None = cancel
        self._events: ClosableIterator[_Item] | None = None
        self._lock = threading.Lock()
        self._taking = False
        self._closed = False
        self._ended = False
        self._callbacks: list[Callable[[], None]] = []

    def start(self) -> None:
        """Begin, where that has not been done. Raises what beginning raises, and ends then."""
        if self._enter():
            failed = True
            try:
                self._opened()
                failed = False
            finally:
                self._leave(ended=failed)

    def __iter__(self) -> Iterator[_Item]:
        """Return itself."""
        return self

    def __next__(self) -> _Item:
        """Return the next event; raises :class:`StopIteration` behind the last, and once it is closed."""
        if not self._enter():
            raise StopIteration
        last = True
        try:
            event = next(self._opened())
            last = False
        finally:
            closed = self._leave(ended=last)
        if closed:
            raise StopIteration
        return event

    def close(self) -> None:
        """End the run: at once, or where an event is being taken, as soon as that has come. Does not wait for it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            finish = not self._taking
            cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()
        if finish:
            self._finish()

    def on_end(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called once the run has ended, however it did; at once where it has."""
        with self._lock:
            if not self._ended:
                self._callbacks.append(callback)
                return
        callback()

    def map(self, make: Callable[[_Item], Iterable[_Made]]) -> EventRun[_Made]:
        """Return the run of what ``make`` makes of each event; the two end together."""

        def begin() -> Generator[_Made, None, None]:
            self.start()
            return (made for event in self for made in make(event))

        mapped = EventRun(begin, self.close, cached=self.cached)
        mapped.on_end(self.close)
        return mapped

    def _opened(self) -> ClosableIterator[_Item]:
        begin, self._begin = self._begin, None
        if begin is not None:
            self._events = begin()
        if self._events is None:
            raise StopIteration
        return self._events

    def _enter(self) -> bool:
        """Return whether an event may be taken; then no other thread finishes the run meanwhile."""
        with self._lock:
            self._taking = not self._closed
            return self._taking

    def _leave(self, *, ended: bool) -> bool:
        """Say that the event has come, or that there is none; return whether the run was closed meanwhile."""
        with self._lock:
            self._taking = False
            closed = self._closed
            self._closed = closed or ended
        if closed or ended:
            self._finish()
        return closed

    def _finish(self) -> None:
        # What it holds is let go of, since an engine may be closed behind it.
        events, self._events, self._begin, self._cancel = self._events, None, None, None
        try:
            if events is not None:
                events.close()
        finally:
            with self._lock:
                self._ended = True
                callbacks, self._callbacks = self._callbacks, []
            for callback in callbacks:
                callback()


class CancellationToken:
    """A request to stop that any thread may make, also before there is anything to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callback: Callable[[], None] | None = None
        self._cancelled = False

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called on cancellation; at once where that has been."""
        with self._lock:
            self._callback = callback
            cancelled = self._cancelled
        if cancelled:
            callback()

    def cancel(self) -> None:
        """Cancel."""
        with self._lock:
            self._cancelled = True
            callback = self._callback
        if callback is not None:
            callback()


def parallel_map(make: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """Return what ``make`` makes of each item, in their order; raises what the first of them that fails raises."""
    if len(items) < 2:
        return [make(item) for item in items]
    with ThreadPoolExecutor(min(PARALLEL_CALLS, len(items)), thread_name_prefix="parallel") as workers:
        return list(workers.map(make, items))
