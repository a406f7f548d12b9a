"""R22: half of what it can do, for long, with a new generation each minute and a model that fails every 20 seconds.

SHRAG_SOAK_MINUTES says for how long: 5 unless given, 30 for a night.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from shrag.indexing.storage.generations import generation_folder
from tests.support.clients import Exchange, Kind, closed_loop, faults, open_loop, percentile, question
from tests.support.fake_endpoint import Behaviour, Endpoint, answers, keeps_silent, serving
from tests.support.fault_modes import FAULTS, only_the_answer
from tests.support.live import wait_until
from tests.support.process_figures import MINUTES, WARM_SECONDS, MemoryWatch, slope
from tests.support.published import publish_copy
from tests.support.served_process import SMALL_CACHE, served

pytestmark = pytest.mark.process

SWAP_SECONDS = 60.0
FAULT_SECONDS = 20.0
FAULT_LASTS = 5.0
KEPT_SECONDS = 5.0
"""How long an idle connection to a model is kept."""
STEEPEST = 1.0
"""MiB a minute, as in R12."""

MIX: tuple[Kind, ...] = ("stream", "search", "search", "ask", "search", "search", "search", "chat", "search", "search")

WELL: Behaviour = only_the_answer(answers("재택근무 일수와 일-가정 갈등의 관계를 분석하였다 [1]. " * 3))


def _mix(number: int) -> tuple[Kind, str]:
    return MIX[number % len(MIX)], question(number)


async def _fill(port: int) -> list[Exchange]:
    """Ask and search at the same time, by twice as many clients each as there are threads for their kind of work."""
    asked, searched = await asyncio.gather(
        closed_loop(port, 32, 4, lambda number: ("ask", question(32_000 + number))),
        closed_loop(port, 32, 4, lambda number: ("search", question(36_000 + number))),
    )
    return asked + searched


def _close_kept_connections(port: int, endpoint: Endpoint, first: int) -> None:
    """Let the server close its idle connections to the model: it does so at its next request to the model.

    The number of idle connections depends on how many requests were made at once, so it differs from time to time.
    """
    wait_until(lambda: endpoint.busy == 0, 60)
    time.sleep(KEPT_SECONDS + 1)
    asyncio.run(closed_loop(port, 1, 1, lambda number: ("search", question(first + number))))


async def _fail_now_and_then(endpoint: Endpoint, chance: random.Random, until: float) -> list[str]:
    """Let the model fail in any way for a while, every 20 seconds."""
    failed = []
    while time.monotonic() < until:
        await asyncio.sleep(FAULT_SECONDS - FAULT_LASTS)
        failed.append(chance.choice(sorted(FAULTS)))
        endpoint.behaviours = [FAULTS[failed[-1]]]
        await asyncio.sleep(FAULT_LASTS)
        endpoint.behaviours = [WELL]
    return failed


async def _publish_now_and_then(index: Path, last: int, every: float, until: float) -> int:
    """Publish a copy of generation ``last`` every so many seconds; return the last one's number."""
    turn = time.monotonic()
    while turn + every < until:
        turn += every
        await asyncio.sleep(turn - time.monotonic())
        last = await asyncio.to_thread(publish_copy, index, generation_folder(index, last))
    return last


@pytest.mark.soak
def test_half_its_load_with_swaps_and_failing_models_leaves_nothing_behind_and_no_answer_out(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    home = tmp_path / "home"
    shutil.copytree(demo_home, home)
    endpoint = Endpoint(WELL)
    with serving(endpoint) as address:
        monkeypatch.setenv("SHRAG_LLM_URL", address)
        monkeypatch.setenv("SHRAG_LLM_MODEL", "m")
        monkeypatch.setenv("SHRAG_LLM_READ_TIMEOUT", "5")
        monkeypatch.setenv("SHRAG_LLM_KEYWORD_TIMEOUT", "5")
        with served(home, *SMALL_CACHE) as server:
            # A model that hangs fills every place of answers and of searches: each thread there may be is there then.
            endpoint.behaviours = [keeps_silent(2, begin=True)]
            filled = asyncio.run(_fill(server.port))
            endpoint.behaviours = [WELL]
            # Memory grows until the cache of answers is full, Java's heap has found its size, and there have been two
            # generations at a time.
            index = home / "indexes" / "demo"

            async def get_warm() -> tuple[list[Exchange], int]:
                until = time.monotonic() + WARM_SECONDS
                return await asyncio.gather(
                    closed_loop(server.port, 32, WARM_SECONDS, _mix),
                    _publish_now_and_then(index, 1, WARM_SECONDS / 4, until),
                )

            warm, warmed = asyncio.run(get_warm())
            rate = max(1.0, len(warm) / WARM_SECONDS / 2)
            _close_kept_connections(server.port, endpoint, 40_000)
            before = server.held
            watch = MemoryWatch(server.pid)
            watch.start()

            async def run() -> tuple[list[Exchange], list[str], int]:
                until = time.monotonic() + 60 * MINUTES
                return await asyncio.gather(
                    open_loop(server.port, rate, 60 * MINUTES, _mix),
                    _fail_now_and_then(endpoint, random.Random(seed), until - FAULT_SECONDS),
                    _publish_now_and_then(index, warmed, SWAP_SECONDS, until),
                )

            done, failed, last = asyncio.run(run())
            watch.stop()
            _close_kept_connections(server.port, endpoint, 44_000)
            server.wait_until_held(before, 30)
            final = asyncio.run(closed_loop(server.port, 1, 1, lambda number: ("search", question(48_000 + number))))
    statuses = Counter(each.status for each in done)
    print(f"{len(done)} requests at {rate:.1f} a second: {statuses}; {last} generations; faults {Counter(failed)}")
    print(f"p99 {percentile((each.seconds for each in done), 99):.2f} s; {slope(watch.noted):.2f} MiB a minute")
    assert faults(filled + warm + done + final) == {}
    # A model that hangs holds places for as long as keywords are waited for, once: some are refused then, in order.
    assert set(statuses) <= {200, 429}
    assert sum(each.refused for each in done) < 0.05 * len(done)
    assert f'"index_generation":{last}' in final[0].body
    assert slope(watch.noted) < STEEPEST
