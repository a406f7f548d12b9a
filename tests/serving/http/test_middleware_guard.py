"""R14's bounds on requests, and who may ask at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest
from starlette.routing import Route

from shrag.serving.app import ROUTES
from shrag.serving.engine import Engine
from tests.support.live import QUESTION, Live, live, read_all, split

# Written out, so that a change of the module's own is noticed.
LARGEST_BODY = 1_048_576
MOST_HEADERS = 100


@pytest.fixture(scope="module")
def server(demo: Engine) -> Iterator[Live]:
    with live(demo) as running:
        yield running


def _code(answer: tuple[int, str, str]) -> tuple[int, str]:
    problem = json.loads(answer[2])
    return answer[0], problem.get("error", problem)["code"]


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Live) -> None:
    with server.connect() as connection:
        head = "host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1099511627776"
        connection.sendall(f"POST /v1/search HTTP/1.1\r\n{head}\r\n\r\n".encode())
        assert _code(split(read_all(connection))) == (413, "body_too_large")


@pytest.mark.parametrize("piece", [65_536, 2 * LARGEST_BODY], ids=["pieces", "one piece"])
@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/chat/completions"])
def test_a_body_of_unsaid_length_is_read_up_to_the_bound(server: Live, path: str, piece: int) -> None:
    with server.connect() as connection:
        head = "host: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked"
        connection.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())
        try:
            for _ in range(LARGEST_BODY // piece + 1):
                connection.sendall(b"%x\r\n" % piece + b" " * piece + b"\r\n")
        except OSError:
            pass  # closed already
        assert _code(split(read_all(connection))) == (413, "body_too_large")


def test_two_host_headers_are_refused_whichever_comes_first(server: Live) -> None:
    for hosts in (("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "evil.example"), ("evil.example", "127.0.0.1")):
        with server.connect() as connection:
            lines = "".join(f"host: {host}\r\n" for host in hosts)
            connection.sendall(f"GET /v1/indexes HTTP/1.1\r\n{lines}connection: close\r\n\r\n".encode())
            status, _, body = split(read_all(connection))
        assert (status, "one Host header" in body) == (400, True)


_VARYING = ("date:", "x-request-id:", "content-length:", "transfer-encoding:")
"""Headers that may differ: times are in most bodies, and without a body there is nothing to transfer."""


_DOCUMENT = "?docid=DEMO-SOC-012"
_QUERIES = {
    "/stream": "?q=film",
    "/v1/search": "?q=film",
    "/v1/documents": _DOCUMENT,
    "/record": _DOCUMENT,
    "/record/text": _DOCUMENT,
    "/references": _DOCUMENT,
}
"""The query strings of routes that need one."""


@pytest.mark.parametrize(
    "path", sorted({each.path for each in ROUTES if isinstance(each, Route) and "GET" in (each.methods or ())})
)
def test_head_answers_as_get_does_without_a_body(server: Live, path: str) -> None:
    address = path.replace("{model:path}", "demo/shrag") + _QUERIES.get(path, "")
    got, head = server.ask("GET", address), server.ask("HEAD", address)
    assert (head[0], head[2]) == (got[0], "")
    assert got[0] == (307 if path == "/docs" else 200)
    assert _without_varying(head[1]) == _without_varying(got[1])


def _without_varying(head: str) -> list[str]:
    return [line for line in head.splitlines() if not line.startswith(_VARYING)]


def test_a_compressed_body_is_refused(server: Live) -> None:
    bomb = gzip.compress(b" " * 100_000)
    with server.connect() as connection:
        head = "host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-encoding: gzip"
        head += f"\r\ncontent-length: {len(bomb)}"
        connection.sendall(f"POST /v1/search HTTP/1.1\r\n{head}\r\n\r\n".encode() + bomb)
        assert _code(split(read_all(connection))) == (415, "encoding_not_read")


def test_headers_are_bounded_in_number_and_in_size(server: Live) -> None:
    many = {f"x-{number}": "a" for number in range(MOST_HEADERS)}
    assert _code(server.ask("GET", "/health/live", **many)) == (431, "headers_too_large")
    assert _code(server.ask("GET", "/health/live", x_big="a" * 17_000)) == (431, "headers_too_large")
    assert server.ask("GET", "/health/live", x_big="a" * 15_000)[0] == 200
    assert server.ask("GET", "/health/live", x_huge="a" * 200_000)[0] in {400, 431}


def test_an_address_is_bounded_and_holds_the_longest_question(server: Live) -> None:
    longest = "%EA%B0%80" * 2_000
    assert server.ask("GET", f"/v1/search?q={longest}")[0] == 200
    assert _code(server.ask("GET", "/v1/search?q=" + "a" * 33_000)) == (414, "address_too_long")
    assert server.ask("GET", "/v1/search?q=" + "a" * 200_000)[0] in {400, 414}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://[::"])
def test_a_page_of_another_site_may_not_ask(server: Live, origin: str) -> None:
    for path in ("/v1/search", "/v1/ask", "/v1/chat/completions"):
        status, _, body = server.ask("POST", path, {"question": QUESTION}, origin=origin)
        told = json.loads(body)
        assert (status, told.get("code") or told["error"]["code"]) == (403, "foreign_origin")


def test_our_own_page_may(server: Live) -> None:
    for origin in (server.url, "http://localhost:9", "http://[::1]:80"):
        assert server.ask("POST", "/v1/search", {"question": QUESTION}, origin=origin)[0] == 200


def test_a_refused_request_has_a_request_id_and_the_headers_of_any_other(server: Live) -> None:
    status, head, body = server.ask("POST", "/v1/search", {}, origin="http://evil.example", x_request_id="abc")
    assert (status, json.loads(body)["request_id"]) == (403, "abc")
    assert "x-request-id: abc" in head
    assert "content-security-policy: default-src 'none'" in head


def test_a_link_on_another_site_may_lead_here_and_its_scripts_may_not_ask(server: Live) -> None:
    link = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    script = {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    for site in ("cross-site", "same-site"):
        assert server.ask("GET", "/", sec_fetch_site=site, **link)[0] == 200
        assert _code(server.ask("GET", "/v1/indexes", sec_fetch_site=site, **script)) == (403, "foreign_origin")
        assert server.ask("POST", "/", {}, sec_fetch_site=site, **link)[0] == 403
