"""Who may ask: which addresses need a key, and that no route is reached without it."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.errors import ServingError
from shrag.serving.http.access import PUBLIC, Access, APIKeyMiddleware, access_for_host
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.logging import LOGGER, JsonLines
from shrag.serving.http.middleware import LOOPBACK
from tests.support.live import KeptEngine

KEY = "q7Wm0cXv3ZpLr9TnBs5KyHd2FgJu8Ae4"
BEARER = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def app(demo: Engine) -> Starlette:
    return create_app(KeptEngine(demo.open_index), Access(key=ApiKey(KEY)))


@pytest.fixture
def client(app: Starlette, demo: Engine) -> TestClient:
    """Return a client that no wrong key was sent by before."""
    return TestClient(create_app(KeptEngine(demo.open_index), Access(key=ApiKey(KEY))), base_url="http://127.0.0.1")


def addresses(app: Starlette) -> Iterator[tuple[str, str]]:
    """Give a method and a path for every route there is."""
    for route in app.routes:
        if isinstance(route, Mount):
            for name in ("palette.css", "page.css", "page.js", "nothing"):
                yield "GET", f"{route.path}/{name}"
        elif isinstance(route, Route):
            for method in sorted(route.methods or ()):
                yield method, route.path.replace("{model:path}", "demo/shrag")
        else:
            raise TypeError(f"What is {route}? Say here how it is asked.")


def test_every_route_is_public_or_answers_401_in_its_own_form_of_error(app: Starlette) -> None:
    client = TestClient(app, base_url="http://127.0.0.1")
    tried = list(addresses(app))
    assert len(tried) >= 25
    reached = set()
    for method, path in tried:
        response = client.request(method, path, follow_redirects=False)
        if response.status_code != 401:
            reached.add(path)
            continue
        assert response.headers["www-authenticate"] == 'Bearer realm="shrag"'
        openai = path.startswith(("/v1/models", "/v1/chat", "/v1/embeddings"))
        assert response.headers["content-type"] == ("application/json" if openai else "application/problem+json")
        if method != "HEAD":
            told = response.json()
            assert (told["error"]["code"] if openai else told["code"]) == "key_needed"
    assert reached == PUBLIC - {"/static/icon.svg"}
    assert client.get("/static/icon.svg").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/health/live/", "/health/live/../ready", "//health/live", "/HEALTH/LIVE",
        "/health/live%2f..%2fready",
        "/static/page.css/../page.js", "/static/../health", "/sign-in/", "/sign-in/x", "/health/live;x",
        "/docs", "/docs/api", "/docs/en/", "/docs/en/_static/shrag.css",
        "/redoc",
    ],
)  # fmt: skip
def test_a_path_that_is_like_a_public_one_is_not_public(client: TestClient, path: str) -> None:
    raw = client.build_request("GET", "http://127.0.0.1" + path)
    assert client.send(raw, follow_redirects=False).status_code in {401, 200 if path == "/static/page.css" else 401}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_no_method_gets_around_it(client: TestClient, method: str) -> None:
    assert client.request(method, "/v1/search?q=a").status_code == 401


@pytest.mark.parametrize(
    "value",
    [
        "", "Bearer", "Bearer ", f"Basic {KEY}", KEY, f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", f"Bearer {KEY.lower()}",
        f"Bearer {KEY} {KEY}", f"Bearer {KEY},", f'Bearer "{KEY}"', f"Token {KEY}",
    ],
)  # fmt: skip
def test_what_is_not_the_key_is_refused_and_said_to_be(client: TestClient, value: str) -> None:
    response = client.get("/v1/indexes", headers={"authorization": value})
    assert (response.status_code, response.json()["detail"]) == (401, "The API key is not this server's.")
    assert response.headers["www-authenticate"] == 'Bearer realm="shrag", error="invalid_token"'


def test_the_key_opens_every_route(client: TestClient) -> None:
    for path in ("/", "/v1/indexes", "/v1/models", "/health", "/metrics", "/openapi.json", "/static/page.js"):
        assert client.get(path, headers=BEARER).status_code == 200
    assert client.get("/v1/search?q=a", headers={"authorization": f"bearer {KEY}"}).status_code == 200


def test_two_headers_are_none_so_that_no_layer_reads_the_other_one(client: TestClient) -> None:
    headers = [("authorization", f"Bearer {KEY}"), ("authorization", "Bearer x")]
    assert client.get("/v1/indexes", headers=headers).status_code == 401
    assert client.get("/v1/indexes", headers=headers[::-1]).status_code == 401


def test_the_key_is_read_from_the_header_only(client: TestClient) -> None:
    for address in (f"/v1/indexes?key={KEY}", f"/v1/indexes?access_token={KEY}", f"/v1/indexes?api_key={KEY}"):
        assert client.get(address).status_code == 401
    for name in ("x-api-key", "api-key", "cookie", "proxy-authorization", "x-forwarded-authorization"):
        assert client.get("/v1/indexes", headers={name: f"Bearer {KEY}"}).status_code == 401


def test_after_ten_wrong_keys_none_from_that_address_is_looked_at_not_the_right_one_either(client: TestClient) -> None:
    wrong = {"authorization": "Bearer wrong"}
    assert [client.get("/v1/indexes", headers=wrong).status_code for _ in range(11)] == [401] * 10 + [429]
    slowed = client.get("/v1/indexes", headers=BEARER)
    assert (slowed.status_code, slowed.json()["code"], slowed.headers["retry-after"]) == (429, "too_many_keys", "1")
    assert client.get("/v1/indexes").status_code == 401
    assert client.get("/health/live").status_code == 200


def test_requests_without_a_key_do_not_count_as_wrong_ones(client: TestClient) -> None:
    for _ in range(30):
        assert client.get("/v1/indexes").status_code == 401
    assert client.get("/v1/indexes", headers=BEARER).status_code == 200


def test_a_foreign_host_is_told_the_flag_that_allows_it_and_nothing_else_even_with_the_key(client: TestClient) -> None:
    response = client.get("/v1/indexes", headers=BEARER | {"host": "host.docker.internal:8080"})
    host = "host.docker.internal"
    told = f"This server does not answer under the host name {host}: start it with --allow-host {host}, or send "
    assert (response.status_code, response.text) == (400, f"{told}the request under the server's own name.\n")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    response = client.get("/v1/indexes", headers=BEARER | {"host": "<b>x</b>"})
    assert (response.status_code, response.text) == (400, "This server does not answer under the host name given.\n")


def test_without_a_key_there_is_nothing_to_sign_in_to(demo: Engine) -> None:
    client = TestClient(create_app(KeptEngine(demo.open_index)), base_url="http://127.0.0.1")
    assert client.get("/sign-in").status_code == 404
    assert client.get("/v1/indexes", headers={"authorization": "Bearer anything"}).status_code == 200


def test_a_websocket_is_closed_and_reaches_nothing() -> None:
    async def reached(*_: object) -> None:
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Any) -> None:  # noqa: ANN401
        sent.append(message)

    layer = APIKeyMiddleware(reached, Access(key=ApiKey(KEY)))
    asyncio.run(layer({"type": "websocket", "path": "/health/live", "headers": []}, reached, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_key_is_in_no_answer_and_no_line_of_the_log(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(Engine, "run", fail)
    stream = io.StringIO()
    lines = JsonLines(stream)
    logger = logging.getLogger(LOGGER)
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    near = KEY[:-1] + "!"
    said = ""
    try:
        for headers in (BEARER, {"authorization": f"Bearer {near}"}, {"authorization": KEY}, {"cookie": f"a={KEY}"}):
            failing = TestClient(client.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
            response = failing.post("/v1/search", json={"question": "a"}, headers=headers)
            said += response.text + str(response.headers)
            said += str(failing.post("/sign-in", data={"key": near, "next": "/"}).text)
    finally:
        logger.removeHandler(lines)
        lines.close()
    log = stream.getvalue()
    assert '"status":500' in log
    assert "Traceback" in log
    assert '"refused":"wrong key","client":"testclient"' in log
    for secret in (KEY, near, KEY[:16]):
        assert secret not in said + log


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "localhost"])
def test_on_loopback_there_may_be_no_key(host: str) -> None:
    assert access_for_host(host) == Access(LOOPBACK, None)


def test_a_server_on_another_loopback_address_answers_under_it() -> None:
    assert access_for_host("127.0.0.2") == Access((*LOOPBACK, "127.0.0.2"), None)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::7", "search.example", "", "::ffff:127.0.0.1"]
)
def test_any_other_address_needs_one(host: str) -> None:
    with pytest.raises(ServingError, match="can be reached from other machines, and there is no API key"):
        access_for_host(host)


def test_a_server_goes_by_its_address_and_the_names_it_is_given() -> None:
    key = ApiKey(KEY)
    assert access_for_host("192.0.2.7", key).hosts == (*LOOPBACK, "192.0.2.7")
    assert access_for_host("2001:DB8::7", key).hosts == (*LOOPBACK, "[2001:db8::7]")
    assert access_for_host("0.0.0.0", key, ["Search.Example", "2001:db8::7"]).hosts == (
        *LOOPBACK, "search.example", "[2001:db8::7]",
    )  # fmt: skip
    assert access_for_host("127.0.0.1", None, ["search.example"]).hosts == (*LOOPBACK, "search.example")
    for every in ("0.0.0.0", "::"):
        with pytest.raises(ServingError, match="means every address and has no name: give the name or address"):
            access_for_host(every, key)


@pytest.mark.parametrize(
    "name", ["", "*", "*.example", "http://a", "a:80", "a/b", "a b", "[::1", "[::1]:80", "가.example", "-a", "a" * 300]
)
def test_what_is_no_host_name_is_refused(name: str) -> None:
    with pytest.raises(ServingError, match="is not a host name: write a name or an address alone"):
        access_for_host("127.0.0.1", None, [name])


def test_a_name_that_was_allowed_is_answered_and_its_own_pages_may_ask(demo: Engine) -> None:
    access = access_for_host("127.0.0.1", None, ["search.example"])
    client = TestClient(create_app(KeptEngine(demo.open_index), access), base_url="http://127.0.0.1")
    body = {"question": "a"}
    for host, origin, status in [
        ("search.example", "https://search.example", 200),
        ("search.example:8080", "http://search.example:8080", 200),
        ("SEARCH.example", "http://127.0.0.1:8080", 200),
        ("search.example", "https://evil.example", 403),
        ("search.example", "https://search.example.evil.example", 403),
        ("search.example.evil.example", "https://search.example", 400),
        ("other.example", "https://other.example", 400),
    ]:
        assert client.post("/v1/search", json=body, headers={"host": host, "origin": origin}).status_code == status
