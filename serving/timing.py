"""StageTimer: seconds per named stage."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

_Step = TypeVar("_Step")


class Stopwatch:
    """Collects the time spent in named stages, in the order they began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time the block takes to the stage called ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add ``seconds``, measured elsewhere, to the stage called ``name``."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def over(self, name: str, steps: Generator[_Step, None, None]) -> Iterator[_Step]:
        """Yield the steps, adding the time each takes to come; what is done between two of them does not count."""
        with closing(steps):
            while True:
                with self.stage(name):
                    step = next(steps, None)
                if step is None:
                    return
                yield step
