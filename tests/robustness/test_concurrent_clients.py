"""R12: 64 clients, four searches to a streamed answer. All of it is whole, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from shrag.serving.engine import Engine
from tests.support.clients import Exchange, closed_loop, faults, mixed, percentile
from tests.support.live import live, wait_until
from tests.support.process_figures import MINUTES, WARM_SECONDS, MemoryWatch, held, slope
from tests.support.served_process import SMALL_CACHE, served

pytestmark = pytest.mark.slow

CLIENTS = 64
STEEPEST = 1.0
"""MiB a minute, once warm."""


def _all_is_whole(done: Sequence[Exchange]) -> None:
    assert faults(done) == {}
    assert Counter(each.status for each in done) == {200: len(done)}
    assert not any(each.failed for each in done)
    assert all("DEMO-SOC-012" in each.body for each in done)


def _nobody_waits_long_behind_others(done: Sequence[Exchange]) -> None:
    """Callers that never pause share the processors: what can be promised is that each has its turn.

    The last few of a hundred are those that came while something else had the machine.
    """
    searches = [each.seconds for each in done if each.kind == "search"]
    assert percentile(searches, 95) < 3 * percentile(searches, 50) + 1


def test_64_clients_get_whole_answers_and_no_task_thread_or_descriptor_stays(demo: Engine) -> None:
    with live(demo) as server:
        asyncio.run(closed_loop(server.port, CLIENTS, 1, mixed))
        wait_until(lambda: server.service.in_flight == 0)
        server.begin_every_thread()
        before, tasks = held(os.getpid()), server.tasks
        done = asyncio.run(closed_loop(server.port, CLIENTS, 3, mixed))
        wait_until(lambda: server.service.in_flight == 0 and server.tasks <= tasks + 2)
        wait_until(lambda: held(os.getpid()).descriptors <= before.descriptors + 2)
        assert held(os.getpid()).threads <= before.threads + 2
    assert len(done) >= CLIENTS
    _all_is_whole(done)
    _nobody_waits_long_behind_others(done)


@pytest.mark.soak
def test_64_clients_for_minutes_leave_no_descriptor_or_thread_and_memory_stays_level(demo_home: Path) -> None:
    with served(demo_home, *SMALL_CACHE) as server:
        warm = asyncio.run(closed_loop(server.port, CLIENTS, WARM_SECONDS, mixed))
        before = server.held
        watch = MemoryWatch(server.pid)
        watch.start()
        done = asyncio.run(closed_loop(server.port, CLIENTS, 60 * MINUTES, mixed))
        watch.stop()
        server.wait_until_held(before)
    _all_is_whole(warm + done)
    _nobody_waits_long_behind_others(done)
    print(f"{len(done)} requests; {slope(watch.noted):.2f} MiB a minute")
    assert slope(watch.noted) < STEEPEST
