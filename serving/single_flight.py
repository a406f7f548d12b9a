"""Run identical concurrent questions once and share the events.

Nobody leads: whoever needs the next event, and finds nobody at work on it, takes that step for all. So one who reads
slowly holds nobody up, one who leaves hands over by leaving, and the work is given up when the last one leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator

from shrag.serving.concurrency import Asking
from shrag.serving.errors import QuestionAbandoned
from shrag.serving.events import Event

Outcome = tuple[Event, ...] | None
"""All events of a question that was answered to its end, None where it failed or everybody left."""


class SharedQuestion:
    """A question being answered. Safe to share between threads; ``over`` is told the outcome, once."""

    def __init__(self, asking: Asking, over: Callable[[SharedQuestion, Outcome], None]) -> None:
        self._asking = asking
        self._over = over
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._working = False
        self._ended = False
        self._error: Exception | None = None
        self._guests = 0
        self._abandoned = False

    def join(self) -> Asking | None:
        """Return its events from the first one on, None where it was given up or has failed: ask it anew then."""
        with self._changed:
            if self._abandoned or self._error is not None:
                return None
            self._guests += 1
        guest = _Guest(self)
        return Asking(guest.events(), guest, ended=guest.leave)

    def event(self, place: int, guest: _Guest) -> Event | None:
        """Return the event at ``place``, None behind the last and to a guest that has left.

        Raises what answering raised.
        """
        while True:
            with self._changed:
                while self._working and place >= len(self._events) and not guest.gone:
                    self._changed.wait()
                if guest.gone:
                    return None
                if place < len(self._events):
                    return self._events[place]
                if self._error is not None:
                    raise self._error
                if self._ended:
                    return None
                self._working = True
            self._step()

    def leave(self) -> None:
        """Count a guest out. The last one gives the work up; a step under way ends first."""
        with self._changed:
            self._guests -= 1
            self._changed.notify_all()  # the one who leaves may be waiting
            if self._guests or self._ended or self._error is not None:
                return
            self._abandoned = True
            working = self._working
        self._over(self, None)
        self._asking.cancel()
        if not working:
            self._asking.close()

    def _step(self) -> None:
        """Take the next event for all. What one guest's thread is stopped by is a failure to the others."""
        event: Event | None = None
        error: Exception | None = QuestionAbandoned("The question was stopped while it was answered: ask it again.")
        try:
            event = next(self._asking, None)
            error = None
        except Exception as failure:
            error = failure
        finally:
            with self._changed:
                self._working = False
                self._error = error
                if event is not None:
                    self._events.append(event)
                self._ended = event is None and error is None
                abandoned = self._abandoned
                self._changed.notify_all()
            if abandoned:
                self._asking.close()
            elif error is not None:
                self._over(self, None)
            elif event is None:
                self._over(self, tuple(self._events))


class _Guest:
    """One who asks: where it stands among the events, and whether it has left."""

    def __init__(self, question: SharedQuestion) -> None:
        self._question = question
        self._leaving = threading.Lock()
        self.gone = False

    def events(self) -> Generator[Event, None, None]:
        place = 0
        while (event := self._question.event(place, self)) is not None:
            place += 1
            yield event

    def cancel(self) -> None:
        """Leave, from any thread."""
        self.leave()

    def leave(self) -> None:
        """Leave, once."""
        with self._leaving:
            if self.gone:
                return
            self.gone = True
        self._question.leave()
