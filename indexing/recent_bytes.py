"""Stored records read lately, so that one that many questions find is read and unpacked by Lucene once.

They are kept as they are stored: decoding one takes 8 µs and reading one 30, and decoded they would take some six
times the memory, in objects that every collection of garbage has to walk through.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

MOST_BYTES = 32 << 20
"""Some 20,000 abstracts with their terms."""


class RecentBytes:
    """What was read last, by its place in the index, in at most ``most_bytes``. Safe to share between threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, place: int) -> bytes | None:
        """Return what was read at ``place``, None where it is not kept."""
        with self._changing:
            found = self._kept.get(place)
            if found is not None:
                self._kept.move_to_end(place)
            return found

    def keep(self, place: int, stored: bytes) -> None:
        """Keep it, and drop what was not asked for the longest; not where it alone would take a tenth of the room."""
        if len(stored) > self._most_bytes // 10:
            return
        with self._changing:
            if place in self._kept:
                return
            self._kept[place] = stored
            self._bytes += len(stored)
            while self._bytes > self._most_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped)

    @property
    def bytes(self) -> int:
        """The bytes kept."""
        return self._bytes
