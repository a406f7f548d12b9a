"""The engine that stays; what it has in common with an index kept current is in ``tests/contracts``."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from shrag.serving.engine import Engine
from shrag.serving.errors import IndexClosed
from shrag.serving.runtime.leases import FixedEngine, LeasedEngine
from tests.support.live import KeptEngine
from tests.support.published import wait_for

ROOT = Path(__file__).resolve().parents[3]


def test_closing_a_fixed_engine_waits_until_it_is_closed(demo: Engine) -> None:
    closed: list[bool] = []

    class Noted(KeptEngine):
        def close(self) -> None:
            closed.append(True)

    fixed = FixedEngine(Noted(demo.open_index))
    fixed.close()
    fixed.close()
    assert closed == [True]


def test_a_fixed_engine_that_is_in_use_is_not_waited_for(demo: Engine) -> None:
    fixed = FixedEngine(KeptEngine(demo.open_index))
    with fixed.use() as engine:
        fixed.close()
        assert engine.document("DEMO-SOC-012") is not None


class _Counted(Engine):
    """Counts how often it was closed, and on which thread; the index stays open for the other tests."""

    def __init__(self, demo: Engine) -> None:
        super().__init__(demo.open_index)
        self.closed_by: list[threading.Thread] = []

    def close(self) -> None:
        self.closed_by.append(threading.current_thread())


def test_it_is_closed_when_it_is_retired_and_the_last_lease_is_released(demo: Engine) -> None:
    engine = _Counted(demo)
    leased = LeasedEngine(engine)
    one, other = leased.lease(), leased.lease()
    leased.close_when_idle()
    with pytest.raises(IndexClosed):
        leased.lease()
    assert (leased.in_use, leased.closed) == (True, False)
    for _ in range(3):
        one.release()
    assert not wait_for(lambda: engine.closed_by != [], 0.5)
    with other as given:
        assert given is engine
    assert leased.wait_closed(5)
    assert (leased.in_use, leased.closed) == (False, True)
    assert len(engine.closed_by) == 1
    # Whoever released it has an answer to send.
    assert engine.closed_by != [threading.current_thread()]


def test_unused_it_is_closed_at_once_and_not_retired_never(demo: Engine) -> None:
    engine = _Counted(demo)
    leased = LeasedEngine(engine)
    lease = leased.lease()
    lease.release()
    assert (leased.closed, engine.closed_by) == (False, [])
    leased.close_when_idle()
    leased.close_when_idle()
    assert leased.wait_closed(5)
    assert len(engine.closed_by) == 1


def test_many_threads_never_have_it_closed_and_close_it_once(demo: Engine) -> None:
    for _ in range(5):
        engine = _Counted(demo)
        leased = LeasedEngine(engine)
        taken: list[bool] = []

        def use(engine: _Counted = engine, leased: LeasedEngine = leased, taken: list[bool] = taken) -> None:
            with suppress(IndexClosed):
                while True:
                    with leased.lease():
                        time.sleep(0.001)
                        taken.append(not engine.closed_by)

        with ThreadPoolExecutor(8) as threads:
            used = [threads.submit(use) for _ in range(8)]
            assert wait_for(lambda taken=taken: len(taken) > 50)  # type: ignore[misc]
            leased.close_when_idle()
            for each in used:
                each.result(10)
        assert leased.wait_closed(5)
        assert all(taken)
        assert len(engine.closed_by) == 1


pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to")

_THREADS = """
import ctypes, sys, threading
from shrag.serving.serve import limit_malloc_arenas
if sys.argv[1] == "shared":
    limit_malloc_arenas()
threads, all_here = 12, threading.Barrier(12)
def take():
    held = [b"x" * 5_000 for _ in range(100)]
    all_here.wait()
taking = [threading.Thread(target=take) for _ in range(threads)]
[each.start() for each in taking]
[each.join() for each in taking]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))  # XML with one <heap> for each arena
libc.fflush(None)
"""


@pytest.mark.process
def test_threads_take_memory_from_the_same_few_places() -> None:
    def places(how: str) -> int:
        command = [sys.executable, "-c", _THREADS, how]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("<heap ")

    assert places("shared") == 2
    assert places("apart") > 4


_FREED = """
import os
from shrag.serving.runtime.leases import trim_malloc
from tests.support.process_figures import resident_mib
trim_malloc()
figures = [resident_mib(os.getpid())]
freed = [b"x" * 100_000 for _ in range(500)]  # below the size from which each has pages of its own
kept = b"y" * 100_000
del freed
figures.append(resident_mib(os.getpid()))
trim_malloc()
figures.append(resident_mib(os.getpid()))
print(*figures)
"""


@pytest.mark.process
def test_what_was_freed_below_something_in_use_goes_back_to_the_system() -> None:
    # In a process of its own: the memory of one that ran other tests has free places for it already.
    done = subprocess.run([sys.executable, "-c", _FREED], capture_output=True, text=True, check=True, cwd=ROOT)
    before, held, after = map(float, done.stdout.split())
    assert held > before + 30
    assert after < before + 10
