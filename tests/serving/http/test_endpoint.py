"""Decoding of requests by their schema, and the errors of those that do not fit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.testclient import TestClient

from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.http.endpoint import Operation, read_query
from shrag.serving.http.problems import HTTPProblem
from shrag.serving.page.routes import ReferencesQuery
from shrag.serving.runtime.admission import ServerLimits

# Written out, so that a change of the module's own is noticed.
LARGEST_BODY = 1_048_576

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
JSON = "application/json"
K = "body.k: expected an integer from 1 to 1000, got "
ORDER = 'body.keyword_order: expected one of "entropy", "model", "tfidf", got '
ASK_FIELDS = "question, k, strategy, keyword_order, choices, settings, filter, facets, index, history"
SEARCH_FIELDS = f"{ASK_FIELDS}, offset"


@pytest.fixture(scope="module")
def client(demo_home: Path) -> Iterator[TestClient]:
    engine = open_engine(demo_home / "indexes", "demo", cache=AnswerCache())
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as opened:
        yield opened


def _post(client: TestClient, path: str, body: bytes, content_type: str = JSON) -> httpx2.Response:
    answer: httpx2.Response = client.post(path, content=body, headers={"content-type": content_type})
    return answer


ASKED: dict[str, Any] = {"question": QUESTION}
REFUSED: list[tuple[Any, str]] = [
    (ASKED | {"k": 0}, K + "0."),
    (ASKED | {"k": 1_001}, K + "1001."),
    (ASKED | {"k": 10**30}, K + "1" + "0" * 30 + "."),
    (ASKED | {"k": 3.0}, K + "3.0."),
    (ASKED | {"k": True}, K + "true."),
    (ASKED | {"k": "3"}, K + '"3".'),
    (ASKED | {"k": None}, K + "null."),
    (ASKED | {"keyword_order": "none"}, ORDER + '"none".'),
    (ASKED | {"keyword_order": 7}, ORDER + "7."),
    (ASKED | {"choices": "one"}, 'body.choices: expected a list, got "one".'),
    (ASKED | {"choices": ["a", 2]}, "body.choices.1: expected a string, got 2."),
    (ASKED | {"strategy": ["bm25"]}, "body.strategy: expected a string, got a list of length 1."),
    (ASKED | {"strategy": {"a": 1}}, "body.strategy: expected a string, got an object."),
    ({"question": None}, "body.question: expected a string, got null."),
    ({"k": 3}, "body.question: this field is required and missing."),
    ([], "body: expected an object, got a list of length 0."),
    ("question", 'body: expected an object, got "question".'),
    (None, "body: expected an object, got null."),
]


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask"])
@pytest.mark.parametrize(("body", "detail"), REFUSED)
def test_what_does_not_fit_is_said_by_field_rule_and_value(
    client: TestClient, path: str, body: object, detail: str
) -> None:
    refused = _post(client, path, json.dumps(body).encode())
    told = refused.json()
    assert (refused.status_code, told["code"], told["detail"]) == (422, "invalid_request", detail)
    assert refused.headers["content-type"] == "application/problem+json"


def test_an_unknown_field_is_refused_with_those_there_are(client: TestClient) -> None:
    for extra in ("unknown", "format", "stream"):
        told = _post(client, "/v1/search", json.dumps(ASKED | {extra: "x"}).encode()).json()
        assert told["detail"] == f"body.{extra}: there is no such field, use {SEARCH_FIELDS}."
    told = _post(client, "/v1/ask", json.dumps(ASKED | {"x" * 500: 1}).encode()).json()
    assert (
        told["detail"] == f"body.{'x' * 60}…: there is no such field, use {ASK_FIELDS}, format, stream, min_confidence."
    )
    told = _post(client, "/v1/ask", json.dumps(ASKED | {"a` - at `$.k": 1}).encode()).json()
    assert told["code"] == "invalid_request"


def test_fields_of_an_answer_are_as_strict(client: TestClient) -> None:
    told = _post(client, "/v1/ask", json.dumps(ASKED | {"format": "none"}).encode()).json()
    assert told["detail"] == 'body.format: expected one of "cited", "plain", "scienceon", got "none".'
    for stream, shown in ((0, "0"), ("true", '"true"')):
        told = _post(client, "/v1/ask", json.dumps(ASKED | {"stream": stream}).encode()).json()
        assert told["detail"] == f"body.stream: expected true or false, got {shown}."


@pytest.mark.parametrize(
    ("body", "got"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'{"question":"a"}{"question":"b"}', "Extra data: line 1 column 17 (char 16)"),
        (b'{"question":"\xff"}', "'utf-8' codec can't decode byte 0xff in position 13"),
        (b'{"question":"a","k":' + b"[" * 50_000, "maximum recursion depth exceeded"),
        (b'{"question":"\\ud800"}', "it has NaN, half a surrogate pair or another encoding"),
        (b'{"question":"film","k":NaN}', "it has NaN, half a surrogate pair or another encoding"),
        ('{"question":"film"}'.encode("utf-16"), "it has NaN, half a surrogate pair or another encoding"),
    ],
    ids=["empty", "cut", "two", "no UTF-8", "deep", "surrogate", "NaN", "UTF-16"],
)
def test_what_is_no_json_is_refused(client: TestClient, body: bytes, got: str) -> None:
    for path in ("/v1/search", "/v1/ask"):
        refused = _post(client, path, body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_json")
        assert refused.json()["detail"].startswith(f"body: not JSON in UTF-8: {got}")


@pytest.mark.parametrize(
    "body", [b'{"question":"shield","question":"film"}', b'{"question":"a","\\u0071uestion" : "b"}']
)
def test_a_key_twice_is_refused_by_its_name(client: TestClient, body: bytes) -> None:
    for path in ("/v1/search", "/v1/ask"):
        refused = _post(client, path, body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
        detail = "body: the key 'question' occurs more than once in an object: send it once."
        assert refused.json()["detail"] == detail


@pytest.mark.parametrize(
    "body",
    [
        b' {"question": "film"}\n',
        b'\xef\xbb\xbf{"question":"film"}',
        b'{"\\u0071uestion":"film"}',
    ],
)
def test_json_may_have_spaces_a_byte_order_mark_and_escapes(client: TestClient, body: bytes) -> None:
    for path in ("/v1/search", "/v1/ask"):
        answer = _post(client, path, body)
        assert answer.status_code == 200
        assert answer.json().get("search", answer.json())["question"] == "film"


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/problem+json"]
)
def test_a_body_may_be_any_kind_of_json(client: TestClient, content_type: str) -> None:
    assert _post(client, "/v1/search", json.dumps(ASKED).encode(), content_type).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""],
)
def test_a_body_that_a_foreign_page_could_send_is_not_read(client: TestClient, content_type: str) -> None:
    refused = _post(client, "/v1/search", json.dumps(ASKED).encode(), content_type)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert refused.json()["detail"] == f"content-type: expected application/json, got {content_type!r}."
    assert client.post("/v1/search", content=json.dumps(ASKED).encode()).status_code == 422


def test_a_query_string_is_read_by_the_same_rules(client: TestClient) -> None:
    for query, detail in [
        ("", "query.q: this field is required and missing."),
        ("q=a&k=x", 'query.k: expected an integer from 1 to 1000, got "x".'),
        ("q=a&k=", 'query.k: expected an integer from 1 to 1000, got "".'),
        ("q=a&k=0", 'query.k: expected an integer from 1 to 1000, got "0".'),
        (
            "q=a&jurnal=x",
            "query.jurnal: there is no such parameter, use year_from, year_to, language, journal, type, author, q, k, "
            "strategy, keyword_order, facets, index, offset.",
        ),
        ("q=a&language=kr", 'query.language.0: expected one of "en", "ko", "und", got "kr".'),
        ("q=a&year_from=2020&year_to=x", 'query.year_to: expected an integer from 0 to 9999 or null, got "x".'),
        (
            "q=a&year_from=2020&year_to=2010",
            "The filter's years end before they begin (2020 to 2010): exchange the two.",
        ),
        ("q=a&keyword_order=x", 'query.keyword_order: expected one of "entropy", "model", "tfidf", got "x".'),
    ]:
        refused = client.get(f"/v1/search?{query}")
        assert (refused.status_code, refused.json()["detail"]) == (422, detail)
    found = client.get("/v1/search?q=film&k=2&language=en&language=ko").json()
    assert (found["question"], len(found["records"])) == ("film", 2)


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("q=a&q=b", "query.q: this parameter occurs more than once: send it once."),
        ("q=a&k=1&k=1", "query.k: this parameter occurs more than once: send it once."),
        ("q=%ff%fe", "query: not in UTF-8: 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte."),
        ("q=%b0%a1", "query: not in UTF-8: 'utf-8' codec can't decode byte 0xb0 in position 2: invalid start byte."),
        ("q=a&%ff=b", "query: not in UTF-8: 'utf-8' codec can't decode byte 0xff in position 4: invalid start byte."),
    ],
)
def test_a_query_string_must_be_utf_8_and_have_a_parameter_once_as_a_body_has_a_key(
    client: TestClient, query: str, detail: str
) -> None:
    refused = client.get(f"/v1/search?{query}")
    assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (422, "invalid_request", detail)


def test_the_page_refuses_a_query_string_that_is_not_utf_8(client: TestClient) -> None:
    refused = client.get("/?q=%ff", headers={"accept": "text/html", "accept-language": "en"})
    assert (refused.status_code, "query: not in UTF-8" in refused.text) == (422, True)


@pytest.mark.parametrize("path", ["/v1/indexes", "/health/live", "/metrics", "/openapi.json", "/docs/api"])
def test_an_address_without_parameters_refuses_every_one(client: TestClient, path: str) -> None:
    refused = client.get(f"{path}?x=1")
    assert refused.status_code == 422
    assert "query.x: there is no such parameter, this address has none." in refused.text
    assert client.get(path).status_code == 200
    assert client.get("/v1/models?x=1").status_code == 400  # as OpenAI's API says it


@pytest.mark.parametrize("path", ["/?", "/stream?q=film&", "/record?docid=DEMO-MAT-001&", "/references?docid=a&"])
def test_the_page_refuses_a_parameter_that_it_does_not_read(client: TestClient, path: str) -> None:
    refused = client.get(f"{path}yaer=2020", headers={"accept-language": "en"})
    assert refused.status_code == 422
    assert "there is no such parameter, use " in refused.text


def test_a_list_of_a_query_string_has_every_value() -> None:
    read = read_query(QueryParams("docid=a&docid=b&format=ris"), ReferencesQuery)
    assert read == ReferencesQuery(["a", "b"], "ris")
    with pytest.raises(HTTPProblem, match=r"query\.docid: expected a list of 1 to 50 items, got a list of length 51\."):
        read_query(QueryParams([("docid", "a")] * 51), ReferencesQuery)


def test_a_body_in_pieces_is_put_together_and_one_that_is_too_large_refused(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for byte in json.dumps(ASKED).encode():
            yield bytes([byte])

    answer = client.post("/v1/search", content=pieces(), headers={"content-type": JSON})
    assert (answer.status_code, answer.json()["question"]) == (200, QUESTION)
    much = iter([b" " * LARGEST_BODY, b"{}"])
    refused = client.post("/v1/search", content=much, headers={"content-type": JSON})
    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")


def test_a_refusal_of_a_full_server_is_a_problem_and_counted_once(demo: Engine) -> None:
    client = TestClient(create_app(demo, limits=ServerLimits(deadline=1e-9)), base_url="http://127.0.0.1")
    answer = client.post("/v1/search", json=ASKED)
    assert (answer.status_code, answer.json()["code"]) == (503, "deadline_exceeded")
    figures = client.get("/metrics").text
    assert 'shrag_rejections_total{reason="deadline_exceeded"} 1.0' in figures
    assert 'shrag_request_duration_seconds_count{method="POST",route="/v1/search",status="503"} 1.0' in figures


def test_a_request_id_is_in_the_answer_and_its_header(client: TestClient) -> None:
    answer: httpx2.Response = client.post("/v1/search", json=ASKED, headers={"x-request-id": "mine"})
    assert (answer.headers["x-request-id"], answer.json()["request_id"]) == ("mine", "mine")
    assert answer.headers["content-type"] == JSON
    assert "content-security-policy" in answer.headers


def test_head_is_answered_wherever_get_is_and_has_no_body(client: TestClient) -> None:
    for path in ("/health/live", "/v1/indexes", "/v1/search?q=film", "/", "/static/page.css"):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
    refused = client.head("/v1/ask")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_whether_the_client_has_left_is_listened_for_once_and_no_longer_than_the_handler_runs() -> None:
    received, sent = 0, []
    gone: asyncio.Event

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        if received == 1:  # nobody has read the body
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:  # noqa: ANN401
        sent.append(message)

    async def handler(request: Request) -> dict[str, list[bool]]:
        told = [await request.is_disconnected() for _ in range(3)]
        if leaves:
            gone.set()
            await asyncio.sleep(0.01)
        return {"left": [*told, await request.is_disconnected()]}

    async def serve() -> int:
        nonlocal gone
        gone = asyncio.Event()
        scope = {"type": "http", "method": "GET", "headers": [], "query_string": b""}
        await Operation()(handler)(scope, receive, send)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    for leaves in (False, True):
        sent.clear()
        received = 0
        assert asyncio.run(serve()) == 1
        assert received == 2
        assert json.loads(sent[1]["body"]) == {"left": [False, False, False, leaves]}
