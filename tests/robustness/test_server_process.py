"""R19, the process: how it ends when told to, and how it fails to start. How open answers end: ``test_stopping.py``."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clients import events, request
from tests.support.fake_endpoint import Endpoint, goes_on, serving
from tests.support.fault_modes import only_the_answer
from tests.support.live import read_all, split, wait_until
from tests.support.served_process import Served, served

pytestmark = pytest.mark.process

SERVE = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()"]
COMMAND = {"SHRAG_LLM_COMMAND": sys.executable}
START_SECONDS = 2.0
"""Of a processor's time: what else the machine does is not the command's."""


@contextmanager
def _writing(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, socket.socket]]:
    """Serve with a model that writes without end, and one stream of it open."""
    endpoint = Endpoint(only_the_answer(goes_on(0.02)))
    with serving(endpoint) as address:
        monkeypatch.setenv("SHRAG_LLM_URL", address)
        monkeypatch.setenv("SHRAG_LLM_MODEL", "m")
        with served(home) as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as stream:
            stream.sendall(request("stream"))
            wait_until(lambda: any(body.get("stream") for body in endpoint.asked), 30)
            yield server, stream


@pytest.mark.soak
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_an_open_stream_has_9_seconds_and_an_error_and_the_process_ends_within_12(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals, status: int
) -> None:
    with _writing(demo_home, monkeypatch) as (server, stream):
        started = time.monotonic()
        server.process.send_signal(sent)
        *_, last = events(split(read_all(stream))[2])
        assert (last[0], last[1]["code"]) == ("error", "shutting_down")
        assert server.process.wait(timeout=12) == status
        assert 9 < time.monotonic() - started < 12


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_second_signal_ends_the_process_at_once_whatever_is_open(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals, status: int
) -> None:
    with _writing(demo_home, monkeypatch) as (server, _):
        started = time.monotonic()
        server.process.send_signal(sent)
        time.sleep(0.3)
        server.process.send_signal(sent)
        assert server.process.wait(timeout=30) == status, (time.monotonic() - started, server.log)
        assert time.monotonic() - started < 9  # of the 10.5 that the first signal alone would take
    assert "Traceback" not in "".join(server.log)


def _start(home: Path, folder: Path, *arguments: str, **environment: str) -> tuple[int, str, float]:
    """Start a server that cannot; return its status, what it says, and the processor's seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*SERVE, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "SHRAG_HOME": str(home), **environment},
        check=False,
        timeout=60,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout == ""
    return done.returncode, done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    ("arguments", "environment", "status", "says"),
    [
        pytest.param(("nope",), {}, 4, "build it with `shrag index nope`", id="no such index"),
        pytest.param(("--port", "99999"), {}, 2, "99999", id="no such port"),
        pytest.param((), {"SHRAG_LLM_COMMAND": "none-such", "SHRAG_LLM_WEIGHTS": "/"}, 6, "none-such", id="no vLLM"),
        # Each is a process to start: the rest is for `make soak`.
        pytest.param(("../x",), {}, 3, "../x", id="a path for a name", marks=pytest.mark.soak),
        pytest.param(("--deadline", "0"), {}, 2, "deadline", id="no time", marks=pytest.mark.soak),
        pytest.param(("--reranker", "none"), {}, 2, "none", id="no such re-ranker", marks=pytest.mark.soak),
        pytest.param((), {"SHRAG_SERVE_DEADLINE": "x"}, 2, "x", id="no number", marks=pytest.mark.soak),
        pytest.param((), {"SHRAG_LLM_URL": "ftp://h/"}, 2, "ftp://h/", id="no model's address", marks=pytest.mark.soak),
        pytest.param((), {**COMMAND, "SHRAG_LLM_WEIGHTS": "/x"}, 6, "/x", id="no weights", marks=pytest.mark.soak),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line_and_ends_with_its_status(
    demo_home: Path, tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], status: int, says: str
) -> None:
    given = ("--port", "0") if "--port" not in arguments else ()
    ended, said, _ = _start(demo_home, tmp_path, *arguments, *given, **environment)
    assert (ended, says in said) == (status, True), said
    assert "Traceback" not in said
    assert sum(not line.startswith(("Usage:", "Try ")) for line in said.splitlines() if line) == 1, said


@pytest.mark.soak
def test_a_server_without_its_index_ends_within_2_seconds(demo_home: Path, tmp_path: Path) -> None:
    ended, _, seconds = _start(demo_home, tmp_path, "nope", "--port", "0")
    assert ended == 4
    assert seconds < START_SECONDS


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[serve]\nprot = 8080\n", "[serve] in shrag.toml has no option 'prot'"),
        ("[serve\n", "shrag.toml is not TOML"),
        ("[llm]\nurl = 3\n", "at `$.url`"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_one_line_that_says_where(
    demo_home: Path, tmp_path: Path, config: str, says: str
) -> None:
    (tmp_path / "shrag.toml").write_text(config, encoding="utf-8")
    ended, said, _ = _start(demo_home, tmp_path, "--port", "0")
    assert (ended, says in said) == (2, True), said
    assert "Traceback" not in said


def test_a_taken_port_is_said_before_an_index_is_read(demo_home: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended, said, _ = _start(demo_home, tmp_path, "--port", port)
    assert (ended, said.count("\n")) == (2, 1)
    assert f"127.0.0.1:{port} cannot be listened on" in said
