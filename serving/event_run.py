"""EventRun: a cancellable run of events. SingleFlight: the work that identical runs at the same time share.

No subscriber leads. Whoever needs the next event, and finds no thread that works on it, takes the step for all. So a
slow reader delays nobody, and any subscriber may leave. The work is closed when the last one has left.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from shrag.messages.text import Text
from shrag.serving.concurrency import waiting
from shrag.serving.errors import QuestionAbandoned

_Event = TypeVar("_Event")
_Event_co = TypeVar("_Event_co", covariant=True)
_Made = TypeVar("_Made")


class ClosableIterator(Protocol[_Event_co]):
    """An iterator that can be closed before its last item, as a generator can."""

    def __next__(self) -> _Event_co:
        """Return the next item."""

    def close(self) -> None:
        """End the iteration."""


class SingleFlight(Generic[_Event]):
    """Work that makes events for one :class:`EventRun` or, with :meth:`subscribe`, for several. Thread-safe.

    The work begins when a run is started or takes its first event. ``events`` are the events made so far.
    """

    def __init__(
        self,
        begin: Callable[[], ClosableIterator[_Event]],
        cancel: Callable[[], None] = lambda: None,
        on_done: Callable[[SingleFlight[_Event], tuple[_Event, ...] | None], None] = lambda _, __: None,
    ) -> None:
        """Prepare the work; the caller makes the first run of it.

        Args:
            begin: Returns the iterator of events. It is called once, by a thread that may wait.
            cancel: Stops what the next event waits for. It is called when the last run is closed before the end.
            on_done: Called once: with all events, or with None if the work failed or all runs were closed.
        """
        self.events: list[_Event] = []
        self.started = False
        self._begin: Callable[[], ClosableIterator[_Event]] | None = begin
        self._iterator: ClosableIterator[_Event] | None = None
        self._cancel = cancel
        self._on_done = on_done
        self._changed = threading.Condition()
        self._working = False
        self._ended = False
        self._error: Exception | None = None
        self._runs = 1
        self._abandoned = False

    def subscribe(self) -> EventRun[_Event] | None:
        """Return one more run of all events, or None if the work failed or all its runs were closed."""
        with self._changed:
            if self._abandoned or self._error is not None:
                return None
            self._runs += 1
        return EventRun(self)

    def unsubscribe(self) -> None:
        """Count a closed run. Only :class:`EventRun` calls this. The last one ends the work, after a step under way."""
        with self._changed:
            self._runs -= 1
            self._changed.notify_all()  # the run may be waiting
            if self._runs or self._ended or self._error is not None:
                return
            self._abandoned = True
            working = self._working
        self._on_done(self, None)
        self._cancel()
        if not working:
            self._close()

    def reach(self, events: int, run: EventRun[_Event]) -> bool:
        """Take steps, or wait while another thread takes them, until the work has begun and made that many ``events``.

        Returns:
            False if the work ended with fewer events, or ``run`` was closed.

        Raises:
            Exception: What the work raised.
        """

        def others_work() -> bool:
            return self._working and (not self.started or len(self.events) < events) and not run.closed

        while True:
            if others_work():
                with waiting(), self._changed:
                    self._changed.wait_for(lambda: not others_work())
            with self._changed:
                if others_work():
                    continue
                if run.closed:
                    return False
                if self.started and len(self.events) >= events:
                    return True
                if self._error is not None:
                    raise self._error
                if self._ended:
                    return False
                self._working = True
            self._step()

    def _step(self) -> None:
        """Take the next step for all runs. If this thread is stopped, the others get :class:`QuestionAbandoned`."""
        event: _Event | None = None
        error: Exception | None = None
        stopped = True
        try:
            if self._begin is not None:
                self._iterator = self._begin()
                self._begin = None
            elif self._iterator is not None:
                event = next(self._iterator, None)
            stopped = False
        except Exception as failure:
            error = failure
        finally:
            if stopped and error is None:
                error = QuestionAbandoned(Text("The question was stopped while it was answered: ask it again."))
            with self._changed:
                self._working = False
                self._error = error
                if event is not None:
                    self.events.append(event)
                self._ended = self.started and event is None and error is None
                self.started = self.started or error is None
                done = self._ended or error is not None
                abandoned = self._abandoned
                self._changed.notify_all()
            if abandoned:
                self._close()
            elif done:
                self._iterator = self._begin = None  # release what made the events
                self._on_done(self, tuple(self.events) if self._ended else None)

    def _close(self) -> None:
        """Close the iterator, and release what makes the events."""
        iterator, self._iterator, self._begin = self._iterator, None, None
        if iterator is not None:
            iterator.close()


class EventRun(Generic[_Event]):
    """The events of one question as they are made. One thread takes them; any thread may :meth:`close` the run."""

    def __init__(self, flight: SingleFlight[_Event], *, cached: bool = False) -> None:
        """Make a run of the events of ``flight``; ``cached`` says that they need no work."""
        self.cached = cached
        self.closed = False
        self._flight = flight
        self._taken = 0
        self._lock = threading.Lock()
        self._taking = False
        self._ended = False
        self._callbacks: list[Callable[[], None]] = []

    def start(self) -> None:
        """Begin the work unless another run has begun it; raises what its beginning raises."""
        self._reach(0)

    def __iter__(self) -> Iterator[_Event]:
        """Return itself."""
        return self

    def __next__(self) -> _Event:
        """Return the next event; raises :class:`StopIteration` after the last event, and on a closed run."""
        if not self._reach(self._taken + 1):
            raise StopIteration
        self._taken += 1
        return self._flight.events[self._taken - 1]

    def take_all(self) -> Sequence[_Event]:
        """Take the events that are left and return them; raises what the work raises.

        A closed run returns none. A run that is closed meanwhile returns the events made until then.
        """
        if self.closed:
            return ()
        self._reach(sys.maxsize)
        taken = self._flight.events[self._taken :]
        self._taken += len(taken)
        return taken

    def close(self) -> None:
        """Close the run without waiting. If a thread is taking an event, the run ends once that event is made."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            taking = self._taking
        self._flight.unsubscribe()
        if not taking:
            self._end()

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the run ends, for whatever reason; at once if it has ended."""
        with self._lock:
            if not self._ended:
                self._callbacks.append(callback)
                return
        callback()

    def map(self, make: Callable[[_Event], Iterable[_Made]]) -> EventRun[_Made]:
        """Return a run of what ``make`` makes of each event. The two runs end together."""

        def begin() -> Generator[_Made, None, None]:
            self.start()
            return (made for event in self for made in make(event))

        mapped = EventRun(SingleFlight(begin, self.close), cached=self.cached)
        mapped.on_end(self.close)
        return mapped

    def _reach(self, events: int) -> bool:
        """Return whether there are that many ``events``. If there are not, or if the work fails, end the run."""
        with self._lock:
            taking = self._taking = not self.closed
        if not taking:
            return False
        reached = False
        try:
            reached = self._flight.reach(events, self)
        except BaseException:
            self.close()
            raise
        finally:
            with self._lock:
                self._taking = False
                closed = self.closed
                self.closed = closed or not reached
            if closed or not reached:
                self._end()
        return reached and not closed

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
