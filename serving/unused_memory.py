"""Memory that is free inside the process, given back to the system."""

from __future__ import annotations

import ctypes
import gc


def give_back_memory() -> None:
    """Collect garbage, and let go of the pages that nothing is left on.

    glibc keeps what was freed below anything still in use: what a closed index took would stay with the process. Other
    C libraries have no such call; nothing is given back there.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
