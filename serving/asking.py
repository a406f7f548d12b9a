"""One question being answered: its events as they come, and a way to stop it from any thread."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

from shrag.serving.events import Event
from shrag.serving.one_question import OneQuestion


class Asking(Iterator[Event]):
    """The events of one question. They are taken, and it is closed, by one thread; :meth:`cancel` is for any."""

    def __init__(self, events: Generator[Event, None, None], model: OneQuestion | None) -> None:
        self._events = events
        self._model = model
        self._cancelled = threading.Event()

    def __next__(self) -> Event:
        """Return the next event; raises :class:`StopIteration` behind the last, and once it is cancelled."""
        if self._cancelled.is_set():
            raise StopIteration
        event = next(self._events)
        if self._cancelled.is_set():
            raise StopIteration
        return event

    def close(self) -> None:
        """End it; a model that is writing stops."""
        self._cancelled.set()
        self._events.close()

    def cancel(self) -> None:
        """End it from another thread: the model is let go of at once, a search that runs is not waited for."""
        self._cancelled.set()
        if self._model is not None:
            self._model.cancel()
