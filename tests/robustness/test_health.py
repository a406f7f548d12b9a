"""R20: what is said of health is true: the loop turns, the index is whole, the model has given a token lately."""

from __future__ import annotations

import inspect
import json
import threading

import pytest

from shrag.serving.app import watch_model
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.runtime.admission import ServerLimits
from tests.support.fake_endpoint import Endpoint, answers, keeps_silent
from tests.support.fault_modes import KEYWORDS, only_the_answer
from tests.support.live import QUESTION, Live, live, wait_until
from tests.support.scripted_models import modelled

pytestmark = pytest.mark.slow

ANSWER = "##제목##\n재택근무와 갈등\n\n##본론##\n재택근무 일수와 일-가정 갈등의 관계를 분석하였다 [1]."


def _generation(server: Live) -> str:
    status, _, body = server.ask("GET", "/health/ready")
    assert status == 200
    return str(json.loads(body)["generator_status"])


def test_a_model_that_froze_is_known_to_be_away_within_a_minute_and_one_that_is_back_within_10_seconds() -> None:
    bounds = inspect.signature(watch_model).parameters
    check, trust, token = (bounds[name].default for name in ("check", "trust", "token"))
    assert trust + check + token <= 60
    assert check + token <= 10


def test_a_model_that_froze_between_two_questions_is_found_out_and_search_stays_ready(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.app.watch_model.__defaults__", (0.05, 0.1, 0.3))
    with modelled(demo, Endpoint(keeps_silent(30))) as server:
        wait_until(lambda: _generation(server) == "degraded")
        assert server.ask("GET", "/health/live")[0] == 200
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200


def test_a_healthy_model_answers_and_is_counted(demo: Engine) -> None:
    with modelled(demo, Endpoint(only_the_answer(answers(ANSWER)))) as server:
        status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION})
        assert (status, json.loads(body)["answer"]["kind"]) == (200, "generated")
        assert _generation(server) == "ready"
        figures = server.ask("GET", "/metrics")[2]
        assert 'shrag_stage_duration_seconds_count{stage="answer"} 1.0' in figures
        assert "shrag_llm_up 1.0" in figures


def test_a_model_whose_answers_hang_does_not_hide_behind_its_keywords(demo: Engine) -> None:
    endpoint = Endpoint(only_the_answer(keeps_silent(30)))
    with modelled(demo, endpoint, read_timeout=0.2) as server:
        for number in range(3):
            assert server.ask("POST", "/v1/ask", {"question": f"{QUESTION} {number}"})[0] == 200
        wait_until(lambda: _generation(server) == "degraded")


def test_health_is_told_while_every_place_is_taken_and_every_queue_is_full(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    take_all = EventRun.take_all
    monkeypatch.setattr(EventRun, "take_all", lambda run: release.wait(20) and take_all(run))
    limits = ServerLimits(searches=1, queued_searches=1, asks=1, queued_asks=1)
    with live(demo, limits=limits) as server:
        paths = ("/v1/search", "/v1/ask")
        held = [server.send("POST", path, {"question": QUESTION}) for path in paths for _ in range(2)]
        wait_until(lambda: server.service.in_flight == 4)
        assert [server.ask("POST", path, {"question": QUESTION})[0] for path in paths] == [429, 429]
        for path in ("/health/live", "/health/ready", "/metrics", "/v1/indexes"):
            assert server.ask("GET", path)[0] == 200
        for connection in held:
            connection.close()
        release.set()


def test_keywords_that_hang_are_a_model_that_is_away(demo: Engine) -> None:
    endpoint = Endpoint(keeps_silent(30))
    with modelled(demo, endpoint, keyword_timeout=0.3) as server:
        body = server.ask("POST", "/v1/ask", {"question": QUESTION})[2]
        assert json.loads(body)["answer"]["kind"] == "extractive"
        endpoint.behaviours = [answers(KEYWORDS)]
        wait_until(lambda: _generation(server) == "ready")
