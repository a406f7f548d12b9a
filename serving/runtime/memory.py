"""Memory that is free inside the process: keep little of it, and give it back to the system."""

from __future__ import annotations

import ctypes
import gc

_ARENA_MAX = -8
"""mallopt(3)."""

_ARENAS = 2


def limit_malloc_arenas() -> None:
    """Let threads take memory from the same few arenas; for a server, before it has threads.

    glibc lets each have one of its own, up to eight a processor: what one thread frees another cannot use, and a
    process of some forty grows for as long as it takes each of them to meet its largest answer.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, _ARENAS)


def trim_malloc() -> None:
    """Collect garbage, and give back the pages that nothing is left on.

    glibc keeps what was freed below anything still in use: what a closed index took would stay with the process. Other
    C libraries have no such call, nor the one above; nothing is done there.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
