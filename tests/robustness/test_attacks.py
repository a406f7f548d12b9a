"""Hostile requests open no file, make no connection and run nothing, on any route and in any field."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.settings import LlmSettings
from shrag.serving.api.openapi import openapi_document
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http.access import Access
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.logging import LOGGER, JsonLines
from shrag.serving.page.rendering import PAGE_FOLDER
from tests.serving.http.test_access import BEARER, KEY, addresses
from tests.support.fake_endpoint import Endpoint, serving
from tests.support.fault_modes import SPLIT_CHARACTERS, only_the_answer
from tests.support.hostile_input import ADDRESSES, PATHS, PROGRAMS
from tests.support.live import QUESTION, KeptEngine, live

pytestmark = pytest.mark.slow

SECRET = re.compile(r"root:x:0|PATH=/|\[boot loader\]|uid=0|BEGIN OPENSSH")


class Watch:
    """What this process opened and where it connected while it was looked at, from any thread."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.connected: list[Any] = []
        self.ran: list[str] = []
        self.on = False
        sys.addaudithook(self._saw)

    def _saw(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            self.opened.append(str(arguments[0]))
        elif event in {"socket.connect", "socket.sendto"}:
            self.connected.append(arguments[1])
        elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
            self.connected.append((arguments[0],))
        elif event in {
            "subprocess.Popen",
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "pickle.find_class",
            "marshal.loads",
        }:
            self.ran.append(event)

    @contextmanager
    def look(self) -> Iterator[None]:
        self.opened, self.connected, self.ran, self.on = [], [], [], True
        try:
            yield
        finally:
            self.on = False

    def elsewhere(self) -> list[Any]:
        """Return the connections that did not stay on this machine."""
        return [to for to in self.connected if isinstance(to, tuple) and to[0] not in {"127.0.0.1", "::1", "localhost"}]


@pytest.fixture(scope="module")
def watch() -> Watch:
    """Return what watches; Python has no way to take it away, so that it is made once."""
    return Watch()


@pytest.fixture(scope="module")
def app(demo: Engine) -> Starlette:
    return create_app(KeptEngine(demo.open_index))


@pytest.fixture(scope="module")
def client(app: Starlette) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False, follow_redirects=False)


def _places(app: Starlette) -> list[tuple[str, str, Any]]:
    """Return a method, a path and a body for every string of every route, with ``@`` where the string stands."""
    file = openapi_document(app.routes)
    found: list[tuple[str, str, Any]] = []
    for path, operations in file["paths"].items():
        for method, operation in operations.items():
            names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
            required = {each["name"]: "a" for each in operation.get("parameters", ()) if each.get("required")}
            for name in names:
                others = "&".join(f"{key}={value}" for key, value in required.items() if key != name)
                found.append((method, f"{path}?{name}=@&{others}", None))
            if "{" in path:
                found.append((method, re.sub(r"\{.*\}", "@", path), None))
            if "requestBody" in operation:
                whole = {"question": "a", "model": "demo/shrag", "messages": [{"role": "user", "content": "a"}]}
                shape = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                fields = file["components"]["schemas"][shape]["properties"]
                base = {key: value for key, value in whole.items() if key in fields}
                found += [(method, path, base | {name: "@"}) for name in fields]
                found.append((method, path, base | {"index_path": "@"}))
                if "messages" in fields:
                    found.append((method, path, base | {"messages": [{"role": "user", "content": "@"}]}))
    # Those that the file does not describe: the page, its stream, references, files.
    found += [
        ("get", f"{path}?{name}=@&q=a", None)
        for path in ("/", "/stream")
        for name in ("q", "k", "ui", "lang", "journal", "from")
    ]
    found += [("get", "/references?docid=@", None), ("get", "/references?docid=a&format=@", None)]
    found += [
        ("get", "/static/@", None),
        ("get", "/@", None),
        ("get", "/docs/api?url=@", None),
        ("get", "/docs/@", None),
        ("get", "/v1/@", None),
    ]
    return found


def _send(client: TestClient, place: tuple[str, str, Any], payload: str) -> tuple[int, str]:
    method, path, body = place
    content = json.dumps(body).replace('"@"', json.dumps(payload)).encode() if body is not None else None
    headers = {"content-type": "application/json"} if content else {}
    # The address as it stands where it can be an address, so that no client tidies it up before.
    url = path.replace(
        "@", payload if re.fullmatch(r"[!-~]+", payload) and "?" not in path else quote(payload, safe="")
    )
    response = client.request(method.upper(), url, content=content, headers=headers)
    return response.status_code, response.text


def test_every_string_of_every_route_is_tried(app: Starlette) -> None:
    places = _places(app)
    assert len(PATHS) >= 50
    assert len(places) >= 35
    assert {"/v1/search", "/v1/ask", "/v1/documents", "/v1/chat/completions", "/references", "/static/", "/stream"} <= {
        path.partition("?")[0].replace("@", "") for _, path, _ in places
    }


@pytest.mark.parametrize("payloads", [PATHS, ADDRESSES, PROGRAMS], ids=["paths", "addresses", "programs"])
def test_no_string_of_a_request_is_a_path_an_address_or_a_program(
    app: Starlette, client: TestClient, watch: Watch, payloads: tuple[str, ...]
) -> None:
    client.get(f"/?q={quote(QUESTION)}")  # templates and word lists are read once
    wrong, tried, names = [], 0, set()
    for place in _places(app):
        for payload in payloads:
            with watch.look():
                try:
                    status, text = _send(client, place, payload)
                except ValueError:  # no client can write that address
                    continue
            tried += 1
            names |= {payload} if payload in "\n".join(watch.opened).splitlines() else set()
            outside = [file for file in watch.opened if "/etc/" in file or "/root/.ssh" in file or "environ" in file]
            if status >= 500 or SECRET.search(text) or outside or watch.elsewhere() or watch.ran:
                wrong.append((place, payload, status, outside, watch.connected, watch.ran))
    assert wrong == []
    assert names == set()
    assert tried >= 30 * len(payloads)


def test_the_watch_sees_what_it_is_there_to_see(watch: Watch, tmp_path: Any) -> None:  # noqa: ANN401
    import socket
    import subprocess

    with watch.look():
        (tmp_path / "seen").write_text("x", encoding="utf-8")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.connect(("127.0.0.2", 9))
        subprocess.run(["true"], check=True)
    assert str(tmp_path / "seen") in watch.opened
    assert watch.elsewhere() == [("127.0.0.2", 9)]
    assert watch.ran == ["subprocess.Popen"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "http://192.0.2.1/x.png"}},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "input_image", "image_url": "http://192.0.2.1/x.png"},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "http://192.0.2.1/x"}},
        {"type": "file", "file": {"file_id": "../../etc/passwd"}},
        {"type": "text", "text": None},
    ],
    ids=lambda part: str(part["type"]),
)
def test_a_part_of_a_message_that_is_not_text_is_a_400_and_nothing_is_fetched(
    client: TestClient, watch: Watch, part: dict[str, Any]
) -> None:
    text = {"type": "text", "text": "그래핀"}
    for parts in ([part], [text, part], [part, text]):
        body = {"model": "demo/shrag", "messages": [{"role": "user", "content": parts}]}
        with watch.look():
            response = client.post("/v1/chat/completions", json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "text_only")
        assert watch.connected == []


def test_a_question_served_with_a_model_connects_to_the_models_address_and_nowhere_else(
    demo: Engine, watch: Watch
) -> None:
    endpoint = Endpoint(only_the_answer(SPLIT_CHARACTERS))
    with serving(endpoint) as address:
        model = OpenAIModel(LlmSettings(url=address, model="m", retries=0))
        with live(demo, model) as server:
            with watch.look():
                for path, body in (
                    ("/v1/ask", {"question": QUESTION}),
                    ("/v1/ask", {"question": QUESTION + " http://192.0.2.1/", "stream": True}),
                    ("/v1/search", {"question": "그래핀"}),
                ):
                    assert server.ask("POST", path, body)[0] == 200
                assert server.ask("GET", f"/?q={quote(QUESTION)}")[0] == 200
            port = int(address.partition("//")[2].partition("/")[0].rpartition(":")[2])
            assert {to[1] for to in watch.connected if len(to) > 1} == {server.port, port}
            assert watch.elsewhere() == []
            assert len(endpoint.asked) > 0
        model.close()


@pytest.fixture(scope="module", params=[False, True], ids=["without a key", "with a key"])
def guarded(request: pytest.FixtureRequest, demo: Engine) -> tuple[Starlette, dict[str, str]]:
    """Return an application and what its client sends along."""
    if request.param:
        return create_app(KeptEngine(demo.open_index), Access(key=ApiKey(KEY))), BEARER
    return create_app(KeptEngine(demo.open_index)), {}


def test_a_foreign_host_or_origin_is_refused_on_every_route(guarded: tuple[Starlette, dict[str, str]]) -> None:
    app, sent = guarded
    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False, follow_redirects=False)
    for method, path in addresses(app):
        for host in (
            "evil.example",
            "127.0.0.1.evil.example",
            "evil.example:8080",
            "",
            "127.0.0.1@evil.example",
            "[::1]x",
            "0",
        ):
            assert client.request(method, path, headers=sent | {"host": host}).status_code == 400, (path, host)
        changes = method not in {"GET", "HEAD"}
        for origin in ("http://evil.example", "null", "http://127.0.0.1:8080@evil.example", "http://127.0.0.1:x"):
            status = client.request(method, path, headers=sent | {"origin": origin}).status_code
            assert (status == 403) is changes, (path, origin)
        for site in ("cross-site", "same-site"):
            for mode, dest in (("cors", "empty"), ("no-cors", "image"), ("navigate", "iframe"), ("no-cors", "script")):
                headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
                assert client.request(method, path, headers=sent | headers).status_code == 403, (path, headers)


def test_a_link_from_another_site_is_followed_and_our_own_page_asks(client: TestClient) -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/?q=a", headers=visit).status_code == 200
    assert client.post("/v1/search", json={"question": "a"}, headers=visit).status_code == 403
    own = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    assert client.post("/v1/search", json={"question": "a"}, headers=own).status_code == 200
    assert client.get("/health", headers={"sec-fetch-site": "none"}).status_code == 200


def test_no_response_lets_another_site_read_it(client: TestClient, app: Starlette) -> None:
    every = list(addresses(app))
    assert len(every) > 10
    for method, path in every:
        response = client.request(method, path, headers={"origin": "http://127.0.0.1"})
        assert not [name for name in response.headers if name.startswith("access-control-")]
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert response.headers["x-content-type-options"] == "nosniff"


OUTSIDE = re.compile(
    r"""https?://(?!www\.w3\.org/2000/svg)[^\s"'<]*|(?:src|href|action)=["']//|@import|url\(|srcset=|\bws://"""
)


def test_no_page_and_no_file_of_the_server_has_an_outside_address(guarded: tuple[Starlette, dict[str, str]]) -> None:
    app, sent = guarded
    client = TestClient(app, base_url="http://127.0.0.1")
    files = [f"/static/{file.name}" for file in sorted((PAGE_FOLDER / "static").iterdir())]
    assert len(files) >= 10
    pages = [
        "/",
        f"/?q={quote(QUESTION)}&ui=ko",
        "/?q=graphene&ui=en",
        "/?q=",
        "/docs/api",
        "/sign-in",
        "/nothing",
        f"/stream?q={quote(QUESTION)}",
    ]
    for path in (*files, *pages):
        text = client.get(path, headers=sent).text
        assert text
        # Links of records are text on the page, which a reader opens by hand; the demonstration's records have none.
        assert OUTSIDE.findall(text) == [], path


def test_the_log_has_no_word_of_a_question_whatever_route_it_came_by(demo: Engine) -> None:
    stream = io.StringIO()
    lines = JsonLines(stream)
    logger = logging.getLogger()
    own = logging.getLogger(LOGGER)
    levels = logger.level, own.level
    for each in (logger, own):
        each.addHandler(lines)
        each.setLevel(logging.DEBUG)
    words = ("비밀질문낱말", "secretquestionword")
    try:
        client = TestClient(
            create_app(KeptEngine(demo.open_index)), base_url="http://127.0.0.1", raise_server_exceptions=False
        )
        for word in words:
            asked = f"그래핀 {word}"
            for path in ("/", "/stream", "/v1/search", "/v1/documents"):
                client.get(path, params={"q": asked, "docid": word, "k": "x" if path == "/v1/search" else "10"})
            client.get(f"/{word}")
            client.get(f"/v1/models/{word}")
            for body in ({"question": asked}, {"question": asked, "stream": True}, {"question": asked, word: 1}):
                client.post("/v1/ask", json=body)
                client.post("/v1/search", json=body)
            client.post(
                "/v1/chat/completions", json={"model": "demo/shrag", "messages": [{"role": "user", "content": asked}]}
            )
            client.post(
                "/v1/search",
                json={"question": asked},
                headers={"x-request-id": "id", "referer": f"http://a/?q={quote(word)}"},
            )
    finally:
        for each in (logger, own):
            each.removeHandler(lines)
        logger.setLevel(levels[0])
        own.setLevel(levels[1])
        lines.close()
    log = stream.getvalue()
    assert log.count('"event":"request"') >= 24
    # The test's own client says what it asks for; it is not the server.
    served = [line for line in log.splitlines() if '"event":"HTTP Request:' not in line]
    for word in words:
        assert not [line for line in served if word in line or quote(word) in line]


def test_threads_of_a_hostile_session_are_those_of_an_ordinary_one(client: TestClient) -> None:
    before = threading.active_count()
    for payload in PATHS[:20]:
        client.get("/v1/documents", params={"docid": payload})
    assert threading.active_count() <= before + 4
