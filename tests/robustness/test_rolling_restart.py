"""Two servers on one port, restarted one after the other while clients ask: no request fails."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.live import QUESTION

pytestmark = pytest.mark.process

CLIENTS = 8
_PAUSE_SECONDS = 0.02
"""Else the clients alone would keep two processors busy, and a server that starts would wait for them."""

ROUNDS = 5 * int(os.environ.get("SHRAG_SOAK_MINUTES", "1"))
BODY = json.dumps({"question": QUESTION, "strategy": "bm25"})
HEADERS = {"content-type": "application/json"}


class _Load:
    """Clients that ask again and again and repeat no request; every second one keeps its connection open."""

    def __init__(self, port: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._port = port
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._ask, args=(number % 2 == 0,), daemon=True) for number in range(CLIENTS)
        ]
        for each in self._threads:
            each.start()

    def end(self) -> None:
        self._stop.set()
        for each in self._threads:
            each.join(60)

    def _ask(self, keeps_open: bool) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._stop.wait(_PAUSE_SECONDS):
            try:
                connection.request("POST", "/v1/search", BODY, HEADERS)
                with connection.getresponse() as response:
                    found = "DEMO-SOC-012" in response.read().decode()
                    outcome = f"{response.status} {found}"
            except (OSError, http.client.HTTPException) as error:
                outcome = repr(error)
                connection.close()
            if not keeps_open:
                connection.close()
            with self._lock:
                self.outcomes[outcome] += 1
        connection.close()


class _Servers:
    """Processes that share a port."""

    def __init__(self, home: Path, port: int, stack: ExitStack) -> None:
        self._home, self._port, self._stack = home, port, stack

    def start(self) -> subprocess.Popen[str]:
        """Start one more."""
        serve = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "demo", "--share-port"]
        environment = {**os.environ, "SHRAG_HOME": str(self._home)}
        server = subprocess.Popen(
            [*serve, "--port", str(self._port), "--cache-mib", "8"], stderr=subprocess.PIPE, text=True, env=environment
        )
        self._stack.callback(server.communicate)
        self._stack.callback(server.kill)
        return server


def _wait_ready(server: subprocess.Popen[str]) -> None:
    """Wait until it serves, which it says before it accepts a connection; then read its log without end."""
    assert server.stderr is not None
    said = server.stderr.readline()
    assert "SHRAG serves" in said, said
    threading.Thread(target=server.stderr.read, daemon=True).start()


def _stop(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0


@contextmanager
def _servers(home: Path) -> Iterator[tuple[_Servers, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with ExitStack() as stack:
        yield _Servers(home, port, stack), port


def test_two_servers_are_restarted_one_after_the_other_and_no_request_fails(demo_home: Path) -> None:
    with _servers(demo_home) as (servers, port):
        first, second = servers.start(), servers.start()
        _wait_ready(first)
        _wait_ready(second)
        load = _Load(port)
        time.sleep(0.5)
        _stop(first)
        _wait_ready(servers.start())
        _stop(second)
        time.sleep(0.5)
        load.end()
    assert set(load.outcomes) == {"200 True"}, load.outcomes
    assert load.outcomes.total() > 10 * CLIENTS


@pytest.mark.soak
def test_no_request_fails_in_many_rolling_restarts(demo_home: Path) -> None:
    with _servers(demo_home) as (servers, port):
        running = [servers.start(), servers.start()]
        for each in running:
            _wait_ready(each)
        load = _Load(port)
        for number in range(2 * ROUNDS):
            _stop(running[number % 2])
            running[number % 2] = servers.start()
            _wait_ready(running[number % 2])
        load.end()
    assert set(load.outcomes) == {"200 True"}, load.outcomes
