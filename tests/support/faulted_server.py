"""A running server whose system calls fail for a while: what it answers meanwhile, and whether it recovers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shrag.indexing.storage.generations import current_number, generation_folder
from tests.support.injected_faults import (
    ANYWHERE,
    ERRORS,
    Fault,
    Points,
    calls_of_each,
    has_happened,
    injecting,
    read_points,
)
from tests.support.killed_build import ROOT
from tests.support.process_figures import held
from tests.support.published import publish_copy, wait_for

NAME = "demo"
SECONDS = 60.0
"""What has not come true after this long does not; the machine may be busy."""

EXCHANGES = 3
"""How many exchanges of generations are traced; faults are drawn from the calls that all of them made."""

# The command itself, which looks for a generation ten times a second instead of once, and tries a refused one again
# after half a second instead of a minute.
_SCRIPT = (
    "from shrag.serving.runtime import hot_reload; hot_reload._RETRY_SECONDS = 0.5\n"
    "hot_reload.CurrentIndex.watch.__defaults__ = (0.1,)\n"
    "from shrag.cli.commands.serve import main; main()"
)

PROCESS_WIDE = (
    *(Fault(call, ANYWHERE, "EMFILE", when) for call in ("accept4", "openat") for when in ("1", "3", "1+", "5+")),
    Fault("openat", ANYWHERE, "EIO", "3"),
    Fault("openat", ANYWHERE, "ESTALE", "1+"),
    Fault("accept4", ANYWHERE, "EIO", "1"),
)
"""Faults that are not of one file."""


class Answer(NamedTuple):
    """An answer's status, 0 for a connection that was closed, and its decoded body."""

    status: int
    body: Any


class ServerOutcome(NamedTuple):
    """A case: its fault, whether it happened, what health said meanwhile, and what is wrong."""

    fault: Fault
    happened: bool
    state: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        hit = "" if self.happened else " (did not happen)"
        return f"server {self.state:<13} {self.fault}{hit}" + "".join(f"\n  {each}" for each in self.problems)


class FaultedServer:
    """A server over the demonstration, in a process of its own."""

    def __init__(self, home: Path, strace: str, process: subprocess.Popen[bytes], port: int) -> None:
        self._home, self._strace, self._process = home, strace, process
        self._url = f"http://127.0.0.1:{port}"
        self._index = home / "indexes" / NAME
        self._asked = 0
        self._threads = 0
        self._timeout = SECONDS

    def points(self) -> Points:
        """Return the calls of a server each time that it answers and takes up a new generation, which is ``gen-NEW``.

        How often it looks at the folders, and how many lines of the log it writes at once, is a matter of time; and the
        first generation is asked for the first time, the others were before.
        """
        found = calls_of_each([self._traced_exchange() for _ in range(EXCHANGES)])
        self._threads = held(self._process.pid).threads
        return found

    def _traced_exchange(self) -> Points:
        trace = self._home.parent / "trace"
        calls = ",".join(ERRORS)
        with self._attached([self._strace, "-f", "-y", "-s", "0", "-e", f"trace={calls}", "-o", str(trace)]):
            now = self._publish()
            self._ask()
            assert wait_for(lambda: self._generation() == now + 1, SECONDS)
            self._ask()
        names = {
            generation_folder(self._index, now).name: "gen-NOW",
            generation_folder(self._index, now + 1).name: "gen-NEW",
        }
        found: dict[tuple[str, str], int] = {}
        for (call, path), count in read_points(trace, self._home).items():
            named = re.sub(r"gen-\d+", lambda match: names.get(match.group(), match.group()), path)
            found[call, named] = count
        return found

    def case(self, fault: Fault) -> ServerOutcome:
        """Let the fault happen while a generation is published and questions are asked; then look at the server."""
        trace = self._home.parent / "trace"
        trace.unlink(missing_ok=True)
        now = current_number(self._index) or 0
        path = fault.path.replace("gen-NOW", generation_folder(self._index, now).name)
        path = path.replace("gen-NEW", generation_folder(self._index, now + 1).name)
        there = fault._replace(path=path)
        # A connection that is not accepted waits for the fault to end.
        self._timeout = SECONDS if fault.path else 1.0
        with self._attached(injecting(self._strace, there, self._home, trace, attached=True)):
            self._publish()
            answers = self._ask()
            noticed = wait_for(lambda: self._health_says(now + 1), 20 if fault.path else 3)
            health = self._get("/health/ready")
            answers += [health, *self._ask()]
        self._timeout = SECONDS
        happened = has_happened(trace)
        problems = [
            f"answered {answer.status} {answer.body!r:.200}"
            for answer in answers
            if not (answer.status in (200, 503) or (answer.status == 0 and not fault.path))
        ]
        taken = health.status == 200 and health.body["index_generation"] == now + 1
        if happened and not noticed and fault.path:
            problems.append(f"health says nothing: {health.body}")
        problems += self._after()
        return ServerOutcome(fault, happened, "taken up" if taken else "told in health", tuple(problems))

    def _after(self) -> list[str]:
        """Return what is wrong with the server when the fault has ended."""
        problems = []
        now = self._publish()
        if self._process.poll() is not None:
            return [f"the server has ended with {self._process.returncode}: {self._log()[-500:]}"]
        if not wait_for(lambda: self._generation() == now + 1, SECONDS):
            problems.append(f"generation {now + 1} is not taken up: {self._get('/health/ready')}")
        problems += [f"then answered {each.status} {each.body!r:.200}" for each in self._ask() if each.status != 200]
        health = self._get("/health/ready")
        if health.status != 200 or health.body["index_problem"] or health.body["background_problem"]:
            problems.append(f"health still says {health.body}")
        if not wait_for(lambda: self._name() in self._log(), SECONDS):
            problems.append("the log has not the last question")
        if held(self._process.pid).threads < self._threads:
            problems.append(f"{held(self._process.pid).threads} of {self._threads} threads live")
        if "Traceback" in (said := self._log()) and "background task failed" not in said:
            problems.append(f"a traceback is in the log: {said[-500:]}")
        return problems

    def _publish(self) -> int:
        """Publish a copy of the first generation's content; return the number that was current before."""
        now = current_number(self._index)
        assert now is not None
        publish_copy(self._index, self._home.parent / "content" / "gen-000001")
        return now

    def _ask(self) -> list[Answer]:
        self._asked += 1
        question = f"그래핀은 전자파를 얼마나 차단하는가? {self._name()}"
        asked = [self._get(path, {"question": question}) for path in ("/v1/search", "/v1/ask")]
        return [*asked, self._get("/health/live"), self._get("/metrics")]

    def _generation(self) -> int:
        health = self._get("/health/ready")
        return int(health.body["index_generation"]) if health.status == 200 else 0

    def _health_says(self, generation: int) -> bool:
        health = self._get("/health/ready")
        if health.status == 0:
            return False
        body = health.body
        said = health.status == 503 or body["index_problem"] or body["background_problem"]
        return bool(said) or body["index_generation"] == generation

    def _get(self, path: str, body: object = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                status, text = response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        except OSError as error:
            return Answer(0, repr(error))
        return Answer(status, text if path == "/metrics" else json.loads(text))

    def _name(self) -> str:
        return f"fault {self._asked} of the server"

    def _log(self) -> str:
        return (self._home / "server.log").read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def _attached(self, command: Sequence[str]) -> Iterator[None]:
        """Attach strace, which begins with ``command``, to the server for a ``with`` block."""
        whole = [each for each in command if each != "-qq"] + ["-p", str(self._process.pid)]
        strace = subprocess.Popen(whole, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert strace.stderr is not None
        try:
            first = strace.stderr.readline()
            if "attached" not in first:
                pytest.skip(f"strace may not attach here: {first.strip()}")
            yield
        finally:
            strace.send_signal(signal.SIGINT)
            strace.communicate()


@contextmanager
def faulted_server(folder: Path, strace: str, demo_home: Path) -> Iterator[FaultedServer]:
    """Serve a copy of the demonstration's index in a home below ``folder`` until the block ends."""
    home = folder / "home"
    shutil.copytree(demo_home, home)
    shutil.copytree(home / "indexes" / NAME, folder / "content")
    environment = {**os.environ, "SHRAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
    with (home / "server.log").open("wb") as log:
        command = [sys.executable, "-c", _SCRIPT, NAME, "--port", "0", "--log-questions"]
        process = subprocess.Popen(command, env=environment, stderr=log, start_new_session=True)
    try:
        assert wait_for(lambda: "http://" in (home / "server.log").read_text(), SECONDS)
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", (home / "server.log").read_text())
        assert address
        yield FaultedServer(home, strace, process, int(address.group(1)))
    finally:
        process.kill()
        process.wait()
