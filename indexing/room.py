"""Whether there is room on the disk for a build, asked before it starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from shrag.corpora.durable import DiskFull

# Of the corpus's decompressed bytes, measured over six corpora: the index, once more while its segments are merged
# into one, and the notes of the stage.
_SHARE = 3.0
_LEAST = 1 << 20
_MARGIN = 1.3


def needed_bytes(corpus: int) -> int:
    """Return how many bytes a build takes at its largest, from the corpus's decompressed bytes."""
    return int(corpus * _SHARE) + _LEAST


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
