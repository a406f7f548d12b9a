"""R16, R17 and R20: the language model dies in every way there is, over real sockets at both ends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shrag.models.circuit import CircuitModel
from shrag.models.llm_settings import LlmSettings
from shrag.models.openai_model import OpenAIModel
from shrag.serving.engine import Engine
from shrag.serving.limits import Limits
from tests.models.fake_endpoint import Endpoint, answers, goes_on, keeps_silent, says, serving
from tests.models.fault_modes import FAULTS, KEYWORDS, SPLIT_CHARACTERS, only_the_answer
from tests.serving.live import QUESTION, Live, live, wait_until

ANSWER = "##제목##\n재택근무와 갈등\n\n##본론##\n재택근무 일수와 일-가정 갈등의 관계를 분석하였다 [1]."


@contextmanager
def _served(demo: Engine, endpoint: Endpoint, limits: Limits | None = None) -> Iterator[Live]:
    with serving(endpoint) as address:
        settings = LlmSettings(
            url=address, model="m", connect_timeout=1, read_timeout=0.7, timeout=60, retries=0, max_tokens=2048
        )
        model = OpenAIModel(settings)
        with live(demo, CircuitModel(model), limits) as server:
            yield server
        model.close()


def _events(body: str) -> list[tuple[str, dict[str, object]]]:
    messages = [block.split("\n") for block in body.strip().split("\n\n") if not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in messages]


@pytest.mark.parametrize("fault", [name for name in FAULTS if name != "never ends"])
def test_a_model_that_fails_leaves_the_records_and_an_answer_that_says_so(demo: Engine, fault: str) -> None:
    behaviour = FAULTS[fault] if fault == "refuses" else only_the_answer(FAULTS[fault])
    with _served(demo, Endpoint(behaviour)) as server:
        started = time.monotonic()
        status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION, "stream": True})
        assert time.monotonic() - started < 6
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200
    events = dict(_events(body))
    assert status == 200
    assert events["ranking"]["records"]
    assert events["fallback"]["cause"] == "unavailable"
    assert (events["answer"]["kind"], events["answer"]["complete"]) == ("extractive", True)
    assert list(events)[-1] == "timings"


def test_an_answer_that_never_ends_is_an_error_at_the_deadline_and_the_model_is_let_go(demo: Engine) -> None:
    endpoint = Endpoint(only_the_answer(FAULTS["never ends"]))
    with _served(demo, endpoint, Limits(deadline=1.5)) as server:
        started = time.monotonic()
        _, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION, "stream": True})
        assert 1.4 < time.monotonic() - started < 3
        assert endpoint.gone.wait(2)
        events = _events(body)
        assert "ranking" in dict(events)
        assert (events[-1][0], events[-1][1]["code"]) == ("error", "deadline_exceeded")
        status, head, body = server.ask("POST", "/v1/ask", {"question": QUESTION})
        assert (status, json.loads(body)["code"]) == (503, "deadline_exceeded")
        assert "retry-after: 1" in head


def test_characters_cut_between_chunks_come_out_whole(demo: Engine) -> None:
    with _served(demo, Endpoint(only_the_answer(SPLIT_CHARACTERS))) as server:
        _, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION})
    answer = json.loads(body)["answer"]
    assert (answer["kind"], "\ufffd" in body) == ("generated", False)


def test_the_circuit_opens_after_three_failures_and_closes_when_the_model_is_back(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.model_watch.watch_model.__defaults__", (0.1, 30.0, 1.0))
    endpoint = Endpoint(says(500, "dead"))
    with _served(demo, endpoint) as server:
        assert json.loads(server.ask("GET", "/health/ready")[2])["generation"] == "ready"
        for _ in range(3):
            assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 200
        status, _, body = server.ask("GET", "/health/ready")
        health = json.loads(body)
        assert (status, health["generation"]) == (200, "degraded")
        assert "500" in health["generation_failure"]
        assert "shrag_llm_up 0.0" in server.ask("GET", "/metrics")[2]
        asked = len(endpoint.asked)
        started = time.monotonic()
        assert json.loads(server.ask("POST", "/v1/ask", {"question": QUESTION})[2])["answer"]["kind"] == "extractive"
        assert time.monotonic() - started < 1
        assert all(body["max_tokens"] == 1 for body in endpoint.asked[asked:])
        endpoint.behaviours = [answers("1")]
        wait_until(lambda: json.loads(server.ask("GET", "/health/ready")[2])["generation"] == "ready", 10)
        assert "shrag_llm_up 1.0" in server.ask("GET", "/metrics")[2]


def test_a_model_that_froze_between_two_questions_is_found_out_and_search_stays(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.model_watch.watch_model.__defaults__", (0.05, 0.1, 0.3))
    with _served(demo, Endpoint(keeps_silent(30))) as server:
        wait_until(lambda: json.loads(server.ask("GET", "/health/ready")[2])["generation"] == "degraded", 5)
        assert server.ask("GET", "/health/live")[0] == 200
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200


def test_clients_that_leave_take_the_models_work_with_them_within_a_second(demo: Engine) -> None:
    endpoint = Endpoint(only_the_answer(goes_on(0.02)))
    with _served(demo, endpoint, Limits(asks=8)) as server:
        streams = [server.send("POST", "/v1/ask", {"question": QUESTION, "stream": True}) for _ in range(8)]
        wait_until(lambda: sum(bool(body.get("stream")) for body in endpoint.asked) == 8, 20)
        for stream in streams:
            stream.close()
        assert wait_until(lambda: server.service.asks.busy == 0, 5) < 1.5
        assert endpoint.gone.wait(1)
        endpoint.behaviours = [answers(KEYWORDS)]
        assert server.ask("GET", "/health/live")[0] == 200


def test_a_client_that_leaves_a_whole_answer_stops_the_model_too(demo: Engine) -> None:
    endpoint = Endpoint(only_the_answer(goes_on(0.02)))
    with _served(demo, endpoint) as server:
        connection = server.send("POST", "/v1/ask", {"question": QUESTION})
        wait_until(lambda: any(body.get("stream") for body in endpoint.asked), 10)
        connection.close()
        assert endpoint.gone.wait(3)
        wait_until(lambda: server.service.asks.busy == 0, 3)


def test_a_healthy_model_answers_and_is_counted(demo: Engine) -> None:
    with _served(demo, Endpoint(only_the_answer(answers(ANSWER)))) as server:
        status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION})
        assert (status, json.loads(body)["answer"]["kind"]) == (200, "generated")
        figures = server.ask("GET", "/metrics")[2]
        assert 'shrag_stage_duration_seconds_count{stage="answer"} 1.0' in figures
        assert "shrag_llm_up 1.0" in figures
