"""How much the server takes on at once, and for how long."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def searches_at_once(workers: int = 1, waiting: int = 0) -> int:
    """Return how many searches one of so many processes works on at once.

    One process needs a few more than it has interpreters, for while one waits for Lucene another can run. Where a
    language model chooses the keywords, most of a search is ``waiting`` for it: so many at least may do so.
    """
    return max(4, (os.cpu_count() or 1) // workers, waiting)


@dataclass(frozen=True, slots=True)
class Limits:
    """Searches and answers have each their own places, so that slow answers do not hold searches up.

    ``searches`` and ``asks`` are worked on at once, in a thread each; ``queued_searches`` and ``queued_asks`` may wait
    for a place; more are refused at once. ``deadline`` is in seconds, from the request's arrival to its last byte.

    As many searches may wait as 64 callers make: a longer queue would only make everyone in it wait longer, and whoever
    comes when the rush is over wait behind it.
    """

    searches: int = field(default_factory=searches_at_once)
    queued_searches: int = 64
    asks: int = 16
    queued_asks: int = 128
    deadline: float = 120.0

    def __post_init__(self) -> None:
        for name in ("searches", "asks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)} and must be at least 1")
        for name in ("queued_searches", "queued_asks"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)} and must not be below 0")
        if not self.deadline > 0:
            raise ValueError(f"deadline is {self.deadline} and must be above 0")
