"""StageTimer: seconds spent in each named stage of a question."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(slots=True)
class StageTimer:
    """Adds up the seconds of named stages; ``seconds`` has them in the order in which the stages first ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the stage ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def add(self, name: str, seconds: float) -> None:
        """Add ``seconds``, measured elsewhere, to the stage ``name``."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def time_iter(self, name: str, items: Generator[_Item, None, None]) -> Iterator[_Item]:
        """Yield the items, adding the time each takes to come; what the caller does between two does not count."""
        with closing(items):
            while True:
                with self.stage(name):
                    item = next(items, None)
                if item is None:
                    return
                yield item
