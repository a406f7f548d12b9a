from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from shrag.serving.engine import Engine
from shrag.serving.leased_engine import LeasedEngine
from tests.serving.published import wait_for


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
    assert one is not None
    assert other is not None
    leased.retire()
    assert (leased.lease(), leased.in_use) == (None, True)
    for _ in range(3):
        one.release()
    assert not wait_for(lambda: engine.closed_by != [], 0.5)
    with other as given:
        assert given is engine
    assert leased.wait_closed(5)
    assert not leased.in_use
    assert len(engine.closed_by) == 1
    # Whoever released it has an answer to send.
    assert engine.closed_by != [threading.current_thread()]


def test_unused_it_is_closed_at_once_and_not_retired_never(demo: Engine) -> None:
    engine = _Counted(demo)
    leased = LeasedEngine(engine)
    lease = leased.lease()
    assert lease is not None
    lease.release()
    assert (leased.closed, engine.closed_by) == (False, [])
    leased.retire()
    leased.retire()
    assert leased.wait_closed(5)
    assert len(engine.closed_by) == 1


def test_many_threads_never_have_it_closed_and_close_it_once(demo: Engine) -> None:
    for _ in range(5):
        engine = _Counted(demo)
        leased = LeasedEngine(engine)
        taken: list[bool] = []

        def use(engine: _Counted = engine, leased: LeasedEngine = leased, taken: list[bool] = taken) -> None:
            while (lease := leased.lease()) is not None:
                with lease:
                    time.sleep(0.001)
                    taken.append(not engine.closed_by)

        with ThreadPoolExecutor(8) as threads:
            used = [threads.submit(use) for _ in range(8)]
            assert wait_for(lambda taken=taken: len(taken) > 50)  # type: ignore[misc]
            leased.retire()
            for each in used:
                each.result(10)
        assert leased.wait_closed(5)
        assert all(taken)
        assert len(engine.closed_by) == 1
