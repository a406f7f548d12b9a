"""Answers that are kept, shared and let go of, as every interface of the server shows them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from starlette.testclient import TestClient

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint_pool import EndpointPool
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.api.service import Service
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionAbandoned
from shrag.serving.events import Event
from shrag.serving.http.problems import to_problem
from shrag.serving.request import parse_request
from shrag.serving.runtime.admission import Deadline, ServerLimits
from shrag.serving.runtime.leases import FixedEngine
from tests.support.fake_endpoint import Endpoint, answers, serving
from tests.support.live import KeptEngine, Live, live_app, wait_until
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
OTHER = "How much does milk yield fall in dairy cows under heat stress?"
WRITTEN = "##본론##\n재택근무 일수와 갈등의 관계를 분석하였다 [1].\n"


class _Held(ScriptedModel):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__(listed("재택근무", "갈등"), listed("work"), [WRITTEN])
        self.may_answer = threading.Event()

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        assert self.may_answer.wait(20)
        return super().complete(messages, schema, max_tokens=max_tokens)


def _source(demo: Engine, model: LanguageModel | None = None, cache: AnswerCache | None = None) -> FixedEngine:
    return FixedEngine(KeptEngine(demo.open_index, model, cache=cache or AnswerCache()))


def _client(demo: Engine, model: LanguageModel | None = None) -> TestClient:
    return TestClient(create_app(_source(demo, model)), base_url="http://127.0.0.1")


def _events(text: str) -> list[dict[str, Any]]:
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in data]


def test_a_question_asked_again_says_so_on_every_interface_and_asks_no_model(demo: Engine) -> None:
    model = ScriptedModel(listed("재택근무", "갈등"), listed("work"), [WRITTEN])
    client = _client(demo, model)
    first = client.post("/v1/ask", json={"question": QUESTION}).json()
    asked = len(model.asked)
    assert (first["search"]["cached"], len(first["search"]["model_calls"])) == (False, 3)
    again = client.post("/v1/ask", json={"question": f" {QUESTION}  "}).json()
    assert (again["search"]["cached"], again["search"]["model_calls"]) == (True, [])
    assert list(again["search"]["seconds"]) == ["cache"]
    assert again["request_id"] == again["search"]["request_id"] != first["request_id"]
    assert again["answer"] == first["answer"]

    begun, *told, last = _events(client.post("/v1/ask", json={"question": QUESTION, "stream": True}).text)
    assert (begun["event"], begun["cached"], begun["index"], begun["index_generation"]) == ("started", True, "demo", 1)
    assert (last["event"], last["cached"], list(last["seconds"])) == ("timings", True, ["cache"])
    assert [event["event"] for event in told if event["event"] in ("model_call", "answer")] == ["answer"]

    chat = {"model": "demo/shrag", "messages": [{"role": "user", "content": QUESTION}]}
    whole = client.post("/v1/chat/completions", json=chat).json()
    assert (whole["shrag"]["cached"], whole["shrag"]["index_generation"]) == (True, 1)
    assert whole["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    streamed = client.post("/v1/chat/completions", json={**chat, "stream": True}).text
    assert _events(streamed)[0]["shrag"]["cached"] is True
    assert streamed.endswith("data: [DONE]\n\n")

    assert len(model.asked) == asked

    # The page's answers are with the counts over all hits, which the others did not ask for: they are cached apart.
    client.get("/", params={"q": QUESTION, "ui": "en"})
    asked = len(model.asked)
    for page in (client.get("/", params={"q": QUESTION, "ui": "en"}), client.get("/stream", params={"q": QUESTION})):
        assert 'class=\\"cached\\"' in page.text or 'class="cached"' in page.text
    assert len(model.asked) == asked
    figures = client.get("/metrics").text
    assert 'shrag_cache_questions_total{how="miss"} 2.0' in figures
    assert 'shrag_cache_questions_total{how="hit"} 6.0' in figures
    assert "shrag_cache_answers 2.0" in figures
    assert 'shrag_stage_duration_seconds_count{stage="cache"} 6.0' in figures


def test_a_search_asked_again_is_the_same_and_neither_is_on_the_page_before(demo: Engine) -> None:
    client = _client(demo)
    first, again = (client.get("/v1/search", params={"q": QUESTION}).json() for _ in range(2))
    own = ("cached", "seconds", "request_id")
    assert (first["cached"], again["cached"]) == (False, True)
    assert {**first, **dict.fromkeys(own)} == {**again, **dict.fromkeys(own)}
    assert client.post("/v1/search", json={"question": QUESTION}).json()["cached"] is True
    assert client.post("/v1/search", json={"question": QUESTION, "k": 3}).json()["cached"] is False
    assert 'class="cached"' not in client.get("/", params={"q": QUESTION}).text  # an answer is not a search


def test_without_a_cache_nothing_is_kept_and_nothing_said_of_one(demo: Engine) -> None:
    client = TestClient(create_app(demo), base_url="http://127.0.0.1")
    for _ in range(2):
        assert client.post("/v1/search", json={"question": QUESTION}).json()["cached"] is False
    assert "shrag_cache" not in client.get("/metrics").text


def test_a_full_server_still_gives_what_it_has_kept(demo: Engine) -> None:
    model = _Held()
    source = _source(demo, model)
    with live_app(create_app(source, limits=ServerLimits(asks=1, queued_asks=0))) as server:
        model.may_answer.set()
        assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 200
        model.may_answer.clear()
        busy = server.send("POST", "/v1/ask", {"question": OTHER})
        wait_until(lambda: server.service.asks.busy == 1)
        assert server.ask("POST", "/v1/ask", {"question": "Blue carbon"})[0] == 429
        status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION})
        assert (status, json.loads(body)["search"]["cached"]) == (200, True)
        status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION, "stream": True})
        assert (status, _events(body)[-1]["cached"]) == (200, True)
        assert server.service.asks.busy == 1
        model.may_answer.set()
        assert busy.recv(65536).startswith(b"HTTP/1.1 200 ")
        busy.close()


def test_the_same_question_of_24_clients_at_once_is_answered_once(demo: Engine) -> None:
    model = _Held()
    cache = AnswerCache()
    source = _source(demo, model, cache)
    with live_app(create_app(source, limits=ServerLimits(asks=24))) as server, ThreadPoolExecutor(24) as clients:

        def ask(number: int) -> tuple[int, dict[str, Any]]:
            stream = number % 2 == 1
            status, _, body = server.ask("POST", "/v1/ask", {"question": QUESTION, "stream": stream})
            if not stream:
                return status, dict(json.loads(body)["answer"])
            return status, next(event for event in _events(body) if event["event"] == "answer")

        asked = [clients.submit(ask, number) for number in range(24)]
        wait_until(lambda: cache.counters.joined == 23)
        model.may_answer.set()
        answers = [each.result(20) for each in asked]
    assert {status for status, _ in answers} == {200}
    assert len({json.dumps(answer["sections"]) for _, answer in answers}) == 1
    assert (len(model.asked), len(model.streams)) == (3, 1)  # two lists of keywords, one answer
    assert (cache.counters.misses, cache.counters.hits) == (1, 0)


def test_clients_that_leave_at_any_time_leave_no_engine_in_use(demo: Engine) -> None:
    model = ScriptedModel(listed("재택근무", "갈등"), listed("work"), [WRITTEN * 20])
    source = _source(demo, model, AnswerCache(0))

    def leave(server: Live, number: int) -> None:
        path = "/stream?q=blue+carbon" if number % 3 == 0 else "/v1/ask"
        body = None if number % 3 == 0 else {"question": f"{QUESTION} {number}", "stream": number % 3 == 1}
        with server.send("GET" if body is None else "POST", path, body):
            time.sleep(number % 7 * 0.01)

    with live_app(create_app(source)) as server:
        with ThreadPoolExecutor(16) as clients:
            list(clients.map(lambda number: leave(server, number), range(90)))
        wait_until(lambda: server.service.in_flight == 0)
        wait_until(lambda: not source._serving.in_use)
        assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 200
        assert not source._serving.in_use


def test_a_server_that_stops_is_not_ready_and_answers_until_its_time_is_up(demo: Engine) -> None:
    app = create_app(_source(demo))
    client = TestClient(app, base_url="http://127.0.0.1")
    app.state.service.drain()
    assert [client.get(path).status_code for path in ("/health/ready", "/health/live")] == [503, 200]
    assert client.post("/v1/search", json={"question": QUESTION}).status_code == 200
    app.state.service.end()
    refused = client.post("/v1/search", json={"question": OTHER})
    assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")


@pytest.mark.parametrize(
    "path", ["/v1/indexes", "/v1/models", "/v1/documents?docid=a", "/health/ready", "/metrics", "/"]
)
def test_an_index_that_is_closed_is_a_503_everywhere(demo: Engine, path: str) -> None:
    source = _source(demo)
    client = TestClient(create_app(source), base_url="http://127.0.0.1", raise_server_exceptions=False)
    source.close()
    assert client.get(path).status_code == 503


def test_a_question_whose_answering_was_stopped_is_one_to_ask_again() -> None:
    told = to_problem(QuestionAbandoned("The question was stopped while it was answered: ask it again."))
    assert (told.status, told.code, told.headers) == (503, "cancelled", {"Retry-After": "1"})


def test_who_writes_the_answers_is_the_model_unless_there_is_none_or_it_is_given_up(demo: Engine) -> None:
    circuit = CircuitBreaker(ScriptedModel())
    services = [
        Service([_source(demo, model)], ServerLimits(), log_questions=False)
        for model in (None, ScriptedModel(), circuit)
    ]
    assert [service.generator_status for service in services] == ["extractive", "ready", "ready"]
    circuit.record_failure(ModelUnavailable("away."), "streamed", final=True)
    assert [service.generator_status for service in services] == ["extractive", "ready", "degraded"]


def test_health_and_metrics_say_the_state_of_each_endpoint(demo: Engine) -> None:
    with serving(Endpoint(answers("x"))) as url:
        members = [OpenAIModel(LlmSettings(url=each, api_key="very-secret")) for each in (url, "http://127.0.0.1:9/v1")]
        with closing(EndpointPool(members)) as pool:
            client = _client(demo, pool)
            assert client.get("/health").json()["endpoints"] == [
                {"host": url.split("/")[2], "up": True, "problem": "", "in_flight": 0, "failures": 0},
                {"host": "127.0.0.1:9", "up": True, "problem": "", "in_flight": 0, "failures": 0},
            ]
            assert pool.name == "m"
            health, metrics = client.get("/health").json(), client.get("/metrics").text
    assert (health["generator_status"], health["language_model"]) == ("ready", "m")
    assert [each["up"] for each in health["endpoints"]] == [True, False]
    assert health["endpoints"][1]["problem"].startswith("http://127.0.0.1:9/v1 does not answer")
    assert f'shrag_llm_endpoint_up{{endpoint="1",host="{url.split("/")[2]}"}} 1.0' in metrics
    assert 'shrag_llm_endpoint_up{endpoint="2",host="127.0.0.1:9"} 0.0' in metrics
    assert 'shrag_llm_endpoint_failures_total{endpoint="2",host="127.0.0.1:9"} 0.0' in metrics
    assert "very-secret" not in metrics + str(health)


def test_health_says_that_an_endpoint_serves_another_model(demo: Engine) -> None:
    first, other = Endpoint(answers("x"), models=("qwen",)), Endpoint(answers("y"), models=("llama",))
    with serving(first) as url, serving(other) as other_url:
        pool = EndpointPool([OpenAIModel(LlmSettings(url=each)) for each in (url, other_url)])
        with closing(pool):
            assert pool.name == "qwen"
            health = _client(demo, pool).get("/health").json()
    assert "serves llama instead of qwen, which the others serve" in health["endpoints"][1]["problem"]


def test_health_says_why_no_endpoint_of_the_language_model_works(demo: Engine) -> None:
    pool = EndpointPool([OpenAIModel(LlmSettings(url=f"http://127.0.0.1:{port}/v1")) for port in (9, 10)])
    with closing(pool):
        assert pool.name.startswith("the model at ")
        health = _client(demo, pool).get("/health").json()
    assert health["generator_failure"].startswith("http://127.0.0.1:9/v1 does not answer")


def test_what_cannot_be_shown_of_a_question_keeps_no_engine_in_use(demo: Engine) -> None:
    source = _source(demo)
    service = Service([source], ServerLimits(), log_questions=False)

    def refuse(event: Event) -> list[Event]:
        raise ValueError("no")

    async def stream() -> None:
        request = parse_request(QUESTION, answered=True)
        feed = await service.page_events(request, lambda run, _: run.map(refuse), Deadline())
        with pytest.raises(ValueError, match="no"):
            await anext(feed.events(Deadline()))
        feed.leave()

    asyncio.run(stream())
    assert (source._serving.in_use, service.asks.busy) == (False, 0)


class _Named(ScriptedModel):
    """Counts how often it is asked for its name, which takes a request of its own."""

    def __init__(self) -> None:
        super().__init__(listed("재택근무", "갈등"), listed("work"), [WRITTEN])
        self.probed: list[str] = []

    @property
    def name(self) -> str:  # type: ignore[override]
        self.probed.append(threading.current_thread().name)
        return "scripted"


def test_a_model_is_asked_for_its_name_until_it_has_answered_and_never_by_the_loop(demo: Engine) -> None:
    model = _Named()
    client = _client(demo, CircuitBreaker(model))
    answers = [client.post("/v1/ask", json={"question": QUESTION}).json() for _ in range(5)]
    probed = len(model.probed)
    assert {name.partition("_")[0] for name in model.probed} == {"ask", "parallel"}  # threads that may wait
    assert [answer["search"]["cached"] for answer in answers] == [False, True, True, True, True]
    client.post("/v1/ask", json={"question": OTHER})
    assert len(model.probed) == probed


def test_a_search_that_does_not_end_does_not_keep_the_server_from_ending(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.api.service._CLOSING_SECONDS", 0.05)
    service = Service([_source(demo)], ServerLimits(), log_questions=False)
    go_on, closed = threading.Event(), threading.Event()
    service.searches.workers.submit(go_on.wait, 20)

    def close() -> None:
        asyncio.run(service.close())
        closed.set()

    closing_thread = threading.Thread(target=close)
    closing_thread.start()
    ended = closed.wait(10)
    go_on.set()
    closing_thread.join()
    assert ended
