from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from shrag.serving.unused_memory import give_back_memory
from tests.serving.process_figures import resident_mib

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to")

_THREADS = """
import re, sys, threading
from pathlib import Path
from shrag.serving.unused_memory import share_free_memory
if sys.argv[1] == "shared":
    share_free_memory()
threads, all_here = 12, threading.Barrier(12)
def take():
    held = [b"x" * 5_000 for _ in range(100)]
    all_here.wait()
taking = [threading.Thread(target=take) for _ in range(threads)]
[each.start() for each in taking]
[each.join() for each in taking]
lines = Path("/proc/self/maps").read_text().splitlines()
begins = [int(line.partition("-")[0], 16) for line in lines if " rw-p " in line and len(line.split()) == 5]
print(sum(begin % (64 << 20) == 0 for begin in begins))  # each of glibc's places begins at a multiple of 64 MiB
"""


def test_threads_take_memory_from_the_same_few_places() -> None:
    def places(how: str) -> int:
        command = [sys.executable, "-c", _THREADS, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert places("shared") < 2
    assert places("apart") > 4


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
