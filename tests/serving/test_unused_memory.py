from __future__ import annotations

import os
import platform

import pytest

from shrag.serving.unused_memory import give_back_memory
from tests.serving.process_figures import resident_mib


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to")
def test_what_was_freed_below_something_in_use_goes_back_to_the_system() -> None:
    give_back_memory()
    before = resident_mib(os.getpid())
    freed = [b"x" * 100_000 for _ in range(500)]  # below the size from which each has pages of its own
    kept = b"y" * 100_000
    del freed
    held = resident_mib(os.getpid())
    give_back_memory()
    assert held > before + 30
    assert resident_mib(os.getpid()) < before + 10
    assert len(kept) == 100_000
