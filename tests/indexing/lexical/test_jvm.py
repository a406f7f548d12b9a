from __future__ import annotations

import errno
import gc
import os
import threading
import time
from pathlib import Path

import pytest

from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.jvm import detach_thread, java_class, java_failure, start_java


def test_java_leaves_no_socket_and_no_counters_that_others_could_open() -> None:
    start_java()
    left = [*Path("/tmp").glob(f".java_pid{os.getpid()}*"), *Path("/tmp").glob(f"hsperfdata_*/{os.getpid()}")]
    assert left == []


def test_java_forgets_a_thread_that_says_it_ends() -> None:
    def visit() -> None:
        java_class("java.lang.System").nanoTime()
        detach_thread()

    known = java_class("java.lang.Thread").getAllStackTraces().size()
    for _ in range(8):
        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
    # Java's own threads come and go.
    assert java_class("java.lang.Thread").getAllStackTraces().size() < known + 4


@pytest.mark.parametrize(
    ("name", "message", "number"),
    [
        ("java.io.IOException", "Stale file handle", errno.ESTALE),
        ("java.nio.file.FileSystemException", "/i/_0.fnm: Input/output error", errno.EIO),
        ("java.nio.file.AccessDeniedException", "/i/_0.fnm", errno.EACCES),
    ],
)
def test_an_error_of_the_system_in_java_is_that_of_the_system(name: str, message: str, number: int) -> None:
    failure = java_failure(java_class(name)(message), "writing /i with a blank")
    assert isinstance(failure, OSError)
    assert (failure.errno, failure.filename) == (number, "/i with a blank")


def test_other_errors_of_java_are_lucene_s() -> None:
    failure = java_failure(java_class("java.io.IOException")("odd"), "writing /i")
    assert (type(failure), str(failure)) == (IndexingError, "Lucene failed while writing /i: odd.")


def _collections() -> int:
    """Return how often Java has collected all it has."""
    beans = java_class("java.lang.management.ManagementFactory").getGarbageCollectorMXBeans()
    return int(sum(bean.getCollectionCount() for bean in beans if bean.getName() == "MarkSweepCompact"))


@pytest.mark.slow
def test_neither_collector_sets_off_the_other() -> None:
    start_java()
    runs: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        runs.append(phase)

    # The bridge's is called that: told of each run, it has Java collect all it has now and then.
    assert [told for told in gc.callbacks if getattr(told, "__name__", "") == "_collect"] == []
    before = _collections()
    java_class("java.lang.System").gc()
    time.sleep(0.2)  # the bridge hears of the first only
    gc.callbacks.append(note)
    try:
        for _ in range(3):
            java_class("java.lang.System").gc()
            time.sleep(0.2)
    finally:
        gc.callbacks.remove(note)
    assert _collections() == before + 4
    assert len(runs) <= 2  # those of this test's own making
