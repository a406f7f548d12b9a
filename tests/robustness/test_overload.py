"""R13: twice as many questions as can be answered. What is too much is refused at once, the rest is as ever."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from shrag.serving.runtime.admission import ServerLimits
from tests.support.clients import Exchange, Kind, closed_loop, exchange, faults, open_loop, percentile, question
from tests.support.live import QUESTION, live, wait_until
from tests.support.served_process import served

pytestmark = pytest.mark.slow

FAST = 0.05
"""Seconds within which a refusal is promised."""

RECOVERY = 2.0
"""Seconds behind the last question too many, after which all is as before."""

SECONDS = 120


_NEVER_ASKED = itertools.count()


def _search(_: int) -> tuple[Kind, str]:
    """Choose a question never asked before: one that is kept costs no place."""
    return "search", question(next(_NEVER_ASKED))


def _live(_: int) -> tuple[Kind, str]:
    return "live", ""


async def _overloaded(port: int, rate: float, seconds: float) -> tuple[list[Exchange], list[Exchange]]:
    """Search at ``rate`` a second and ask for health beside it."""
    return await asyncio.gather(open_loop(port, rate, seconds, _search), open_loop(port, 10, seconds, _live))


def _seconds(done: Sequence[Exchange], *, refused: bool = False) -> list[float]:
    return [each.seconds for each in done if each.refused == refused]


def test_half_of_twice_what_can_be_done_is_refused_at_once_and_the_rest_waits_no_longer_than_the_queue(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = EventRun.take_all
    work = 0.2

    def slow(run: EventRun[Event]) -> object:
        time.sleep(work)
        return original(run)

    monkeypatch.setattr(EventRun, "take_all", slow)
    with live(demo, limits=ServerLimits(searches=4, queued_searches=8)) as server:
        alone = median(_seconds(asyncio.run(closed_loop(server.port, 1, 1, _search))))
        deepest = 0
        stop = threading.Event()

        def look() -> None:
            nonlocal deepest
            while not stop.wait(0.005):
                deepest = max(deepest, server.service.searches.queued)

        looking = threading.Thread(target=look)
        looking.start()
        done, health = asyncio.run(_overloaded(server.port, 2 * 4 / alone, 3))
        over = time.monotonic()
        assert asyncio.run(exchange(server.port, "search")).seconds < 2 * alone + 1
        assert time.monotonic() - over < RECOVERY
        stop.set()
        looking.join()
        refusals = _seconds(done, refused=True)
        assert faults(done) == faults(health) == {}
        assert Counter(each.status for each in done) == {200: len(done) - len(refusals), 429: len(refusals)}
        assert 0.3 < len(refusals) / len(done) < 0.7
        assert median(refusals) < max(4 * FAST, 2 * median(_seconds(health)))
        assert deepest == 8
        # Eight before it, four at a time, and its own turn.
        assert median(_seconds(done)) < 1.5 * 3 * alone + 0.3
        assert median(_seconds(health)) < 0.1
        assert f'shrag_rejections_total{{reason="overloaded"}} {len(refusals)}.0' in server.ask("GET", "/metrics")[2]


def test_slow_answers_take_no_place_from_searches(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    original = EventRun.take_all

    def held(run: EventRun[Event]) -> object:
        if threading.current_thread().name.startswith("ask"):
            release.wait(20)
        return original(run)

    monkeypatch.setattr(EventRun, "take_all", held)
    with live(demo, limits=ServerLimits(asks=2, queued_asks=2)) as server:
        held_up = [server.send("POST", "/v1/ask", {"question": QUESTION}) for _ in range(4)]
        wait_until(lambda: server.service.asks.queued == 2)
        assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 429
        started = time.perf_counter()
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200
        assert time.perf_counter() - started < 2
        assert 'shrag_queue_depth{stage="ask"} 2.0' in server.ask("GET", "/metrics")[2]
        release.set()
        for connection in held_up:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            connection.close()


@pytest.mark.soak
def test_2_minutes_of_twice_what_can_be_done_leave_admitted_searches_as_fast_as_64_clients_have_them(
    demo_home: Path,
) -> None:
    if os.getloadavg()[0] > (os.cpu_count() or 1):
        pytest.skip("the machine has other work: what the server can do would change while it is held to it")
    with served(demo_home) as server:
        asyncio.run(closed_loop(server.port, 8, 10, _search))
        usual = asyncio.run(closed_loop(server.port, 64, 30, _search))
        rate = len(usual) / 30
        done, health = asyncio.run(_overloaded(server.port, 2 * rate, SECONDS))
        last = max(each.sent for each in done)
        time.sleep(max(0.0, last + RECOVERY - time.monotonic()))
        after = asyncio.run(exchange(server.port, "search"))
        refusals = _seconds(done, refused=True)
        assert faults([*usual, *done, *health, after]) == {}
        assert Counter(each.status for each in done) == {200: len(done) - len(refusals), 429: len(refusals)}
        assert 0.25 < len(refusals) / len(done) < 0.75
        assert median(refusals) < max(FAST, 2 * median(_seconds(health)))
        with_64, slowest = percentile(_seconds(usual), 99), percentile(_seconds(done), 99)
        print(f"p99 {slowest:.2f} s, of 64 clients {with_64:.2f} s; {len(refusals)} refused of {len(done)}")
        assert slowest < 1.3 * with_64
        assert median(_seconds(health)) < 0.1
        assert after.seconds < 0.5
