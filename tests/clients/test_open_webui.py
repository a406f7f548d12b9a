"""Open WebUI's own server before ours: its list of models, a conversation with a follow-up question, its tasks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shrag.serving.engine import Engine
from tests.support.live import live

pytestmark = pytest.mark.clients

PROGRAM = Path(os.environ.get("SHRAG_OPEN_WEBUI", Path(__file__).parents[2] / ".venv-open-webui/bin/open-webui"))
START_SECONDS = 300
MODEL = "demo/shrag"
QUESTION = "How much does milk yield fall in dairy cows under heat stress?"


@pytest.fixture(scope="module")
def webui(demo: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Return a client that is signed in to an Open WebUI whose only connection is our server."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not there: `make test-clients` sets it up")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("open-webui")
    with live(demo) as server, (folder / "log").open("wb") as log:
        settings = {
            "DATA_DIR": str(folder),
            "WEBUI_AUTH": "False",
            "WEBUI_SECRET_KEY": "test",
            "OFFLINE_MODE": "True",
            "HF_HUB_OFFLINE": "1",
            "ENABLE_OLLAMA_API": "False",
            "OPENAI_API_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "unused",
            "RAG_EMBEDDING_ENGINE": "openai",
        }
        command = [str(PROGRAM), "serve", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **settings}, cwd=folder)
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                _wait_for(client, process, folder / "log")
                signed_in = client.post("/api/v1/auths/signin", json={"email": "admin@localhost", "password": "admin"})
                client.headers["Authorization"] = f"Bearer {signed_in.json()['token']}"
                yield client
        finally:
            process.terminate()
            process.wait(60)


def test_its_list_has_one_model(webui: httpx2.Client) -> None:
    assert [model["id"] for model in webui.get("/api/models").json()["data"]] == [MODEL]


def test_a_conversation_has_a_follow_up_question_and_citations_that_open_a_page(webui: httpx2.Client) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    first = _message(webui, messages)
    messages += [
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": "And what about their conception rate?"},
    ]
    second = _message(webui, messages)
    assert second["content"].startswith(
        "> Together with the earlier questions, this was understood as: And what about their conception rate?"
    )
    (cited, *_) = second["annotations"]
    assert cited["url_citation"]["url"].endswith("/record?docid=DEMO-AGR-008")
    page = httpx2.get(cited["url_citation"]["url"], headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    streamed = webui.post("/api/chat/completions", json={"model": MODEL, "messages": messages, "stream": True})
    pieces = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: {")]
    text = "".join(choice["delta"].get("content") or "" for piece in pieces for choice in piece["choices"])
    assert text == second["content"]


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        ("title", {"title": QUESTION[:40].rsplit(" ", 1)[0] + "…"}),
        ("tags", {"tags": []}),
        ("follow_up", {"follow_ups": []}),
        ("queries", {"queries": []}),
    ],
)
def test_its_tasks_get_a_reply_of_their_form_and_no_answer(
    webui: httpx2.Client, task: str, reply: dict[str, object]
) -> None:
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "By 14.9%."}]
    body = {"model": MODEL, "messages": messages, "type": "web_search"}
    answer = webui.post(f"/api/v1/tasks/{task}/completions", json=body).json()
    assert json.loads(answer["choices"][0]["message"]["content"]) == reply


def _message(client: httpx2.Client, messages: list[dict[str, str]]) -> Any:  # noqa: ANN401
    answer = client.post("/api/chat/completions", json={"model": MODEL, "messages": messages, "stream": False})
    return answer.json()["choices"][0]["message"]


def _wait_for(client: httpx2.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.5)
    pytest.fail(f"Open WebUI did not start:\n{log.read_text(errors='replace')[-4000:]}")
