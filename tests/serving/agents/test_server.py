"""The protocol's server, asked by the protocol's own client in this process."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError

from shrag.indexing.errors import DependencyMissing, IndexMissing
from shrag.models.language_model import Completion, Message
from shrag.serving.agents import server as mcp_server
from shrag.serving.agents.server import build_server, check_installed, http_application, serve_http
from shrag.serving.engine import Engine
from shrag.serving.errors import ServingError
from shrag.serving.runtime.admission import AdmissionControl
from shrag.serving.runtime.index_registry import ServedIndexes
from shrag.serving.strategies.registry import STRATEGIES
from tests.support.published import wait_for
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"

_Given = TypeVar("_Given")


class _Lent(Engine):
    """The demonstration's engine, not closed with the indexes."""

    def close(self) -> None:
        """Leave it open."""


@pytest.fixture
def served(demo_home: Path, demo: Engine) -> Iterator[ServedIndexes]:
    """Return the demonstration index, served."""
    served = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index))
    yield served
    served.close()


def _with_client(served: ServedIndexes, work: Callable[[Client], Awaitable[_Given]], mode: str = "auto") -> _Given:
    async def run() -> _Given:
        async with Client(build_server(served, AdmissionControl()), mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_finds_the_tools_and_takes_their_replies(served: ServedIndexes, mode: str) -> None:
    async def work(client: Client) -> tuple[Any, Any]:
        return await client.list_tools(), await client.call_tool("search", {"query": QUESTION, "k": 2})

    listed_tools, found = _with_client(served, work, mode)
    assert [tool.name for tool in listed_tools.tools] == ["search", "ask", "get_document", "fetch", "list_indexes"]
    assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in listed_tools.tools)
    assert not found.is_error
    assert found.structured_content["records"][0]["docid"] == "DEMO-SOC-012"
    assert json.loads(found.content[0].text)["results"][0]["id"] == "DEMO-SOC-012"


def test_a_follow_up_question_is_read_after_the_turns_before_it(served: ServedIndexes) -> None:
    history = [{"question": "How much does milk yield fall in dairy cows under heat stress?", "answer": "By 14.9%."}]
    asked = {"question": "And what about their conception rate?", "history": history}
    sought = {"query": asked["question"], "history": history, "k": 1}

    async def work(client: Client) -> tuple[Any, Any]:
        return await client.call_tool("ask", asked), await client.call_tool("search", sought)

    answered, found = _with_client(served, work)
    read_as = (
        "Together with the earlier questions, this was understood as: And what about their conception rate? milk "
        "yield fall dairy cows "
        "heat stress"
    )
    assert answered.structured_content["read_as"] == read_as
    assert answered.content[0].text.splitlines()[1] == read_as
    assert answered.structured_content["citations"][0]["docid"] == "DEMO-AGR-008"
    assert found.structured_content["records"][0]["docid"] == "DEMO-AGR-008"
    assert json.loads(found.content[0].text)["read_as"] == found.structured_content["read_as"] == read_as


def test_the_authors_that_a_question_names_are_said(served: ServedIndexes) -> None:
    async def work(client: Client) -> tuple[Any, Any]:
        asked = await client.call_tool("ask", {"question": "papers by Ferrand"})
        return asked, await client.call_tool("search", {"query": "papers by Ferrand"})

    for reply in _with_client(served, work):
        assert reply.structured_content["read_as"] == "Author of this name: Maddox Ferrand."
        assert "Author of this name: Maddox Ferrand." in reply.content[0].text


def test_the_strategies_are_those_the_index_can_be_asked_by(demo_home: Path, demo: Engine) -> None:
    async def work(client: Client) -> list[Any]:
        return list((await client.list_tools()).tools)

    def offered(engine: Callable[[], Engine]) -> list[str]:
        served = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: engine())
        tools = {tool.name: tool.input_schema["properties"] for tool in _with_client(served, work)}
        assert tools["search"]["strategy"]["enum"] == tools["ask"]["strategy"]["enum"]
        assert "strategy" not in tools["fetch"]
        return list(tools["ask"]["strategy"]["enum"])

    assert offered(lambda: _Lent(demo.open_index)) == list(demo.strategies)
    with_model = offered(lambda: _Lent(demo.open_index, ScriptedModel()))
    assert [name for name in STRATEGIES if name not in with_model] == ["raise-0.84", "raise-0.80"]


@pytest.mark.parametrize("error", [IndexMissing("It is gone."), RuntimeError("secret")])
def test_the_tools_are_listed_where_no_index_can_be_opened(demo_home: Path, error: Exception) -> None:
    def fail() -> Engine:
        raise error

    async def work(client: Client) -> list[Any]:
        return list((await client.list_tools()).tools)

    served = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: fail())
    search, *_ = _with_client(served, work)
    assert search.input_schema["properties"]["strategy"]["enum"] == list(STRATEGIES)


def test_what_goes_wrong_is_a_tool_error_in_one_sentence(served: ServedIndexes) -> None:
    async def work(client: Client) -> list[Any]:
        return [
            await client.call_tool("search", {"query": ""}),
            await client.call_tool("search", {"query": "x", "index": "n" * 5_000}),
        ]

    empty, unknown = _with_client(served, work)
    assert (empty.is_error, empty.content[0].text) == (True, "The question is empty: write one.")
    assert empty.structured_content is None
    assert "structured_content" not in empty.model_fields_set
    assert len(unknown.content[0].text) == 1_000


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(served: ServedIndexes) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(
            MCPError, match="There is no tool 'nope': use one of search, ask, get_document, fetch, list_indexes"
        ):
            await client.call_tool("nope", {})

    _with_client(served, work)


def test_what_nobody_foresaw_is_told_without_its_words_and_logged(
    demo_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Engine:
        raise RuntimeError("secret")

    served = ServedIndexes(demo_home / "indexes", ["demo"], fail)

    async def work(client: Client) -> list[Any]:
        return [await client.call_tool("search", {"query": "x"})]

    with caplog.at_level(logging.ERROR):
        (failed,) = _with_client(served, work)
    assert failed.is_error
    assert failed.content[0].text == "The server failed with RuntimeError; its log says where."
    assert "secret" in caplog.text


def test_a_client_that_gives_up_stops_the_model(demo_home: Path, demo: Engine) -> None:
    asked, go_on = threading.Event(), threading.Event()

    class _Slow(ScriptedModel):
        def complete(
            self,
            messages: Sequence[Message],
            schema: Mapping[str, object] | None = None,
            *,
            max_tokens: int = 1024,
            urgent: bool = False,
        ) -> Completion:
            asked.set()
            assert go_on.wait(20)
            return super().complete(messages, schema, max_tokens=max_tokens)

    model = _Slow(listed("재택근무"), listed("work"), ["##본론##\n재택근무이다 [1]."])
    served = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index, model))

    async def work(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
        await asyncio.to_thread(asked.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        go_on.set()
        # What was begun is over when the index can be closed: nobody has a lease on it any more.
        assert await asyncio.to_thread(wait_for, lambda: len(model.asked) > 0)

    _with_client(served, work)
    assert wait_for(lambda: served.current().status.closing == ())
    assert model.streams == []


def test_the_sdk_is_asked_for_by_name_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setattr(mcp_server, "find_spec", lambda _: None)
    with pytest.raises(DependencyMissing, match=r"pip install 'shrag\[mcp\]'"):
        check_installed()


def _http(served: ServedIndexes, *requests: dict[str, Any]) -> list[httpx2.Response]:
    """Send requests to the application, one after the other."""

    async def run() -> list[httpx2.Response]:
        app: Any = http_application(served)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8081") as client,
        ):
            return [await client.request(**({"method": "POST", "url": "/mcp"} | each)) for each in requests]

    return asyncio.run(run())


_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
_ACCEPT = {"accept": "application/json, text/event-stream"}


def test_over_http_only_this_address_is_answered_and_no_web_page(served: ServedIndexes) -> None:
    def hello(**headers: str) -> dict[str, Any]:
        return {"json": _HELLO, "headers": _ACCEPT | headers}

    whole = [
        hello(),
        hello(host="localhost:8081"),
        hello(host="evil.example"),
        hello(host="evil.example:8081"),
        hello(host="127.0.0.1:9"),
        hello(host="127.0.0.1.evil.example:8081"),
        hello(origin="http://evil.example"),
        hello(origin="http://127.0.0.1:8081"),
        hello(origin="null"),
        {"content": b"x" * ((1 << 20) + 1), "headers": _ACCEPT | {"content-type": "application/json"}},
        {"content": b"{}", "headers": _ACCEPT | {"content-type": "text/plain"}},
        {"method": "GET", "url": "/"},
    ]
    statuses = [response.status_code for response in _http(served, *whole)]
    assert statuses == [200, 200, 400, 400, 200, 400, 403, 403, 403, 413, 400, 404]


def test_over_http_another_address_is_refused_before_anything_is_opened(served: ServedIndexes) -> None:
    with pytest.raises(ServingError, match=r"0\.0\.0\.0 can be reached from other machines"):
        serve_http(served, host="0.0.0.0", port=0, ready=lambda _: None)
