"""How long each stage of a build was at work, beside how long the build took: the stage near 100 % sets the pace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Busy:
    """Seconds at work by stage. A stage of several lanes (workers) is busy when all of them are."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._seconds: dict[str, float] = {}
        self._lanes: dict[str, int] = {}

    def add(self, stage: str, seconds: float, lanes: int = 1) -> None:
        """Add work that was done in one of a stage's lanes."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._lanes[stage] = lanes

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """Count the time spent inside as work of ``stage``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - started)

    def shares(self) -> dict[str, float]:
        """Return, by stage, the share of the time since the start that it was at work, 0 to 1."""
        passed = max(time.monotonic() - self._started, 1e-9)
        return {stage: round(seconds / self._lanes[stage] / passed, 3) for stage, seconds in self._seconds.items()}
