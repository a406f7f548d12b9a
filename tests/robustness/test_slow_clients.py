"""R14 with the server's own bounds: half-open and dripping connections beside clients that behave.

In short it is in ``test_connection.py``; the bounds on what is sent are in ``test_guard.py``.
"""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest

from tests.support.clients import Kind, closed_loop, faults, percentile, question
from tests.support.live import read_all, wait_until
from tests.support.served_process import served

pytestmark = pytest.mark.slow

HALF_OPEN, DRIPPING = 200, 50
CLOSED_WITHIN = 15.0


def _search(number: int) -> tuple[Kind, str]:
    return "search", question(number)


async def _drip(connections: list[socket.socket], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(1)
        for connection in connections:
            try:
                connection.send(b" ")
            except OSError:
                continue


@pytest.mark.soak
def test_200_half_open_and_50_dripping_connections_are_closed_in_15_seconds_and_cost_others_nothing(
    demo_home: Path,
) -> None:
    with served(demo_home) as server:

        def connect(sent: bytes) -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            connection.sendall(sent)
            return connection

        def searches(seconds: float) -> list[float]:
            done = asyncio.run(closed_loop(server.port, 1, seconds, _search))
            assert faults(done) == {}
            return [each.seconds for each in done]

        async def beside() -> list[float]:
            done, _ = await asyncio.gather(closed_loop(server.port, 1, 8, _search), _drip(dripping, 8))
            assert faults(done) == {}
            return [each.seconds for each in done]

        searches(5)
        before = server.held.descriptors
        alone = searches(8)
        started = time.monotonic()
        head = b"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        half_open = [connect((b"", head)[place % 2]) for place in range(HALF_OPEN)]
        dripping = [connect(head + (b"content-length: 500\r\n\r\n" if place % 2 else b"")) for place in range(DRIPPING)]
        with_them = asyncio.run(beside())
        answers = [read_all(connection) for connection in half_open + dripping]
        assert time.monotonic() - started < CLOSED_WITHIN
        for connection in half_open + dripping:
            connection.close()
        assert sum(answer.startswith(b"HTTP/1.1 408 ") for answer in answers) >= 0.9 * len(answers)
        wait_until(lambda: server.held.descriptors <= before + 2)
        alone += searches(8)
    # The 20 % are of a machine that does nothing else; another's work may be as much again.
    assert percentile(with_them, 50) < 1.4 * percentile(alone, 50)
    assert percentile(with_them, 95) < 1.4 * percentile(alone, 95) + 0.02
