"""The protocol of worker processes: whatever a worker does, it costs its connection and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shrag.models.fork_server import ForkServer

pytestmark = pytest.mark.process

WORKERS = """
import os, msgspec
from shrag.models.fork_server import serve

def load(setup):
    factor = msgspec.json.decode(setup)["factor"]
    if factor < 0:
        raise SystemExit("a negative factor")
    if not factor:
        open("/nowhere/at all")
    def handle(connection):
        while True:
            number = msgspec.msgpack.decode(connection.receive())
            if number == "die":
                os.abort()
            if number == "hang":
                while True: pass
            if number == "cut":
                os.write(connection._socket.fileno(), b"\\0\\0\\0\\x09half")
                os._exit(0)
            if number == "pid":
                connection.send(os.getpid())
            elif isinstance(number, list):
                for each in number:
                    connection.send(each * factor)
            else:
                connection.send(number * factor)
    return handle

serve(load)
"""

KILLED = """
import os, signal, sys, time
import msgspec
from shrag.models.fork_server import ForkServer

class Setup(msgspec.Struct):
    factor: int

server = ForkServer([sys.executable, "-c", sys.argv[1]], Setup(2))
server.start()
connection = server.connect()
connection.send(1)
connection.receive()
connection.send("hang")
time.sleep(0.3)
print(server._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Setup(msgspec.Struct):
    factor: int


@pytest.fixture
def server() -> Iterator[ForkServer]:
    """Return a running server of workers that double numbers."""
    server = ForkServer((sys.executable, "-c", WORKERS), Setup(2))
    server.start()
    yield server
    server.close()


def _ask(server: ForkServer, request: object) -> object:
    connection = server.connect()
    try:
        connection.send(request)
        return msgspec.msgpack.decode(connection.receive())
    finally:
        server.release(connection)


def test_a_request_may_have_several_replies_of_any_size(server: ForkServer) -> None:
    connection = server.connect()
    connection.send([1, "x" * 1_000_000, [7]])
    replies = [msgspec.msgpack.decode(connection.receive()) for _ in range(3)]
    assert replies == [2, "x" * 2_000_000, [7, 7]]
    server.release(connection)


@pytest.mark.parametrize("request_", ["die", "cut"])
def test_a_worker_that_dies_ends_its_connection_and_no_other(server: ForkServer, request_: str) -> None:
    other = server.connect()
    with pytest.raises(EOFError):
        _ask(server, request_)
    other.send(3)
    assert msgspec.msgpack.decode(other.receive()) == 6
    server.release(other)
    assert _ask(server, 4) == 8


def test_a_worker_ends_when_its_connection_is_released(server: ForkServer) -> None:
    pid = _ask(server, "pid")
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_interrupting_wakes_who_waits_for_a_worker_that_hangs(server: ForkServer) -> None:
    ended: list[str] = []

    def wait() -> None:
        try:
            _ask(server, "hang")
        except EOFError:
            ended.append("ended")

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)
    server.interrupt()
    waiting.join(10)
    assert ended == ["ended"]
    with pytest.raises(EOFError):
        server.connect()
    assert server._process is not None
    server.close()
    _wait_for_end_of_group(server._process.pid)


def test_a_worker_that_hangs_ends_with_the_process_that_was_killed() -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, WORKERS], capture_output=True, text=True, timeout=60, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    _wait_for_end_of_group(int(killed.stdout))


def _wait_for_end_of_group(group: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail(f"process group {group} is still there")


def test_a_server_that_was_killed_starts_again(server: ForkServer) -> None:
    assert _ask(server, 1) == 2
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGKILL)
    assert server.failure() == (-9, "")
    assert server.has_ended()
    with pytest.raises(EOFError):
        _ask(server, 1)
    server.start()
    assert _ask(server, 1) == 2


def test_closing_ends_a_hanging_worker_of_a_server_that_was_killed(server: ForkServer) -> None:
    connection = server.connect()
    connection.send("hang")
    time.sleep(0.3)
    assert server._process is not None
    group = server._process.pid
    os.kill(group, signal.SIGKILL)
    assert server.failure() == (-9, "")
    os.killpg(group, 0)  # the worker is still there
    server.close()
    _wait_for_end_of_group(group)


def test_why_it_could_not_load_is_its_status_and_its_last_line() -> None:
    server = ForkServer((sys.executable, "-c", WORKERS), Setup(-1))
    with pytest.raises(EOFError):
        server.connect()
    server.start()
    with pytest.raises(EOFError):
        _ask(server, 1)
    assert server.failure() == (1, "a negative factor")
    assert server.system_error() is None
    server.close()


def test_an_error_of_the_operating_system_while_it_loads_is_known_with_its_file() -> None:
    server = ForkServer((sys.executable, "-c", WORKERS), Setup(0))
    server.start()
    with pytest.raises(EOFError):
        _ask(server, 1)
    error = server.system_error()
    assert isinstance(error, FileNotFoundError)
    assert error.filename == "/nowhere/at all"
    server.close()
    server.close()
