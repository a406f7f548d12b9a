from __future__ import annotations

import os
import threading
from pathlib import Path

from shrag.indexing.jvm import detach_thread, java, start_java


def test_java_leaves_no_socket_and_no_counters_that_others_could_open() -> None:
    start_java()
    left = [*Path("/tmp").glob(f".java_pid{os.getpid()}*"), *Path("/tmp").glob(f"hsperfdata_*/{os.getpid()}")]
    assert left == []


def test_java_forgets_a_thread_that_says_it_ends() -> None:
    def visit() -> None:
        java("java.lang.System").nanoTime()
        detach_thread()

    known = java("java.lang.Thread").getAllStackTraces().size()
    for _ in range(8):
        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
    # Java's own threads come and go.
    assert java("java.lang.Thread").getAllStackTraces().size() < known + 4
