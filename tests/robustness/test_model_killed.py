"""R17 under load: the language model's process is killed again and again. No request hangs, none gets a 5xx."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.serving.engine import Engine
from tests.support.clients import Exchange, Kind, closed_loop, exchange, faults, question
from tests.support.endpoint_process import EndpointProcess
from tests.support.live import QUESTION
from tests.support.scripted_models import modelled
from tests.support.served_process import served

pytestmark = pytest.mark.process

MIX: tuple[Kind, ...] = ("ask", "search", "stream", "search", "chat")
CLIENTS = 16
LONGEST = 15.0
"""Seconds a request may take on a machine others use; one that hangs takes ten times as long."""

RECOVERY = 10.0


@pytest.fixture
def endpoint() -> Iterator[EndpointProcess]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = EndpointProcess(port)
    running.start()
    yield running
    running.kill()


def _mix(number: int) -> tuple[Kind, str]:
    return MIX[number % len(MIX)], question(number)


async def _killed(port: int, endpoint: EndpointProcess, times: int, up: float, down: float) -> list[Exchange]:
    """Ask from many clients while the model is killed, ``up`` seconds behind its start, for ``down`` seconds."""
    done: list[Exchange] = []
    over = asyncio.Event()

    async def asking() -> None:
        while not over.is_set():
            done.extend(await closed_loop(port, CLIENTS, 1, _mix))

    async def killing() -> None:
        for _ in range(times):
            await asyncio.sleep(up)
            await asyncio.to_thread(endpoint.kill)
            await asyncio.sleep(down)
            await asyncio.to_thread(endpoint.start)
        over.set()

    await asyncio.gather(asking(), killing())
    return done


def _nothing_hung_and_nothing_failed(done: list[Exchange]) -> None:
    assert faults(done) == {}
    assert Counter(each.status for each in done) == {200: len(done)}
    assert not any(each.failed for each in done)
    assert max(each.seconds for each in done) < LONGEST
    asked = [each.body for each in done if each.kind == "ask"]
    kinds = Counter("generated" if '"kind":"generated"' in body else "extractive" for body in asked)
    assert kinds["generated"] > 0
    assert kinds["extractive"] > 0


async def _is_asked_again(port: int) -> None:
    back = time.monotonic()
    while '"kind":"generated"' not in (await exchange(port, "ask", f"{QUESTION} {time.monotonic()}")).body:
        assert time.monotonic() - back < RECOVERY
        await asyncio.sleep(0.2)


def test_a_model_killed_3_times_under_load_costs_no_request(
    demo: Engine, endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.app.watch_model.__defaults__", (0.1, 30.0, 5.0))
    with modelled(demo, endpoint.address, read_timeout=30, retries=2) as server:
        done = asyncio.run(_killed(server.port, endpoint, 3, up=1.0, down=0.5))
        asyncio.run(_is_asked_again(server.port))
    _nothing_hung_and_nothing_failed(done)


@pytest.mark.soak
def test_a_model_killed_20_times_under_load_costs_no_request(
    demo_home: Path, endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRAG_LLM_URL", endpoint.address)
    monkeypatch.setenv("SHRAG_LLM_MODEL", "m")
    with served(demo_home) as server:
        done = asyncio.run(_killed(server.port, endpoint, 20, up=4.0, down=2.0))
        asyncio.run(_is_asked_again(server.port))
        before = server.held
    _nothing_hung_and_nothing_failed(done)
    assert before.descriptors < 200
