"""Disk-space check and stage utilisation."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shrag.corpora.files import DiskFull


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


# Of the corpus's decompressed bytes, at the largest over four corpora: Lucene's files twice, while they are merged, and
# the words that the build notes, of which it notes no more than so many.
_LUCENE_SHARE = 2.4
_WORDS_SHARE = 2.8
_MOST_WORDS_BYTES = 400 << 20
_LEAST = 1 << 20
_MARGIN = 1.3


def needed_bytes(corpus: int) -> int:
    """Return how many bytes a build takes at its largest, from the corpus's decompressed bytes."""
    return int(corpus * _LUCENE_SHARE) + min(int(corpus * _WORDS_SHARE), _MOST_WORDS_BYTES) + _LEAST


def check_room(index: Path, need: int) -> None:
    """Raise :class:`DiskFull` where less than 1.3 times ``need`` is free."""
    if shutil.disk_usage(index).free < need * _MARGIN:
        raise disk_full(index, need)


def disk_full(index: Path, need: int) -> DiskFull:
    """Return the error that says how much there is and how much it takes."""
    free = shutil.disk_usage(index).free
    return DiskFull(
        f"The disk is full: building index {index.name} takes about {int(need * _MARGIN):,} bytes and {free:,} are "
        f"free under {index}: free some space and run again."
    )
