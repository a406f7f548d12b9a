"""Work done in parallel threads, and a token that cancels it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

PARALLEL_CALLS = 4
"""Calls that :func:`parallel_map` makes at a time."""


def parallel_map(make: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """Return what ``make`` makes of each item, in their order; raises what the first of them that fails raises."""
    if len(items) < 2:
        return [make(item) for item in items]
    with ThreadPoolExecutor(min(PARALLEL_CALLS, len(items)), thread_name_prefix="parallel") as workers:
        return list(workers.map(make, items))


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
