from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import Event, Timings
from shrag.serving.http.sse import stream_events
from shrag.serving.runtime.admission import AdmissionQueue, Deadline
from shrag.serving.runtime.event_feed import EventFeed
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def _read(text: str) -> list[tuple[str, dict[str, object]]]:
    messages = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        messages.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return messages


def _app(demo: Engine) -> TestClient:
    model = ScriptedModel(listed("재택근무"), listed("work"), ["재택근무 일수와 갈등의 관계를 분석하였다 [1]. 끝."])
    return TestClient(create_app(Engine(demo.open_index, model)), base_url="http://127.0.0.1")


def test_an_answer_streams_as_the_strategys_own_events_and_ends_with_the_timings(demo: Engine) -> None:
    response = _app(demo).post("/v1/ask", json={"question": QUESTION, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert (response.headers["cache-control"], response.headers["x-accel-buffering"]) == ("no-cache", "no")
    messages = _read(response.text)
    assert [name for name, _ in messages] == [
        "started", "model_call", "model_call", "keywords", "queries", "hits", "ranking", "answer_sentence",
        "answer_sentence", "model_call", "answer", "timings",
    ]  # fmt: skip
    assert all(data["event"] == name for name, data in messages)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"question": " "}, 422), ({"question": "x", "strategy": "none"}, 422), ({"stream": True}, 422)],
)
def test_a_question_that_cannot_be_asked_is_a_problem_and_no_stream(
    demo: Engine, body: dict[str, object], status: int
) -> None:
    response = _app(demo).post("/v1/ask", json={"stream": True, **body})
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")


class _Steps:
    """Events that a test lets happen; what it saw of them is kept."""

    def __init__(self, *, fail: bool = False) -> None:
        self.may_go_on = threading.Event()
        self.closed = threading.Event()
        self._fail = fail

    def events(self) -> Generator[Event, None, None]:
        try:
            yield Timings({"first": 1.0})
            self.may_go_on.wait(20)
            if self._fail:
                raise RuntimeError("boom")
            yield Timings({"second": 2.0})
        finally:
            self.closed.set()


def _stream(steps: _Steps, workers: ThreadPoolExecutor, keep_alive: float = 15.0) -> AsyncIterator[bytes]:
    queue = AdmissionQueue("test", 1, 0)
    queue.workers = workers
    feed = EventFeed(EventRun(SingleFlight(steps.events)), 1, queue)
    return stream_events(feed.events(Deadline(), keep_alive=keep_alive))


def test_a_failure_in_the_middle_is_an_error_event_and_never_a_bare_end() -> None:
    async def run() -> list[bytes]:
        steps = _Steps(fail=True)
        steps.may_go_on.set()
        with ThreadPoolExecutor() as workers:
            return [message async for message in _stream(steps, workers)]

    first, last = asyncio.run(run())
    assert first.startswith(b"event: timings\n")
    ((name, problem),) = _read(last.decode())
    assert (name, problem["code"], problem["status"]) == ("error", "unexpected", 500)
    assert "boom" not in last.decode()


def test_while_nothing_happens_the_connection_is_kept_alive() -> None:
    async def run() -> list[bytes]:
        steps = _Steps()
        asyncio.get_running_loop().call_later(0.3, steps.may_go_on.set)
        with ThreadPoolExecutor() as workers:
            return [message async for message in _stream(steps, workers, keep_alive=0.05)]

    messages = asyncio.run(run())
    assert b": keep-alive\n\n" in messages
    assert messages[-1].startswith(b"event: timings\n")


def test_a_client_that_leaves_in_the_middle_of_a_step_has_it_closed_once_the_step_is_over() -> None:
    steps = _Steps()

    async def run(workers: ThreadPoolExecutor) -> None:
        async def read() -> None:
            async for _ in _stream(steps, workers):
                pass

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.2)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not steps.closed.is_set()
        steps.may_go_on.set()
        assert await asyncio.to_thread(steps.closed.wait, 10)

    with ThreadPoolExecutor() as workers:
        asyncio.run(run(workers))
