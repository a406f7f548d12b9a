"""R14 in short: half-open and dripping connections beside clients that behave. Bounds are shortened."""

from __future__ import annotations

import json
import statistics
import threading
import time
from contextlib import suppress

import pytest

from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from shrag.serving.http.connection_limits import DESCRIPTORS_KEPT, Deadlines
from tests.conftest import ROOT
from tests.support.live import QUESTION, Live, live, read_all, split

# Written out, so that a change of the module's own is noticed.
MOST_WAITING = 16

pytestmark = pytest.mark.slow


def test_the_bounds_are_those_that_the_documentation_promises() -> None:
    assert (Deadlines.receive_seconds, Deadlines.unread_seconds, DESCRIPTORS_KEPT) == (10, 60, 256)
    promised = " ".join((ROOT / "docs/en/reference/http.md").read_text(encoding="utf-8").split())
    assert "A request has 10 seconds to come in" in promised
    assert "a stream that nobody reads is closed after 60 seconds" in promised
    assert "Connections that would leave fewer than 256 file descriptors" in promised


def _times(server: Live, count: int) -> list[float]:
    times = []
    for _ in range(count):
        started = time.perf_counter()
        assert server.ask("GET", "/health/live")[0] == 200
        times.append(time.perf_counter() - started)
    return times


def test_half_open_and_dripping_connections_are_closed_in_time_and_hold_nobody_up(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 1.5)
    with live(demo) as server:
        alone = statistics.median(_times(server, 50))
        started = time.monotonic()
        half_open = [server.connect() for _ in range(200)]
        for place, connection in enumerate(half_open):
            connection.sendall((b"", b"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1\r\n")[place % 2])
        dripping = [server.connect() for _ in range(50)]
        stop = threading.Event()

        def drip() -> None:
            head = b"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            for place, connection in enumerate(dripping):
                connection.sendall(head + (b"content-length: 500\r\n\r\n" if place % 2 else b""))
            while not stop.wait(0.2):
                for connection in dripping:
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        continue

        dripper = threading.Thread(target=drip)
        dripper.start()
        beside = statistics.median(_times(server, 50))
        answers = [read_all(connection) for connection in half_open + dripping]
        took = time.monotonic() - started
        stop.set()
        dripper.join()
        for connection in half_open + dripping:
            connection.close()
        assert took < 8
        assert sum(answer.startswith(b"HTTP/1.1 408 ") for answer in answers) >= 225
        assert beside < max(3 * alone, 0.2)
        assert server.ask("GET", "/health/live")[0] == 200


def test_a_request_that_comes_in_pieces_but_in_time_is_answered(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 3.0)
    with live(demo) as server, server.connect() as connection:
        body = json.dumps({"question": QUESTION}).encode()
        head = f"host: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        request = f"POST /v1/search HTTP/1.1\r\n{head}\r\n\r\n".encode() + body
        for start in range(0, len(request), 40):
            connection.sendall(request[start : start + 40])
            time.sleep(0.02)
        assert split(read_all(connection))[0] == 200


def _search_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    original = EventRun.take_all

    def slow(run: EventRun[Event]) -> object:
        time.sleep(0.8)
        return original(run)

    monkeypatch.setattr(EventRun, "take_all", slow)


def test_an_answer_longer_than_the_bound_for_requests_is_not_cut(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 0.2)
    _search_slowly(monkeypatch)
    with live(demo) as server:
        assert server.ask("POST", "/v1/search", {"question": QUESTION})[0] == 200


def test_a_kept_connection_has_a_bound_of_its_own_for_each_request(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 0.6)
    with live(demo) as server, server.connect() as connection:
        for _ in range(4):
            connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            answer = b""
            while b"live" not in answer:
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ")
            time.sleep(0.3)
        connection.sendall(b"GET /health/live HTTP/1.1\r\n")
        started = time.monotonic()
        assert read_all(connection).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /" + b"a" * 1_000_000,
        b"GET /" + b"a" * 50_000,
        b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 1_000_000,
        b"GET /health/live HTTP/1.1\r\n" + b"x: y\r\n" * 12_000,
        b"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: " + b"a" * 1_000_000,
        b"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
        + b"x: y\r\n" * 30_000,
    ],
    ids=["address", "little more than allowed", "header", "headers", "trailer", "trailers"],
)
def test_a_head_that_does_not_end_is_not_kept(demo: Engine, begin: bytes) -> None:
    with live(demo) as server, server.connect() as connection:
        started = time.monotonic()
        with suppress(ConnectionError):
            connection.sendall(begin)
        # Trailers that came with the headers are counted with them.
        assert read_all(connection)[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 431", b""}
        assert time.monotonic() - started < Deadlines.receive_seconds / 2
        assert server.ask("GET", "/health/live")[0] == 200


def test_requests_sent_at_once_are_answered_in_turn_and_are_bounded(demo: Engine) -> None:
    live_request = b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with live(demo) as server:
        with server.connect() as connection:
            connection.sendall(
                live_request * (MOST_WAITING - 1) + live_request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
            )
            assert read_all(connection).count(b"HTTP/1.1 200 ") == MOST_WAITING
        with server.connect() as connection:
            connection.sendall(live_request * 1_000)
            assert read_all(connection).count(b"HTTP/1.1 200 ") < MOST_WAITING
        assert server.ask("GET", "/health/live")[0] == 200


def test_half_a_request_behind_another_one_does_not_cut_its_answer(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 0.2)
    _search_slowly(monkeypatch)
    with live(demo) as server, server.send("POST", "/v1/search", {"question": QUESTION}) as connection:
        connection.sendall(b"POST /v1/search HTTP/1.1\r\nhost:")
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.count(b"HTTP/1.1 408 ") == 1


def test_line_ends_that_trickle_in_are_no_request(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deadlines, "receive_seconds", 0.5)
    with live(demo) as server, server.connect() as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        started = time.monotonic()
        connection.settimeout(0.05)
        answer = b""
        while time.monotonic() - started < 3:
            try:
                piece = connection.recv(65536)
                answer += piece
                if not piece:
                    break
            except TimeoutError:
                connection.sendall(b"\r\n")
            except ConnectionError:
                break
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert time.monotonic() - started < 2
