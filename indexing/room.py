"""Whether there is room on the disk for a build, asked before it starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from shrag.corpora.durable import DiskFull

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
