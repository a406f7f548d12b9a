"""Work that does not wait for one another, done at once: calls of a language model, searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
