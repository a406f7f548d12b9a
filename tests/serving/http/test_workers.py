"""Workers as processes: of a few lines of their own, which are quick, and of the real server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from shrag.serving.http.server import reserve
from shrag.serving.http.workers import LONGEST_SILENCE, LONGEST_START

pytestmark = pytest.mark.process

# A line in one call, so that those of several processes do not mix.
_SCRIPT = """
import os, signal, sys, time
from shrag.serving.http.workers import run_workers

{prelude}

def show(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def work(tell, beat):
    show("worker", os.getpid())
    {body}

sys.exit(run_workers(int(sys.argv[1]), work, lambda text: show("said", text), {silence}, {start}))
"""
_BEATS = "[(beat(), time.sleep(0.1)) for _ in range(6000)]"
_SERVES = f'tell("hello"); signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {_BEATS}'


@contextmanager
def _workers(
    count: int,
    body: str = _SERVES,
    silence: float = LONGEST_SILENCE,
    start: float = LONGEST_START,
    prelude: str = "",
) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], list[str]]]]:
    """Run workers of ``body``; give the process, and a function that reads on to a line that starts as it is told."""
    script = _SCRIPT.format(body=body, silence=silence, start=start, prelude=prelude)
    command = [sys.executable, "-c", script, str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout)

    def until(start: str) -> list[str]:
        read = []
        for line in lines:
            read.append(line.strip())
            if line.startswith(start):
                return read
        raise AssertionError(f"no line {start!r} behind {read}")

    try:
        yield process, until
    finally:
        process.kill()
        process.communicate()


def _pids(lines: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in lines if line.startswith("worker")]


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _wait(condition: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_it_is_said_once_that_workers_serve_when_the_last_of_them_does() -> None:
    with _workers(3) as (process, until):
        lines = until("said")
        assert len(set(_pids(lines))) == 3
        assert lines[-1] == "said hello"
        process.terminate()
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_a_worker_that_was_killed_is_replaced_and_that_is_said() -> None:
    with _workers(2) as (process, until):
        first, second = _pids(until("said"))
        os.kill(first, signal.SIGKILL)
        told, started = until("worker")
        assert told == f"said Worker {first} ended with status -9: another is started in 1 s."
        assert int(started.split()[1]) not in {first, second}
        process.terminate()
        assert process.wait(20) == 0


@pytest.mark.parametrize("hangs", ["stopped", pytest.param("its loop", marks=pytest.mark.soak)])
def test_a_worker_that_hangs_is_killed_and_replaced_and_that_is_said(hangs: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    named = f"os.path.exists({str(mark)!r}) and open({str(mark)!r}).read() == str(os.getpid())"
    serves = 'tell("hello"); signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))'
    body = f"{serves}\n    while not ({named}): time.sleep(0.1), beat()\n    time.sleep(600)"
    with _workers(2, body, silence=8) as (process, until):
        first, second = _pids(until("said"))
        if hangs == "stopped":
            os.kill(first, signal.SIGSTOP)
        else:
            (tmp_path / "new").write_text(str(first))
            (tmp_path / "new").rename(mark)
        assert until("said")[-1] == f"said Worker {first} has sent no heartbeat for 8 s: it is killed."
        assert until("said")[-1] == f"said Worker {first} ended with status -9: another is started in 1 s."
        assert not set(_pids(until("worker"))) & {first, second}
        assert _gone(first)
        process.terminate()
        assert process.wait(20) == 0


def test_a_worker_that_hangs_before_it_is_ready_is_killed_and_replaced_and_that_is_said(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hangs = '(show("hangs", os.getpid()), time.sleep(600))'
    body = f"os.path.exists({str(mark)!r}) and {hangs}\n    {_SERVES}"
    with _workers(2, body, start=5) as (process, until):
        first, _ = _pids(until("said"))
        mark.touch()
        os.kill(first, signal.SIGKILL)
        hanging = int(until("hangs")[-1].split()[1])
        mark.unlink()
        assert until("said")[-1].startswith(f"said Worker {hanging} is not ready after 5 s: it is killed.")
        assert until("said")[-1] == f"said Worker {hanging} ended with status -9: another is started in 2 s."
        (started,) = _pids(until("worker"))
        assert started not in {first, hanging}
        assert _gone(hanging)
        process.terminate()
        assert process.wait(20) == 0


def test_where_the_first_worker_hangs_before_it_is_ready_the_server_ends_and_names_the_option() -> None:
    with _workers(2, "time.sleep(600)", start=0.5) as (process, _):
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1
        assert output.count("worker") == 1
        assert "is not ready after 0.5 s: it is killed. If the index takes longer to open" in output
        assert "--start-seconds" in output


def test_time_in_which_the_whole_server_was_stopped_is_no_silence_of_its_workers() -> None:
    with _workers(2, silence=5) as (process, until):
        pids = _pids(until("said"))
        for pid in (process.pid, *pids):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(6)
        process.send_signal(signal.SIGCONT)
        time.sleep(1)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(1)
        process.terminate()
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_where_the_first_worker_cannot_start_no_other_is_and_its_status_is_returned() -> None:
    with _workers(4, "sys.exit(4)") as (process, _):
        output, _ = process.communicate(timeout=20)
        assert process.returncode == 4
        assert output.count("worker") == 1


def test_where_a_worker_ends_without_serving_while_others_start_all_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "import pathlib; mark = pathlib.Path(os.environ['MARK']); sys.exit(5) if mark.exists() else mark.touch(); "
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    with _workers(2, first + _SERVES) as (process, _):
        assert process.wait(20) == 5


def test_the_second_signal_reaches_workers_that_take_their_time() -> None:
    # The handler itself prints, so that a signal between two waits is not lost.
    stubborn = 'tell("hello"); words = ["twice", "once"]; '
    stubborn += "signal.signal(signal.SIGTERM, lambda *_: show(words.pop())); "
    stubborn += "list(iter(lambda: time.sleep(0.05) or bool(words), False))"
    with _workers(1, stubborn) as (process, until):
        until("said")
        time.sleep(0.5)
        process.terminate()
        until("once")
        process.terminate()
        until("twice")
        assert process.wait(20) == 0


_FORK = """
real, forks = os.fork, []

def fork():
    forks.append(1)
    is_second = len(forks) == 2
    if is_second and {before}:
        os.kill(os.getpid(), signal.SIGTERM)
    pid = real()
    if is_second and not {before} and not pid:
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(0.5)
    return pid

os.fork = fork
"""


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_in_the_moment_of_a_fork_reaches_the_new_worker_too(before: bool) -> None:
    with _workers(2, prelude=_FORK.format(before=before)) as (process, _):
        assert process.wait(10) == 0  # before the time after which workers that have not stopped are killed


def test_workers_end_when_what_started_them_is_killed() -> None:
    with _workers(2) as (process, until):
        pids = _pids(until("said"))
        process.kill()
        assert _wait(lambda: all(map(_gone, pids)))


_NO_PROCESS = """
real, forks = os.fork, []

def fork():
    forks.append(1)
    if len(forks) == 3:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return real()

os.fork = fork
"""


def test_where_no_worker_can_be_started_in_place_of_one_that_died_the_others_go_on_until_one_can() -> None:
    with _workers(2, prelude=_NO_PROCESS) as (process, until):
        first, second = _pids(until("said"))
        os.kill(first, signal.SIGKILL)
        assert until("said")[-1].endswith("ended with status -9: another is started in 1 s.")
        failed = "said No worker can be started (Resource temporarily unavailable): tried again in 2 s."
        assert until("said")[-1] == failed
        (third,) = _pids(until("worker"))
        assert not _gone(second)
        assert not _gone(third)
        process.terminate()
        assert process.wait(20) == 0


def test_a_worker_that_hangs_ends_too_when_what_started_it_is_killed() -> None:
    hangs = 'tell("hello"); signal.signal(signal.SIGTERM, lambda *_: show("hangs")); [time.sleep(1) for _ in range(60)]'
    quick = "import shrag.serving.http.workers; shrag.serving.http.workers._STOP_SECONDS = 0.5"
    with _workers(1, hangs, prelude=quick) as (process, until):
        (pid,) = _pids(until("said"))
        time.sleep(0.5)
        process.kill()
        until("hangs")
        assert _wait(lambda: _gone(pid))


def test_an_address_that_is_held_for_workers_can_be_shared_and_one_that_is_served_is_taken(demo_home: Path) -> None:
    with reserve("127.0.0.1", 0) as held:
        port = str(held.getsockname()[1])
    with _served(demo_home, "--port", port) as (_, address):
        assert address == f"http://127.0.0.1:{port}/"
        done = _run({"SHRAG_HOME": str(demo_home)}, "demo", "--workers", "2", "--port", port)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"127.0.0.1:{port} cannot be listened on" in done.stderr


def test_two_workers_answer_alike_on_one_address_and_one_that_is_killed_costs_no_later_answer(demo_home: Path) -> None:
    with _served(demo_home) as (server, address):
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        workers = [int(pid) for pid in children.read_text().split()]
        assert len(workers) == 2
        answers = {_ask(address) for _ in range(40)}
        assert len(answers) == 1
        # Each worker counts what it has answered itself.
        counts = {_answered(address) for _ in range(40)}
        assert sum(counts) == 40 if len(counts) == 2 else counts == {20}
        os.kill(workers[0], signal.SIGKILL)
        # Connections that wait for it are lost with it, until the last of its threads has ended.
        assert server.stderr is not None
        assert any(f"Worker {workers[0]} ended with status -9" in line for line in server.stderr)
        assert {_ask(address) for _ in range(20)} == answers
        assert _wait(lambda: len(children.read_text().split()) == 2)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=25) == 0
        assert _gone(workers[1])


@pytest.mark.parametrize("reader", ["gone", "too slow"])
def test_a_worker_is_replaced_and_the_server_ends_when_told_to_though_nobody_reads_what_it_prints(
    demo_home: Path, reader: str
) -> None:
    with _served(demo_home) as (server, address):
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        first, second = children.read_text().split()
        assert server.stderr is not None
        if reader == "gone":
            server.stderr.close()
            server.stderr = None
        else:
            full = os.open(f"/proc/{server.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
            with suppress(BlockingIOError):
                while os.write(full, b"x" * 512):
                    pass
            os.close(full)
        os.kill(int(first), signal.SIGKILL)
        assert _wait(lambda: len(now := children.read_text().split()) == 2 and second in now and first not in now)
        _ask(address)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=25) == 0


@pytest.mark.soak
def test_a_worker_of_the_server_that_is_stopped_is_replaced(demo_home: Path) -> None:
    with _served(demo_home) as (server, address):
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        first, second = (int(pid) for pid in children.read_text().split())
        os.kill(first, signal.SIGSTOP)
        assert server.stderr is not None
        assert any(f"Worker {first} has sent no heartbeat for 30 s: it is killed." in line for line in server.stderr)
        assert any(f"Worker {first} ended with status -9" in line for line in server.stderr)
        assert _wait(lambda: len(children.read_text().split()) == 2, 60)
        assert first not in (pids := [int(pid) for pid in children.read_text().split()])
        assert second in pids
        _ask(address)


def test_an_index_that_is_missing_is_said_once_for_all_workers(tmp_path: Path) -> None:
    done = _run({"SHRAG_HOME": str(tmp_path)}, "nope", "--workers", "3")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert "build it with `shrag index nope`" in done.stderr


def test_a_language_model_that_each_worker_would_start_is_refused(demo_home: Path) -> None:
    model = {"SHRAG_LLM_COMMAND": "vllm", "SHRAG_LLM_WEIGHTS": "qwen"}
    done = _run({"SHRAG_HOME": str(demo_home), **model}, "demo", "--workers", "2")
    assert done.returncode == 2
    assert "With [llm] command each worker would start its own language model" in done.stderr


def _run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a server that is to end by itself."""
    command = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "--port", "0", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)


@contextmanager
def _served(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server of two workers; give the process and the address it printed."""
    port = () if "--port" in arguments else ("--port", "0")
    command = [
        sys.executable,
        "-c",
        "from shrag.cli.commands.serve import main; main()",
        "demo",
        "--workers",
        "2",
        "--no-cache",
    ]
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    server = subprocess.Popen([*command, *arguments, *port], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stderr is not None
        first = server.stderr.readline()
        match = re.search(r"http://\S+/", first)
        assert match, first
        assert "by 2 workers" in first
        yield server, match.group()
    finally:
        server.kill()
        server.communicate()


def _ask(address: str) -> str:
    """Return an answer to one question, on a connection of its own, without what differs from time to time."""
    with urllib.request.urlopen(address + "v1/search?q=transformer%20attention", timeout=20) as response:
        answer = json.load(response)
    for changing in ("seconds", "request_id"):
        del answer[changing]
    return json.dumps(answer)


def _answered(address: str) -> int:
    """Return how many searches the worker that is reached now has answered."""
    with urllib.request.urlopen(address + "metrics", timeout=20) as response:
        found = re.search(
            r'shrag_request_duration_seconds_count{method="GET",route="/v1/search",status="200"} (\d+)',
            response.read().decode(),
        )
    return int(found.group(1)) if found else 0
