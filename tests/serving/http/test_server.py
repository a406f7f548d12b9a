"""The real server, as a process of its own."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import uvicorn

from shrag.indexing.storage.generations import generation_folder
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http import server as server_module
from shrag.serving.http.server import listen, make_server, refuse_connections, run, stop_at_sigterm
from tests.support.live import KeptEngine
from tests.support.published import open_files, publish_copy, wait_for

COMMAND = [sys.executable, "-m", "shrag.cli.main"]


@contextmanager
def serve_process(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the server on a free port; give the process and the address it printed. SIGUSR1 makes it write its stacks."""
    program = "import faulthandler, signal; faulthandler.register(signal.SIGUSR1)"
    command = [
        sys.executable,
        "-c",
        f"{program}; from shrag.cli.commands.serve import main; main()",
        *arguments,
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "SHRAG_HOME": str(home)})
    try:
        assert server.stderr is not None
        first = server.stderr.readline()
        match = re.search(r"http://\S+/", first)
        assert match, first
        yield server, match.group()
    finally:
        server.kill()
        server.communicate()


def _get(address: str) -> tuple[int, str]:
    with urllib.request.urlopen(address, timeout=10) as response:
        return response.status, response.read().decode()


@pytest.mark.process
def test_it_serves_until_told_to_stop_and_ends_with_0(demo_home: Path) -> None:
    with serve_process(demo_home, "demo") as (server, address):
        assert address.startswith("http://127.0.0.1:")
        status, body = _get(address + "health/ready")
        assert (status, json.loads(body)["records"]) == (200, 235)
        assert "SHRAG" in _get(address)[1]
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=12) == 0


def test_a_server_that_is_told_to_stop_before_it_runs_ends_as_soon_as_it_does(demo: Engine) -> None:
    before = signal.getsignal(signal.SIGTERM)
    app = create_app(KeptEngine(demo.open_index))
    server = make_server(app)
    try:
        stop_at_sigterm(server)
        os.kill(os.getpid(), signal.SIGTERM)
        assert app.state.service.draining
        with listen("127.0.0.1", 0) as listener:
            server.run(sockets=[listener])
        os.kill(os.getpid(), signal.SIGTERM)  # nor does one behind the end kill the process
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("sent", "interrupted"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
def test_an_interruption_that_the_event_loop_loses_is_one_still(
    demo: Engine, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals, interrupted: bool
) -> None:
    def lose(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        server.handle_exit(sent, None)

    monkeypatch.setattr(uvicorn.Server, "run", lose)
    for module, changes_process in (
        (gc, "freeze"),
        (sys, "setswitchinterval"),
        (server_module, "record_ended_threads"),
    ):
        monkeypatch.setattr(module, changes_process, lambda *_: None)
    server = make_server(create_app(KeptEngine(demo.open_index)))
    with listen("127.0.0.1", 0) as listener, pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
        run(server, listener)


@pytest.mark.process
def test_a_missing_index_is_one_line_that_names_the_command(tmp_path: Path) -> None:
    started = time.monotonic()
    command = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "nope", "--port", "0"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "SHRAG_HOME": str(tmp_path)}, check=False
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("\n") == 1
    assert "build it with `shrag index nope`" in done.stderr
    assert time.monotonic() - started < 10


@pytest.mark.process
def test_a_taken_port_and_an_open_address_are_refused_in_one_line(demo_home: Path) -> None:
    environment = {**os.environ, "SHRAG_HOME": str(demo_home)}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "demo"]
        done = subprocess.run([*run, "--port", port], capture_output=True, text=True, env=environment, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"127.0.0.1:{port} cannot be listened on" in done.stderr
    done = subprocess.run([*run, "--host", "0.0.0.0"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "0.0.0.0 can be reached from other machines" in done.stderr


def test_answers_are_not_held_back_until_their_headers_are_acknowledged() -> None:
    # What asyncio looks at before it sets TCP_NODELAY on a connection.
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_an_address_that_is_being_closed_begins_no_connection_and_keeps_those_that_wait() -> None:
    with listen("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as waiting:
            assert refuse_connections(listener)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.2)
            accepted, _ = listener.accept()
            with accepted:
                waiting.sendall(b"asked")
                assert accepted.recv(5) == b"asked"
                accepted.sendall(b"answered")
                assert waiting.recv(8) == b"answered"
    assert not refuse_connections(listener)  # which is closed


@pytest.mark.process
def test_a_generation_published_while_it_serves_is_taken_up_within_seconds(index: Path, contents: Path) -> None:
    with serve_process(index.parents[1], "demo") as (server, address):

        def ready() -> dict[str, object]:
            return dict(json.loads(_get(address + "health/ready")[1]))

        assert (ready()["index_generation"], ready()["index_problem"]) == (1, "")
        publish_copy(index, generation_folder(contents, 2))
        assert wait_for(lambda: ready()["index_generation"] == 2)
        assert wait_for(lambda: open_files(index, server.pid) == {"gen-000002"}, 5)
