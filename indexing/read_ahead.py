"""An iterator whose next item is made while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

_Item = TypeVar("_Item")


@contextmanager
def read_ahead(items: Iterator[_Item]) -> Iterator[Iterator[_Item]]:
    """Yield an iterator over ``items``, one ahead in a thread; what making an item raises is raised in its turn."""
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as thread:
        end = object()

        def ahead() -> Iterator[_Item]:
            coming = thread.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = thread.submit(next, items, end)
                yield item  # type: ignore[misc]

        yield ahead()
