"""R16: a client that leaves takes its work with it, down to the language model, whenever it leaves."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time

import pytest

from shrag.serving.engine import Engine
from shrag.serving.runtime.admission import ServerLimits
from tests.support.clients import KINDS, Kind, request
from tests.support.fake_endpoint import Endpoint, Handler, answers, goes_on, piece
from tests.support.fault_modes import KEYWORDS, only_the_answer
from tests.support.live import QUESTION, Live, wait_until
from tests.support.process_figures import held
from tests.support.scripted_models import modelled

pytestmark = pytest.mark.slow

STREAMS = 64
DROPS = 1_000
NOTICED = 5.0
"""Seconds within which the model is let go of."""
KEPT = 2 * 16
"""Descriptors of connections to the model that its client keeps for the next question, both ends in this process."""


def _slow_answer(handler: Handler, body: dict[str, object]) -> None:
    """Write for a second, and stop where nobody listens."""
    if not body.get("stream"):
        answers(KEYWORDS)(handler, body)
        return
    handler.begin_events()
    for _ in range(20):
        if handler.nobody_listens(0.05):
            handler.close_connection = True
            handler.endpoint.count(left=1)
            return
        handler.event(piece("재택근무 일수를 분석하였다 [1]. "))
    handler.event(piece(None, "stop"))
    handler.event(b"[DONE]")
    handler.chunk(b"")


def _streaming(endpoint: Endpoint) -> int:
    return sum(bool(body.get("stream")) for body in endpoint.asked)


def test_64_clients_that_leave_their_streams_are_64_connections_that_the_model_loses_within_a_second(
    demo: Engine,
) -> None:
    endpoint = Endpoint(only_the_answer(goes_on(0.5)))
    with modelled(demo, endpoint, ServerLimits(asks=STREAMS), read_timeout=30) as server:
        kinds: tuple[Kind, ...] = ("stream", "chat")
        streams = [server.connect() for _ in range(STREAMS)]
        for place, stream in enumerate(streams):
            stream.sendall(request(kinds[place % 2], f"{QUESTION} {place}"))
        wait_until(lambda: _streaming(endpoint) == STREAMS, 60)
        for stream in streams:
            stream.close()
        left = time.monotonic()
        wait_until(lambda: endpoint.left == STREAMS, 10)
        took = time.monotonic() - left
        wait_until(lambda: server.service.in_flight == 0, 5)
        endpoint.behaviours = [_slow_answer]
        assert '"kind":"generated"' in server.ask("POST", "/v1/ask", {"question": QUESTION})[2]
    assert took < NOTICED


@pytest.mark.parametrize("kind", ["ask", "page"])
def test_a_client_that_leaves_a_whole_answer_stops_the_model_too(demo: Engine, kind: Kind) -> None:
    endpoint = Endpoint(only_the_answer(goes_on(0.02)))
    with modelled(demo, endpoint) as server:
        connection = server.connect()
        connection.sendall(request(kind))
        wait_until(lambda: _streaming(endpoint) == 1, 30)
        connection.close()
        assert endpoint.gone.wait(3)
        wait_until(lambda: server.service.asks.busy == 0, 3)


def _drop(server: Live, chance: random.Random) -> None:
    """Leave at a moment of any step, in order or with a reset."""
    connection = server.connect()
    sent = request(chance.choice(KINDS), f"{QUESTION} {chance.random()}")
    connection.sendall(sent[: chance.choice((len(sent), len(sent), len(sent), len(sent) // 2))])
    time.sleep(chance.expovariate(8))
    if chance.random() < 0.5:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _threads() -> int:
    """Count this process's threads without those of the model, which has one for each connection that is kept."""
    of_the_model = sum(each.name.endswith("(process_request_thread)") for each in threading.enumerate())
    return held(os.getpid()).threads - of_the_model


def _leaves_nothing(demo: Engine, drops: int, seed: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    endpoint = Endpoint(_slow_answer)
    with modelled(demo, endpoint, read_timeout=30) as server:
        with ThreadPoolExecutor(16) as clients:
            list(clients.map(lambda number: _drop(server, random.Random(number)), range(64)))
        wait_until(lambda: server.service.in_flight == endpoint.busy == 0, 30)
        server.begin_every_thread()
        tasks, before, threads = server.tasks, held(os.getpid()), _threads()
        with ThreadPoolExecutor(16) as clients:
            list(clients.map(lambda number: _drop(server, random.Random(f"{seed} {number}")), range(drops)))
        wait_until(lambda: server.service.in_flight == endpoint.busy == 0, 30)
        wait_until(lambda: server.tasks <= tasks, 10)
        wait_until(lambda: held(os.getpid()).descriptors <= before.descriptors + 2 + KEPT, 15)
        wait_until(lambda: _threads() <= threads + 2, 15)
        assert '"kind":"generated"' in server.ask("POST", "/v1/ask", {"question": QUESTION})[2]


def test_clients_that_leave_at_any_moment_leave_no_task_thread_or_descriptor_behind(demo: Engine) -> None:
    _leaves_nothing(demo, 64, seed=1)


@pytest.mark.soak
def test_a_thousand_clients_that_leave_at_any_moment_leave_nothing_behind(demo: Engine) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    _leaves_nothing(demo, DROPS, seed)
