"""What is read without FastAPI is read as FastAPI reads it: each body is sent both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from shrag.serving.answer_cache import AnswerCache
from shrag.serving.api.fast_path import read_ask, read_search
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.http.request_guard import LARGEST_BODY
from shrag.serving.runtime.admission import ServerLimits

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
PLAIN, FULL = "application/json", "application/json; charset=utf-8"
OF_ONE_REQUEST = {"seconds", "trace_id", "cached"}


@pytest.fixture(scope="module")
def client(demo_home: Path) -> Iterator[TestClient]:
    engine = open_engine(demo_home / "indexes", "demo", cache=AnswerCache())
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as opened:
        yield opened


def _lasting(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _lasting(part) for key, part in value.items() if key not in OF_ONE_REQUEST}
    return [_lasting(part) for part in value] if isinstance(value, list) else value


def _sent(client: TestClient, path: str, body: bytes, content_type: str) -> tuple[int, Any, list[str]]:
    answer = client.post(path, content=body, headers={"content-type": content_type})
    return answer.status_code, _lasting(answer.json()), sorted(answer.headers)


ASKED: dict[str, Any] = {"question": QUESTION}
ODD: list[Any] = [
    ASKED,
    ASKED | {"k": 1},
    ASKED | {"k": 0},
    ASKED | {"k": 1_001},
    ASKED | {"k": 10**30},
    ASKED | {"k": 3.0},
    ASKED | {"k": True},
    ASKED | {"k": "3"},
    ASKED | {"k": None},
    ASKED | {"strategy": "bm25", "k": 3},
    ASKED | {"strategy": "no such"},
    ASKED | {"keyword_order": "entropy"},
    ASKED | {"keyword_order": "model"},
    ASKED | {"keyword_order": "none"},
    ASKED | {"choices": ["one"]},
    ASKED | {"choices": ["one", "two"]},
    ASKED | {"choices": "one"},
    ASKED | {"unknown": 1},
    ASKED | {"format": "plain"},
    ASKED | {"format": "none"},
    ASKED | {"stream": 0},
    {"question": ""},
    {"question": "?" * 3_000},
    {"question": "a\0b\n\u2028c"},
    {"question": None},
    {"k": 3},
    [],
    "question",
]
BODIES = [
    json.dumps(asked, ensure_ascii=ascii).encode()
    for asked in ODD
    for ascii in (True, False)
] + [
    b"",
    b"{",
    b'{"question":"a"',
    b' {"question": "film"}\n',
    b'{"question":"a"}{"question":"b"}',
    b'{"question":"shield","question":"film"}',
    b'{"question":"\\ud800"}',
    b'{"question":"\xff"}',
    b'\xef\xbb\xbf{"question":"film"}',
    '{"question":"film"}'.encode("utf-16"),
    b'{"question":"film","k":NaN}',
    b'{"question":"film","k":1e1}',
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask"])
def test_every_body_is_accepted_or_refused_as_fastapi_does(client: TestClient, path: str) -> None:
    for body in BODIES:
        assert _sent(client, path, body, PLAIN) == _sent(client, path, body, FULL), body


def test_what_is_usual_is_read_here_and_what_is_not_is_left() -> None:
    assert [read(b'{"question":"a","k":2}') is not None for read in (read_search, read_ask)] == [True, True]
    asked = read_ask(b'{"question":"a","format":"plain","choices":["b","c"],"strategy":"bm25","stream":false}')
    assert asked is not None
    assert asked.model_dump() == {
        "question": "a", "k": 10, "strategy": "bm25", "keyword_order": "tfidf", "choices": ["b", "c"],
        "format": "plain", "stream": False,
    }  # fmt: skip
    for left in (b"", b"{}", b'{"question":1}', b'{"question":"a","k":2.0}', b'{"question":"a","x":1}'):
        assert read_search(left) is read_ask(left) is None
    assert read_ask(b'{"question":"a","stream":true}') is None


def test_a_body_in_pieces_and_one_that_is_too_large_are_met_as_ever(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for byte in json.dumps(ASKED).encode():
            yield bytes([byte])

    answer = client.post("/v1/search", content=pieces(), headers={"content-type": PLAIN})
    assert (answer.status_code, answer.json()["question"]) == (200, QUESTION)
    for content_type in (PLAIN, FULL):
        much = iter([b" " * LARGEST_BODY, b"{}"])
        assert client.post("/v1/search", content=much, headers={"content-type": content_type}).status_code == 413


def test_a_refusal_of_a_full_server_is_a_problem_and_counted_once(demo: Engine) -> None:
    client = TestClient(create_app(demo, limits=ServerLimits(deadline=1e-9)), base_url="http://127.0.0.1")
    answer = client.post("/v1/search", json=ASKED)
    assert (answer.status_code, answer.json()["code"]) == (503, "deadline_exceeded")
    figures = client.get("/metrics").text
    assert 'shrag_rejections_total{reason="deadline_exceeded"} 1.0' in figures
    assert 'shrag_request_duration_seconds_count{method="POST",route="/v1/search",status="503"} 1.0' in figures


def test_a_trace_id_is_in_the_answer_and_its_header(client: TestClient) -> None:
    answer: httpx2.Response = client.post("/v1/search", json=ASKED, headers={"x-request-id": "mine"})
    assert (answer.headers["x-request-id"], answer.json()["trace_id"]) == ("mine", "mine")
    assert answer.headers["content-type"] == PLAIN
    assert "content-security-policy" in answer.headers
