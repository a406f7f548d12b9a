"""R15: a stream that nobody reads is bounded, closed, and takes the model's work with it. The bound is shortened."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator

import pytest

from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import AnswerSentence, Event, Sentence
from shrag.serving.http.connection_limits import Deadlines
from tests.support.clients import Kind, request
from tests.support.live import live, wait_until

pytestmark = pytest.mark.slow

LARGEST = 8 << 20
PIECE = 1 << 16


class Endless:
    """Work on a question that never ends; notes how much of it was taken and how it was let go of."""

    def __init__(self) -> None:
        self.taken = 0
        self.cancelled = threading.Event()
        self.closed = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()

    def events(self) -> Generator[Event, None, None]:
        try:
            while True:
                self.taken += PIECE
                yield AnswerSentence("body", Sentence("x" * PIECE, ()))
        finally:
            self.closed.set()


@pytest.mark.parametrize("kind", ["stream", "chat"])
def test_an_unread_stream_holds_8_mib_at_most_and_is_closed_with_the_models_work_when_its_time_is_over(
    demo: Engine, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    monkeypatch.setattr(Deadlines, "unread_seconds", 1.0)
    endless = Endless()
    monkeypatch.setattr(Engine, "run", lambda *_: EventRun(SingleFlight(endless.events, endless.cancel)))
    with live(demo) as server:
        with server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request(kind))
            wait_until(lambda: endless.taken > 0)
            assert endless.cancelled.wait(60)  # 8 MiB take more than ten seconds on a busy machine
            assert endless.closed.wait(60)
            wait_until(lambda: server.service.asks.busy == 0, 60)
        assert endless.taken <= LARGEST
        assert server.ask("GET", "/health/live")[0] == 200


@pytest.mark.parametrize(("piece", "pause", "stays"), [(4096, 0.002, True), (64, 0.05, False)])
def test_who_reads_slowly_is_waited_for_and_who_takes_a_little_now_and_then_is_not(
    demo: Engine, monkeypatch: pytest.MonkeyPatch, piece: int, pause: float, stays: bool
) -> None:
    monkeypatch.setattr(Deadlines, "unread_seconds", 1.0)
    endless = Endless()
    monkeypatch.setattr(Engine, "run", lambda *_: EventRun(SingleFlight(endless.events, endless.cancel)))
    with live(demo) as server, server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(request("stream"))
        until = time.monotonic() + 2.5
        while time.monotonic() < until and not endless.cancelled.wait(pause):
            connection.recv(piece)
        assert endless.cancelled.is_set() != stays
