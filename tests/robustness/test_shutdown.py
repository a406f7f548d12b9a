"""R19: the server stops in order. The grace is shortened; whole processes, by their own: ``test_r19_process.py``."""

from __future__ import annotations

import errno
import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.settings import LlmSettings
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from tests.support.fake_endpoint import Endpoint, goes_on, serving
from tests.support.fault_modes import only_the_answer
from tests.support.live import QUESTION, Live, live, read_all, split, wait_until

pytestmark = pytest.mark.slow


@contextmanager
def _writing(demo: Engine) -> Iterator[tuple[Live, Endpoint]]:
    """Serve with a model that writes without end."""
    endpoint = Endpoint(only_the_answer(goes_on(0.02)))
    with serving(endpoint) as address:
        model = OpenAIModel(LlmSettings(url=address, model="m", retries=0))
        with live(demo, CircuitBreaker(model)) as server:
            yield server, endpoint
        model.close()


def test_a_stream_in_the_middle_has_a_grace_then_an_error_and_who_still_asks_is_answered(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.http.server._GRACE_SECONDS", 1.5)
    with _writing(demo) as (server, endpoint):
        stream = server.send("POST", "/v1/ask", {"question": QUESTION, "stream": True})
        whole = server.send("POST", "/v1/ask", {"question": QUESTION})
        wait_until(lambda: sum(bool(body.get("stream")) for body in endpoint.asked) == 2)
        started = time.monotonic()
        server.server.handle_exit(signal.SIGTERM, None)
        status, head, body = server.ask("GET", "/health/ready")
        assert (status, json.loads(body)["code"]) == (503, "shutting_down")
        assert "retry-after: 5" in head
        assert time.monotonic() - started < 1.4
        assert server.ask("GET", "/health/live")[0] == 200
        with server.send("POST", "/v1/search", {"question": QUESTION}) as late:
            status, head, _ = split(read_all(late))  # until the server closes
            assert (status, "connection: close" in head) == (200, True)
        last = split(read_all(stream))[2].strip().split("\n\n")[-1]
        assert last.startswith("event: error\n")
        assert json.loads(last.partition("data: ")[2])["code"] == "shutting_down"
        assert 1.4 < time.monotonic() - started < 8
        status, _, body = split(read_all(whole))
        assert (status, json.loads(body)["code"]) == (503, "shutting_down")
        server.thread.join(5)
        assert not server.thread.is_alive()
        assert endpoint.gone.wait(1)
        stream.close()
        whole.close()


def test_what_ends_within_the_grace_ends_whole(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    original = EventRun.take_all

    def slow(run: EventRun[Event]) -> object:
        time.sleep(0.7)
        return original(run)

    monkeypatch.setattr(EventRun, "take_all", slow)
    with live(demo) as server:
        with server.send("POST", "/v1/ask", {"question": QUESTION}, connection="close") as connection:
            wait_until(lambda: server.service.asks.busy == 1)
            server.server.handle_exit(signal.SIGTERM, None)
            assert split(read_all(connection))[0] == 200
        server.thread.join(5)
        assert not server.thread.is_alive()


def test_an_idle_server_ends_at_once_though_connections_are_kept_open(demo: Engine) -> None:
    with live(demo) as server, server.send("GET", "/health/live") as kept:
        assert kept.recv(65536)
        started = time.monotonic()
        server.server.handle_exit(signal.SIGTERM, None)
        server.thread.join(5)
        assert not server.thread.is_alive()
        assert time.monotonic() - started < 4


def test_a_kept_connection_has_its_next_request_answered_and_is_told_to_close(demo: Engine) -> None:
    with live(demo) as server, server.connect() as kept, server.connect() as begun:
        request = b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        kept.sendall(request)
        assert b"connection: close" not in kept.recv(65536).lower()
        begun.sendall(request[:30])
        server.server.handle_exit(signal.SIGTERM, None)
        time.sleep(0.3)
        kept.sendall(request)
        status, head, _ = split(read_all(kept))
        assert (status, "connection: close" in head) == (200, True)
        # The address is closed, and yet what has come in half is answered once it is whole.
        wait_until(lambda: _is_refused(server.port))
        begun.sendall(request[30:])
        assert split(read_all(begun))[0] == 200
        server.thread.join(5)
        assert not server.thread.is_alive()


def _is_refused(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(0.05)
        return tried.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_the_second_signal_ends_at_once(demo: Engine) -> None:
    with _writing(demo) as (server, endpoint):
        stream = server.send("POST", "/v1/ask", {"question": QUESTION, "stream": True})
        wait_until(lambda: any(body.get("stream") for body in endpoint.asked))
        started = time.monotonic()
        server.server.handle_exit(signal.SIGTERM, None)
        time.sleep(0.2)
        server.server.handle_exit(signal.SIGTERM, None)
        server.thread.join(5)
        assert not server.thread.is_alive()
        assert time.monotonic() - started < 2.5
        stream.close()
