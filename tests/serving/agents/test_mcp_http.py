"""The tools over HTTP: the same server, layers, limits and end as the other one, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.serving.agents.server import http_application, serve_http
from shrag.serving.engine import Engine
from shrag.serving.errors import ServingError
from shrag.serving.http.access import Access
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.server import listen, make_server
from shrag.serving.runtime.admission import AdmissionControl, ServerLimits
from shrag.serving.runtime.index_registry import ServedIndexes
from tests.serving.http.test_access import BEARER, KEY
from tests.support.live import Live, read_all, split, wait_until
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
CALL = {"accept": "application/json, text/event-stream", "content_type": "application/json"}

_Given = TypeVar("_Given")


class _Lent(Engine):
    """The demonstration's engine, not closed with the indexes."""

    def close(self) -> None:
        """Leave it open."""


class _Slow(ScriptedModel):
    """A model that is asked and waits until it is let."""

    def __init__(self) -> None:
        super().__init__(listed("재택근무"), listed("work"), ["##본론##\n재택근무이다 [1]."])
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.begun.release()
        assert self.go_on.wait(30)
        return super().complete(messages, schema, max_tokens=max_tokens)


@contextmanager
def _running(
    demo_home: Path,
    demo: Engine,
    model: LanguageModel | None = None,
    limits: ServerLimits | None = None,
    access: Access | None = None,
) -> Iterator[tuple[Live, AdmissionControl]]:
    indexes = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index, model))
    app = http_application(indexes, access, limits)
    with listen("127.0.0.1", 0) as listener:
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        work: AdmissionControl = app.state.service
        try:
            yield Live(listener.getsockname()[1], work, server, thread), work  # type: ignore[arg-type]
        finally:
            if isinstance(model, _Slow):
                model.go_on.set()
            server.should_exit = True
            thread.join(15)
            assert not thread.is_alive()


def _client(server: Live, work: Callable[[Client], Awaitable[_Given]], key: str = "") -> _Given:
    async def run() -> _Given:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
            async with Client(transport) as client:
                return await work(client)

    return asyncio.run(run())


def _body(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def _say(answer: tuple[int, str, str]) -> str:
    assert answer[0] == 200
    return str(json.loads(answer[2])["result"]["content"][0]["text"])


def test_the_client_searches_and_fetches_as_connectors_do_and_reads_records_as_resources(
    demo_home: Path, demo: Engine
) -> None:
    async def work(client: Client) -> list[Any]:
        found: Any = await client.call_tool("search", {"query": QUESTION})
        first = json.loads(found.content[0].text)["results"][0]
        return [
            found, first,
            await client.call_tool("fetch", {"id": first["id"]}),
            await client.list_resource_templates(),
            await client.list_resources(),
            await client.read_resource("shrag://document/DEMO-SOC-012"),
        ]  # fmt: skip

    with _running(demo_home, demo) as (server, _):
        found, first, fetched, templates, resources, read = _client(server, work)
    record = demo.document("DEMO-SOC-012")
    assert record is not None
    assert len(found.content) == len(fetched.content) == 1
    assert (first["id"], first["title"], first["url"]) == (
        "DEMO-SOC-012", record.title, record.link or "shrag://document/DEMO-SOC-012",
    )  # fmt: skip
    assert found.structured_content["results"][0] == first
    document = json.loads(fetched.content[0].text)
    assert document == fetched.structured_content
    assert (document["id"], document["text"], document["metadata"]["truncated"]) == ("DEMO-SOC-012", record.text, False)
    assert [each.uri_template for each in templates.resource_templates] == ["shrag://document/{docid}{?index}"]
    assert resources.resources == []
    assert (read.contents[0].mime_type, read.contents[0].text) == (
        "text/plain", f"DEMO-SOC-012 {record.title}\n{record.text}",
    )  # fmt: skip


def test_what_was_done_without_the_model_is_counted(demo_home: Path, demo: Engine) -> None:
    away = ModelUnavailable("away.")
    model = ScriptedModel(away, away, [away])
    with _running(demo_home, demo, model) as (server, _):
        assert _say(server.ask("POST", "/mcp", _body("search", {"query": QUESTION}), **CALL))
        assert _say(server.ask("POST", "/mcp", _body("ask", {"question": QUESTION}), **CALL))
        metrics = server.ask("GET", "/metrics")[2]
    for stage, calls in (("keywords", 2), ("answer", 1)):
        assert f'shrag_fallbacks_total{{cause="unavailable",stage="{stage}"}} {calls}.0' in metrics
        assert f'shrag_stage_duration_seconds_count{{stage="{stage}"}} {calls}.0' in metrics


@pytest.mark.parametrize(
    "uri",
    ["shrag://document/NOPE", "shrag://document/..%2F..%2Fetc%2Fpasswd", "file:///etc/passwd", "http://192.0.2.1/"],
)
def test_a_resource_that_is_none_is_an_error_of_the_protocol(demo_home: Path, demo: Engine, uri: str) -> None:
    async def work(client: Client) -> str:
        with pytest.raises(Exception, match=r"no such resource|has no document") as told:
            await client.read_resource(uri)
        return str(told.value)

    with _running(demo_home, demo) as (server, _):
        assert "\n" not in _client(server, work)


def test_with_a_key_the_client_needs_it(demo_home: Path, demo: Engine) -> None:
    async def work(client: Client) -> Any:  # noqa: ANN401
        return await client.call_tool("search", {"query": QUESTION, "k": 1})

    with _running(demo_home, demo, access=Access(key=ApiKey(KEY))) as (server, _):
        assert _client(server, work, KEY).structured_content["records"][0]["docid"] == "DEMO-SOC-012"
        for key in ("", "wrong"):
            with pytest.raises(BaseExceptionGroup):
                _client(server, work, key)


def test_every_route_of_the_tools_needs_the_key_but_the_sign_of_life(demo_home: Path, demo: Engine) -> None:
    indexes = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index))
    app: Any = http_application(indexes, Access(key=ApiKey(KEY)))
    client = TestClient(app, base_url="http://127.0.0.1")
    paths = {route.path for route in app.routes}
    assert paths == {"/mcp", "/health/live", "/health/ready", "/metrics"}
    for path in sorted(paths):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            response = client.request(method, path)
            if path == "/health/live":
                assert response.status_code in {200, 405}
            else:
                assert (response.status_code, response.json()["code"]) == (401, "key_needed")
                assert response.headers["www-authenticate"] == 'Bearer realm="shrag"'
    assert client.get("/metrics", headers=BEARER).status_code == 200
    assert client.get("/sign-in").status_code == 404
    assert client.get("/nothing").status_code == 401


def test_more_calls_than_may_wait_are_told_to_come_back_and_counted(demo_home: Path, demo: Engine) -> None:
    model = _Slow()
    limits = ServerLimits(asks=1, queued_asks=0)
    with _running(demo_home, demo, model, limits) as (server, _):
        first = server.send("POST", "/mcp", _body("ask", {"question": QUESTION}), **CALL)
        assert model.begun.acquire(timeout=20)
        started = time.monotonic()
        assert "1 requests are running and 0 are waiting, and at most 0 may wait now: ask again later" in _say(
            server.ask("POST", "/mcp", _body("ask", {"question": "그래핀"}), **CALL)
        )
        assert time.monotonic() - started < 2
        read = server.ask("POST", "/mcp", _body("get_document", {"docid": "DEMO-SOC-012"}), **CALL)
        assert _say(read).startswith("DEMO-SOC-012 ")
        assert 'shrag_rejections_total{reason="overloaded"} 1.0' in server.ask("GET", "/metrics")[2]
        first.close()


@pytest.mark.slow
def test_a_call_ends_at_its_deadline(demo_home: Path, demo: Engine) -> None:
    model = _Slow()
    with _running(demo_home, demo, model, ServerLimits(deadline=0.7)) as (server, _):
        started = time.monotonic()
        said = _say(server.ask("POST", "/mcp", _body("ask", {"question": QUESTION}), **CALL))
        assert said == "The answer was not complete within 0.7 s: ask again, or ask for fewer records."
        assert time.monotonic() - started < 4


@pytest.mark.slow
def test_a_client_that_leaves_takes_its_call_with_it(demo_home: Path, demo: Engine) -> None:
    model = _Slow()
    with _running(demo_home, demo, model) as (server, work):
        connection = server.send("POST", "/mcp", _body("ask", {"question": QUESTION}), **CALL)
        assert model.begun.acquire(timeout=20)
        connection.close()
        time.sleep(0.8)
        model.go_on.set()
        wait_until(lambda: work.in_flight == 0)
        assert model.streams == []


def test_it_drains_what_was_begun_ends_whole_and_calls_that_still_come_are_answered(
    demo_home: Path, demo: Engine
) -> None:
    model = _Slow()
    with _running(demo_home, demo, model) as (server, work):
        with server.send("POST", "/mcp", _body("ask", {"question": QUESTION}), connection="close", **CALL) as begun:
            assert model.begun.acquire(timeout=20)
            server.server.handle_exit(signal.SIGTERM, None)
            wait_until(lambda: work.draining)
            status, head, body = server.ask("GET", "/health/ready")
            assert (status, json.loads(body)["code"], "retry-after: 5" in head) == (503, "shutting_down", True)
            assert server.ask("GET", "/health/live")[0] == 200
            late = server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **CALL)
            assert (late[0], "connection: close" in late[1]) == (200, True)
            model.go_on.set()
            result = json.loads(split(read_all(begun))[2])["result"]
        assert result["structuredContent"]["citations"][0]["docid"]
        server.thread.join(10)
        assert not server.thread.is_alive()


def test_requests_have_the_same_headers_and_bounds_as_elsewhere(demo_home: Path, demo: Engine) -> None:
    with _running(demo_home, demo) as (server, _):
        status, head, _body_text = server.ask("GET", "/health/live", x_request_id="abc")
        assert (status, "x-request-id: abc" in head, "content-security-policy" in head) == (200, True, True)
        assert server.ask("POST", "/mcp", None, x_big="a" * 17_000)[0] == 431
        assert server.ask("POST", "/mcp", {"x": "a" * (1 << 20)}, **CALL)[0] == 413
        assert server.ask("GET", "/health/live", host="evil.example")[0] == 400
        assert server.ask("POST", "/mcp", {}, origin="http://evil.example")[0] == 403


def test_an_address_that_others_reach_needs_a_key_before_anything_is_opened(demo_home: Path, demo: Engine) -> None:
    def never(*_: object) -> Engine:
        raise AssertionError

    indexes = ServedIndexes(demo_home / "indexes", ["demo"], never)
    with pytest.raises(ServingError, match=r"0\.0\.0\.0 can be reached from other machines, and there is no API key"):
        serve_http(indexes, host="0.0.0.0", port=0, ready=lambda _: None)
