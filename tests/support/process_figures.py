"""Descriptors, threads and memory of a process, from /proc."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MINUTES = float(os.environ.get("SHRAG_SOAK_MINUTES", "5"))
"""How long a process is watched under load in ``make soak``."""

WARM_SECONDS = 240.0
"""How long it is under load before: under 64 clients memory rises by 7 MiB in these minutes, and hardly after them."""


class Held(NamedTuple):
    """Counted at one moment. Java's own threads, which have names of their own, come and go and are not counted."""

    descriptors: int
    threads: int


def held(pid: int) -> Held:
    """Return what process ``pid`` holds now."""
    own = Path(f"/proc/{pid}")
    name = (own / "comm").read_text(encoding="utf-8")
    return Held(len(list((own / "fd").iterdir())), sum(_name(task) == name for task in (own / "task").iterdir()))


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text(encoding="utf-8")
    except OSError:  # it has ended
        return ""


def resident_mib(pid: int) -> float:
    """Return the memory of process ``pid`` that is in use and no file's, in MiB."""
    match = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert match
    return int(match.group(1)) / 1024


class MemoryWatch(threading.Thread):
    """Notes the memory of a process every half second until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self.noted: list[tuple[float, float]] = []

    def run(self) -> None:
        while not self._over.wait(0.5):
            self.noted.append((time.monotonic(), resident_mib(self._pid)))

    def stop(self) -> None:
        self._over.set()
        self.join()


def slope(noted: Sequence[tuple[float, float]]) -> float:
    """Return MiB a minute, by least squares over (second, MiB)."""
    middle = sum(second for second, _ in noted) / len(noted)
    mean = sum(mib for _, mib in noted) / len(noted)
    spread = sum((second - middle) ** 2 for second, _ in noted)
    return 60 * sum((second - middle) * (mib - mean) for second, mib in noted) / spread
