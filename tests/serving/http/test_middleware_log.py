from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http.logging import LOGGER, JsonLines

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def _client(demo: Engine, log_questions: bool = False) -> TestClient:
    return TestClient(create_app(demo, log_questions=log_questions), base_url="http://127.0.0.1")


def _logged(demo: Engine, ask: Callable[[TestClient], object], log_questions: bool = False) -> list[dict[str, object]]:
    """Return what is logged while ``ask`` has a client."""
    stream = io.StringIO()
    handler = JsonLines(stream)
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        ask(_client(demo, log_questions))
    finally:
        logger.removeHandler(handler)
        handler.close()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_id_that_is_sent_is_kept_in_the_head_the_body_and_every_problem(demo: Engine) -> None:
    client = _client(demo)
    sent = {"x-request-id": "batch-7/3"}
    answer = client.post("/v1/ask", json={"question": QUESTION}, headers=sent)
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == answer.json()["search"]["request_id"]
    assert client.get("/v1/search", params={"q": "a"}, headers=sent).json()["request_id"] == "batch-7/3"
    for response in (
        client.post("/v1/search", json={}, headers=sent),
        client.get("/nothing", headers=sent),
        client.delete("/v1/search", headers=sent),
    ):
        assert response.json()["request_id"] == response.headers["x-request-id"] == "batch-7/3"


@pytest.mark.parametrize("sent", ["", " ", "a" * 129, "a b", "x\ty", '"}', "é".encode().decode("latin-1")])
def test_what_is_no_id_is_replaced_by_a_new_one(demo: Engine, sent: str) -> None:
    headers = {"x-request-id": sent.encode("latin-1")}
    given = _client(demo).get("/health/live", headers=headers).headers["x-request-id"]  # type: ignore[arg-type]
    assert re.fullmatch("[0-9a-f]{32}", given)


def test_the_log_says_which_answers_were_kept(demo: Engine) -> None:
    def ask(client: TestClient) -> None:
        for stream in (False, False, True):
            client.post("/v1/ask", json={"question": QUESTION, "stream": stream})

    first, again, streamed = _logged(Engine(demo.open_index, cache=AnswerCache()), ask)
    assert "cached" not in first
    assert (again["cached"], streamed["cached"]) == (True, True)
    assert [line["generation"] for line in (first, again, streamed)] == [1, 1, 1]
    assert list(again["stages"]) == ["cache"]  # type: ignore[call-overload]


def test_each_request_is_one_line_with_its_stages_and_without_its_words(demo: Engine) -> None:
    def ask(client: TestClient) -> None:
        client.post("/v1/search", json={"question": QUESTION}, headers={"x-request-id": "one"})
        client.post("/v1/ask", json={"question": QUESTION, "stream": True}, headers={"x-request-id": "two"})
        client.get("/nothing/" + "재택근무")

    lines = _logged(demo, ask)
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/v1/search", 200),
        ("/v1/ask", 200),
        ("other", 404),
    ]
    assert [line["request_id"] for line in lines[:2]] == ["one", "two"]
    assert set(lines[0]["stages"]) == {"keywords", "search", "ranking"}  # type: ignore[call-overload]
    assert set(lines[1]["stages"]) == {"keywords", "search", "ranking", "answer"}  # type: ignore[call-overload]
    assert (lines[0]["index"], lines[0]["generation"], lines[0]["strategy"]) == ("demo", 1, "shrag")
    assert "재택" not in json.dumps(lines, ensure_ascii=False)


def test_the_words_are_there_when_they_are_asked_for(demo: Engine) -> None:
    lines = _logged(demo, lambda client: client.get("/v1/search", params={"q": QUESTION}), log_questions=True)
    assert lines[0]["question"] == QUESTION


def test_an_unexpected_failure_has_its_traceback_in_the_log_and_nowhere_else(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(Engine, "run", fail)
    answers = []

    def ask(client: TestClient) -> None:
        answers.append(client.post("/v1/search", json={"question": "a"}, headers={"x-request-id": "x"}))

    failed, request = _logged(demo, ask)
    assert (failed["event"], failed["request_id"], request["status"]) == ("failed", "x", 500)
    assert "RuntimeError: secret" in str(failed["traceback"])
    assert "secret" not in answers[0].text
    assert answers[0].json()["request_id"] == "x"
    assert "content-security-policy" in answers[0].headers


def test_figures_are_by_route_and_never_by_what_a_client_wrote(demo: Engine) -> None:
    client = _client(demo)
    client.get("/v1/search", params={"q": QUESTION})
    client.post("/v1/ask", json={"question": QUESTION})
    client.get("/secret-path-1")
    client.get("/v1/models/secret-model")
    text = client.get("/metrics").text
    for line in (
        'shrag_request_duration_seconds_count{method="GET",route="/v1/search",status="200"} 1.0',
        'shrag_request_duration_seconds_count{method="POST",route="/v1/ask",status="200"} 1.0',
        'shrag_request_duration_seconds_count{method="GET",route="other",status="404"} 1.0',
        'shrag_stage_duration_seconds_count{stage="ranking"} 2.0',
        'shrag_queue_depth{stage="search"} 0.0',
        'shrag_queue_depth{stage="ask"} 0.0',
        "shrag_llm_up 0.0",
    ):
        assert line in text
    assert re.search(r'shrag_index_info\{digest="[0-9a-f]{64}",generation="1",name="demo"\} 1\.0', text)
    assert "secret" not in text
