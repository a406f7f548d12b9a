"""``shrag mcp`` as a process, called by the protocol's own client and by raw lines."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters

from shrag.cli.main import run
from shrag.serving.runtime.admission import ServerLimits

pytestmark = pytest.mark.process

START = "import sys; from shrag.cli.main import main; main()"
QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"

_Given = TypeVar("_Given")


def _ask_by_stdio(home: Path, work: Callable[[Client], Awaitable[_Given]], *names: str) -> _Given:
    async def run() -> _Given:
        server = StdioServerParameters(
            command=sys.executable, args=["-c", START, "mcp", *names], env={"SHRAG_HOME": str(home)}
        )
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(run())


def test_a_client_starts_it_and_asks_in_korean(demo_home: Path) -> None:
    async def work(client: Client) -> list[Any]:
        return [
            client.server_info,
            await client.list_tools(),
            await client.call_tool("list_indexes", {}),
            await client.call_tool("search", {"query": QUESTION, "index": "demo", "k": 3}),
            await client.call_tool("ask", {"question": QUESTION}),
            await client.call_tool("get_document", {"docid": "DEMO-SOC-012"}),
        ]

    info, tools, indexes, found, answered, document = _ask_by_stdio(demo_home, work, "demo")
    assert info.name == "shrag"
    assert [tool.name for tool in tools.tools] == ["search", "ask", "get_document", "fetch", "list_indexes"]
    assert [each["name"] for each in indexes.structured_content["indexes"]] == ["demo"]
    assert len(found.structured_content["records"]) == 3
    assert found.structured_content["records"][0]["docid"] == "DEMO-SOC-012"
    assert answered.structured_content["citations"] == [
        {
            "number": 1,
            "docid": "DEMO-SOC-012",
            "title": "재택근무 강도와 일·가정 갈등 : 직무 자율성의 조절 효과",
            "page": "",
        }
    ]
    assert answered.content[0].text.startswith("(발췌 답변: 언어 모델을 쓰지 않고")
    assert "재택근무" in document.structured_content["text"]


def test_a_call_takes_no_longer_than_the_deadline_that_was_given(demo_home: Path) -> None:
    async def work(client: Client) -> Any:  # noqa: ANN401  (the client's own type of an answer)
        return await client.call_tool("ask", {"question": QUESTION})

    late = _ask_by_stdio(demo_home, work, "demo", "--deadline", "0.0001")
    assert late.is_error
    assert late.content[0].text.startswith("The answer was not complete within 0.0001 s")


def test_limits_and_verification_reach_the_server(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[ServerLimits, str]] = []
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    monkeypatch.setattr(
        "shrag.serving.agents.server.serve_stdio",
        lambda indexes, limits: given.append((limits, indexes._verify)),
    )
    assert run(["mcp", "demo"]) == 0
    own = ["--verify", "quick", "--asks", "3", "--queued-asks", "5", "--deadline", "7"]
    assert run(["mcp", "demo", *own]) == 0
    assert given == [(ServerLimits(), "changed"), (ServerLimits(asks=3, queued_asks=5, deadline=7.0), "quick")]


def test_each_mistake_is_a_tool_error_and_the_next_call_is_answered(demo_home: Path) -> None:
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("search", {"query": "x", "index": "nope"}, "There is no index 'nope' here: use one of demo."),
        ("search", {"query": "  "}, "The question is empty: write one."),
        ("ask", {"question": ""}, "The question is empty: write one."),
        ("search", {"query": "x", "k": 0}, "k must be from 1 to 50, got 0."),
        ("search", {"query": "x", "k": 51}, "k must be from 1 to 50, got 51."),
        ("get_document", {"docid": "NOPE"}, "Index demo has no document 'NOPE': use a docid that search gave."),
    ]

    async def work(client: Client) -> list[Any]:
        answers = [await client.call_tool(name, arguments) for name, arguments, _ in calls]
        return [*answers, await client.call_tool("search", {"query": "그래핀", "k": 1})]

    # No name: demo.
    *wrong, right = _ask_by_stdio(demo_home, work)
    assert [(each.is_error, each.content[0].text) for each in wrong] == [(True, words) for _, _, words in calls]
    assert not right.is_error


def test_nothing_but_the_protocol_reaches_standard_output(demo_home: Path) -> None:
    noisy = (
        "import os\nfrom shrag.serving import request\nparse = request.parse_question\n"
        "def loud(*given):\n    print('noise'); os.write(1, b'noise\\n'); return parse(*given)\n"
        "request.parse_question = loud\n"
    )
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "ask", "arguments": {"question": "새로운낱말검사 그래핀"}},
        },
        {"id": 3, "method": "tools/call", "params": {"name": "search", "arguments": {"query": ""}}},
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", noisy + START, "mcp", "demo"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SHRAG_HOME": str(demo_home)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    answers = {}
    for line in lines:
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | line, ensure_ascii=False) + "\n")
        process.stdin.flush()
        if "id" in line:
            answer = json.loads(process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer["id"]] = answer["result"]
    rest, said = process.communicate(timeout=30)
    assert (rest, process.returncode) == ("", 0)
    assert said.count("noise") >= 2
    assert answers[2]["content"][0]["type"] == "text"
    assert answers[2]["structuredContent"]["index"] == "demo"
    assert answers[3]["content"] == [{"type": "text", "text": "The question is empty: write one."}]
    assert answers[3]["isError"] is True
    assert "structuredContent" not in answers[3]


def test_over_http_the_client_asks_the_address_it_printed_until_it_is_told_to_stop(demo_home: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", START, "mcp", "demo", "--http", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "SHRAG_HOME": str(demo_home)},
    )  # fmt: skip
    try:
        assert server.stderr is not None
        match = re.search(r"http://127\.0\.0\.1:\d+/mcp", server.stderr.readline())
        assert match

        async def ask(address: str) -> list[Any]:
            async with Client(address) as client:
                return [await client.call_tool("ask", {"question": QUESTION})]

        (answered,) = asyncio.run(ask(match.group()))
        assert answered.structured_content["citations"][0]["docid"] == "DEMO-SOC-012"
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=12) == 0
        assert server.stdout is not None
        assert server.stdout.read() == ""
    finally:
        server.kill()
        server.communicate()


def _run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, "mcp", *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        env={**os.environ, "SHRAG_HOME": str(home)},
    )  # fmt: skip


@pytest.mark.parametrize("home", [True, False], ids=["other indexes", "no index"])
def test_a_missing_index_is_one_line_that_names_the_command(demo_home: Path, tmp_path: Path, home: bool) -> None:
    done = _run(demo_home if home else tmp_path, "nope")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert "build it with `shrag index nope`" in done.stderr


def test_a_taken_port_and_an_open_address_are_refused_in_one_line(demo_home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = _run(demo_home, "demo", "--http", "--port", str(taken.getsockname()[1]))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "cannot be listened on" in done.stderr
    done = _run(demo_home, "demo", "--http", "--host", "0.0.0.0")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert "0.0.0.0 can be reached from other machines" in done.stderr


def test_without_the_sdk_it_is_one_line_with_the_way_to_it(demo_home: Path) -> None:
    without = (
        "import importlib.util as found\nfind = found.find_spec\n"
        "found.find_spec = lambda name, *rest: None if name == 'mcp' else find(name, *rest)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", without + START, "mcp", "demo"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        env={**os.environ, "SHRAG_HOME": str(demo_home)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (6, "", 1)
    assert "pip install 'shrag[mcp]'" in done.stderr
