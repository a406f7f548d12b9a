"""SingleFlight: identical questions asked at the same time are answered once, and all get the same events.

No subscriber leads. The one that needs the next event, and finds no thread at work on it, takes that step for all. So
a slow reader delays nobody, a subscriber that leaves needs no successor, and the run is closed when the last leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from shrag.serving.concurrency import EventRun
from shrag.serving.errors import QuestionAbandoned
from shrag.serving.events import Event

Outcome = tuple[Event, ...] | None
"""All events of a run that came to its end, None where it failed or was left by all."""


class SingleFlight:
    """A run that any number of subscribers share; ``events`` are those so far. Safe to share between threads."""

    def __init__(self, run: EventRun[Event], on_done: Callable[[SingleFlight, Outcome], None]) -> None:
        """Share ``run``; ``on_done`` is called once, with the outcome."""
        self._run = run
        self._on_done = on_done
        self._changed = threading.Condition()
        self.events: list[Event] = []
        self._steps = 0  # the first step begins the run, each other one takes an event
        self._working = False
        self._ended = False
        self._error: Exception | None = None
        self._subscribers = 0
        self._abandoned = False

    @property
    def started(self) -> bool:
        """Whether work on it has begun."""
        return self._steps > 0

    def subscribe(self) -> EventRun[Event] | None:
        """Return all its events as a run, None where it has failed or was left by all: begin another one then."""
        with self._changed:
            if self._abandoned or self._error is not None:
                return None
            self._subscribers += 1
        subscriber = Subscriber(self)
        return EventRun(subscriber.begin, subscriber.close)

    def unsubscribe(self) -> None:
        """Count a subscriber out; the run is closed behind the last one, a step under way ends first."""
        with self._changed:
            self._subscribers -= 1
            self._changed.notify_all()  # the one that leaves may be waiting
            if self._subscribers or self._ended or self._error is not None:
                return
            self._abandoned = True
        self._on_done(self, None)
        self._run.close()

    def reach(self, steps: int, subscriber: Subscriber) -> bool:
        """Take steps, or wait while another thread takes them, until there are so many.

        Returns:
            Whether there are: not behind the last event, and not to a subscriber that has left.

        Raises:
            Exception: What the run has raised.
        """
        while True:
            with self._changed:
                while self._working and self._steps < steps and not subscriber.left:
                    self._changed.wait()
                if subscriber.left:
                    return False
                if self._steps >= steps:
                    return True
                if self._error is not None:
                    raise self._error
                if self._ended:
                    return False
                self._working = True
            self._step()

    def _step(self) -> None:
        """Take the next step for all. What stops this thread is a failure to the other subscribers."""
        event: Event | None = None
        error: Exception | None = None
        stopped = True
        try:
            if not self._steps:
                self._run.start()
            else:
                event = next(self._run, None)
            stopped = False
        except Exception as failure:
            error = failure
        finally:
            if stopped and error is None:
                error = QuestionAbandoned("The question was stopped while it was answered: ask it again.")
            with self._changed:
                self._working = False
                self._error = error
                if event is not None:
                    self.events.append(event)
                self._ended = event is None and error is None and self._steps > 0
                self._steps += error is None and not self._ended
                done = (self._ended or error is not None) and not self._abandoned
                self._changed.notify_all()
            if done:
                self._on_done(self, tuple(self.events) if self._ended else None)


class Subscriber:
    """One reader of a shared run: its position among the events, and whether it has left."""

    def __init__(self, flight: SingleFlight) -> None:
        self._flight = flight
        self._position = 0
        self._leaving = threading.Lock()
        self.left = False

    def begin(self) -> Subscriber:
        """Return itself once the run has begun."""
        self._flight.reach(1, self)
        return self

    def __next__(self) -> Event:
        """Return the next event, taken by whichever subscriber needs it first."""
        if not self._flight.reach(self._position + 2, self):
            raise StopIteration
        self._position += 1
        return self._flight.events[self._position - 1]

    def close(self) -> None:
        """Leave, once, from any thread."""
        with self._leaving:
            if self.left:
                return
            self.left = True
        self._flight.unsubscribe()
