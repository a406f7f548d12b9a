"""R12 and R13 in short: many clients at once are served whole, more than may are refused at once, and it recovers."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrag.serving.engine import Engine
from shrag.serving.limits import Limits
from tests.serving.live import QUESTION, live, wait_until

FAST = 0.05
"""Seconds within which a refusal is promised; measured from sending to the whole answer, on a machine others use."""


def _descriptors() -> int:
    return len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))


def test_64_clients_of_both_kinds_get_whole_answers_and_leave_nothing_behind(demo: Engine) -> None:
    with live(demo) as server:
        server.ask("POST", "/v1/ask", {"question": QUESTION})
        before, threads = _descriptors(), threading.active_count()

        def client(number: int) -> list[int]:
            statuses = []
            for turn in range(3):
                if (number + turn) % 5:
                    status, _, body = server.ask("POST", "/v1/search", {"question": QUESTION})
                    assert json.loads(body)["records"][0]["record"]["docid"] == "DEMO-SOC-012"
                else:
                    status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION, "stream": True})
                    assert "event: timings" in body.strip().rpartition("\n\n")[2]
                statuses.append(status)
            return statuses

        with ThreadPoolExecutor(64) as clients:
            statuses = [status for each in clients.map(client, range(64)) for status in each]
        assert statuses == [200] * 192
        wait_until(lambda: server.service.in_flight == 0)
        wait_until(lambda: _descriptors() <= before + 2, 6)
        assert threading.active_count() <= threads + Limits().searches + Limits().asks


def test_what_is_too_much_is_refused_at_once_while_health_answers_and_then_all_is_as_before(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Engine.search

    def slow(*arguments: object, **options: object) -> object:
        time.sleep(0.25)
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "search", slow)
    limits = Limits(searches=2, queued_searches=4)
    with live(demo, limits=limits) as server:
        deepest = 0

        def client(_: int) -> tuple[int, float, str]:
            nonlocal deepest
            started = time.perf_counter()
            status, head, _body = server.ask("POST", "/v1/search", {"question": QUESTION})
            deepest = max(deepest, server.service.searches.queued)
            return status, time.perf_counter() - started, head

        with ThreadPoolExecutor(16) as clients:
            answers = list(clients.map(client, range(64)))
            health = []
            for _ in range(20):
                started = time.perf_counter()
                assert server.ask("GET", "/health/live")[0] == 200
                health.append(time.perf_counter() - started)
        refused = [(seconds, head) for status, seconds, head in answers if status == 429]
        assert {status for status, _, _ in answers} == {200, 429}
        assert sum(status == 200 for status, _, _ in answers) >= 6
        assert all("retry-after: " in head for _, head in refused)
        assert sorted(seconds for seconds, _ in refused)[len(refused) // 2] < FAST
        assert deepest <= 4
        assert max(health) < 0.1
        assert f'shrag_rejections_total{{reason="overloaded"}} {len(refused)}.0' in server.ask("GET", "/metrics")[2]
        wait_until(lambda: server.service.in_flight == 0, 2)
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200


def test_slow_answers_take_no_place_from_searches(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    original = Engine.ask

    def held(*arguments: object, **options: object) -> object:
        release.wait(20)
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "ask", held)
    with live(demo, limits=Limits(asks=2, queued_asks=2)) as server:
        held_up = [server.send("POST", "/v1/ask", {"question": QUESTION}) for _ in range(4)]
        wait_until(lambda: server.service.asks.queued == 2)
        assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 429
        started = time.perf_counter()
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200
        assert time.perf_counter() - started < 1
        assert 'shrag_queue_depth{stage="ask"} 2.0' in server.ask("GET", "/metrics")[2]
        release.set()
        for connection in held_up:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            connection.close()


def test_a_question_of_many_words_is_answered_and_one_too_long_is_refused_fast(demo: Engine) -> None:
    """R21, for questions: they are no query language, so brackets and operators are only characters."""
    with live(demo) as server:
        many = " ".join(f"낱말{number}" for number in range(400))[:2000]
        assert server.ask("POST", "/v1/search", {"question": many})[0] == 200
        nested = "(" * 1000 + "갈등" + ")" * 998
        assert json.loads(server.ask("POST", "/v1/search", {"question": nested})[2])["records"]
        for long in ("가" * 2001, "(" * 10_000, " OR ".join(["a"] * 5_000)):
            started = time.perf_counter()
            status, _, body = server.ask("POST", "/v1/search", {"question": long})
            assert (status, json.loads(body)["code"]) == (422, "question_too_long")
            assert time.perf_counter() - started < 0.1
