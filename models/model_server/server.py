"""Supervise a model server: start vLLM as a subprocess, check its health, and restart it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from shrag.messages.text import Text
from shrag.models.chat.endpoint import Timeouts, parse_address
from shrag.models.chat.endpoint_probe import to_one_line
from shrag.models.chat.http_client import EndpointClient
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable
from shrag.models.model_server.command import check_server_program, server_command, server_environment

LOG_FILE = "vllm.log"
Phase = Literal["starting", "ready", "down", "stopped"]

_PHASES: dict[Phase, Text] = {
    "starting": Text("starting"),
    "ready": Text("ready"),
    "down": Text("down"),
    "stopped": Text("stopped"),
}

_HEALTH_SECONDS = 5.0
_GUARD = Path(__file__).with_name("process_guard.py")


class ServerState(NamedTuple):
    """The state of a server.

    ``reason`` says why the server is down; otherwise it is empty. ``restarts`` counts the starts after the first one.
    """

    phase: Phase
    reason: str
    restarts: int

    @property
    def text(self) -> Text:
        """The state as a message."""
        text = _PHASES[self.phase]
        if self.reason:
            text = Text("{phase}: {reason}", phase=text, reason=self.reason)
        if not self.restarts:
            return text
        return Text("{state} (restarted {restarts} times)", state=text, restarts=self.restarts)


class SupervisionPolicy(NamedTuple):
    """The times of supervision, in seconds, and its counts.

    ``poll`` and ``watch`` are the intervals of health checks before and after the server is ready. After ``unanswered``
    failed checks in a row, the server is restarted. A server that is stopped has ``grace`` seconds before it is killed.

    The pause before a restart doubles from ``first_pause`` to ``longest_pause``. It begins anew after ``healthy``
    seconds of service. After ``tries`` consecutive starts without becoming ready, the server is not started again.
    """

    poll: float = 0.5
    watch: float = 2.0
    unanswered: int = 5
    first_pause: float = 1.0
    longest_pause: float = 60.0
    healthy: float = 60.0
    tries: int = 5
    grace: float = 10.0


class ModelServer:
    """A context manager that runs ``settings.command`` with ``settings.weights`` on a Unix socket for this user only.

    The log and the compile cache are in ``folder``. On exit, and also if this process is killed, the server ends with
    all its children. The supervising thread calls ``on_change`` with every new state. Entering the context raises
    :class:`~shrag.models.errors.ServerProgramMissing` and :class:`~shrag.models.errors.WeightsMissing`.
    """

    def __init__(
        self,
        settings: LlmSettings,
        folder: Path,
        *,
        policy: SupervisionPolicy | None = None,
        on_change: Callable[[ServerState], None] | None = None,
    ) -> None:
        self._settings = settings
        self._policy = policy or SupervisionPolicy()
        self._on_change = on_change
        self._cache = folder.absolute() / "cache"
        self._state = ServerState("stopped", "", 0)
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.log = Path(settings.log) if settings.log else folder / LOG_FILE

    @property
    def state(self) -> ServerState:
        """The current state."""
        return self._state

    @property
    def address(self) -> str:
        """The server's address, which works while the server is ready."""
        return f"unix:{self._socket}"

    def wait_for(self, phase: str, seconds: float) -> ServerState:
        """Wait at most ``seconds`` for ``phase``, then return the state."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.phase == phase, seconds)
            return self._state

    def __enter__(self) -> ModelServer:
        """Start the server; returns before it is ready."""
        check_server_program(self._settings)
        rotate_log(self.log)
        # The folder has mode 0700, since access to it is access to the model; vLLM's own key guards only some paths.
        self._folder = tempfile.TemporaryDirectory(prefix="shrag-llm-", ignore_cleanup_errors=True)
        self._socket = Path(self._folder.name) / "llm.sock"
        self._stopping.clear()
        self._state = ServerState("starting", "", 0)  # a request before the thread's first step finds it so
        self._thread = threading.Thread(target=self._run, name="model server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and wait for its end."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._folder.cleanup()
        self._set_state("stopped")

    def _run(self) -> None:
        pause, never_ready, restarts = self._policy.first_pause, 0, 0
        while True:
            began = 0
            try:
                began = self.log.stat().st_size if self.log.exists() else 0
                self._set_state("starting", restarts=restarts)
                with self._running_process() as process:
                    served = self._watch(process)
            except Exception as error:  # no memory for a process, no disk space for the log, or any other error
                served = _ServerRun(Text("it could not be started ({error})", error=error), None)
            if self._stopping.is_set():
                return
            why = Text(
                "{ended}; {line} (log: {log})",
                ended=served.ended,
                line=last_error_line(self.log, began) or Text("it wrote nothing"),
                log=self.log,
            )
            never_ready = never_ready + 1 if served.seconds is None else 0
            if never_ready >= self._policy.tries:
                given_up = Text("given up after {starts} starts, {why}", starts=never_ready, why=why)
                self._set_state("down", given_up, restarts)
                return
            if served.seconds is not None and served.seconds >= self._policy.healthy:
                pause = self._policy.first_pause
            self._set_state("down", Text("{why}, next start in {pause:g} s", why=why, pause=pause), restarts)
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, self._policy.longest_pause)
            restarts += 1

    @contextmanager
    def _running_process(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the server below a process guard, which ends it when the pipe closes."""
        self._socket.unlink(missing_ok=True)
        guard = [sys.executable, "-I", "-S", str(_GUARD), str(self._policy.grace), self._folder.name]
        with self.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  (the command is the user's own, a list, no shell)
                [*guard, *server_command(self._settings, self._socket)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=server_environment(os.environ, self._cache),
                start_new_session=True,
            )
        assert process.stdin is not None  # noqa: S101  (it is a pipe)
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait()

    def _watch(self, process: subprocess.Popen[bytes]) -> _ServerRun:
        """Check the server's health until it ends, stops answering, or is to be stopped."""
        address = parse_address(self.address)
        with EndpointClient(address, Timeouts(_HEALTH_SECONDS, _HEALTH_SECONDS, _HEALTH_SECONDS)) as client:
            began, ready, silent = time.monotonic(), None, 0
            while not self._stopping.wait(self._policy.poll if ready is None else self._policy.watch):
                if (status := process.poll()) is not None:
                    ended = Text("it ended with {status}", status=_describe_status(status))
                    return _ServerRun(ended, _seconds_since(ready))
                healthy = _is_healthy(client)
                silent = 0 if healthy else silent + 1
                if healthy and ready is None:
                    ready = time.monotonic()
                    self._set_state("ready")
                elif ready is None and time.monotonic() - began > self._settings.start_timeout:
                    waited = Text("it was not ready after {seconds:g} s", seconds=self._settings.start_timeout)
                    return _ServerRun(waited, None)
                elif ready is not None and silent >= self._policy.unanswered:
                    unanswered = Text("it left {count} health checks unanswered", count=silent)
                    return _ServerRun(unanswered, _seconds_since(ready))
            return _ServerRun("stopped", _seconds_since(ready))

    def _set_state(self, phase: Phase, reason: str = "", restarts: int | None = None) -> None:
        with self._changed:
            self._state = ServerState(phase, reason, self._state.restarts if restarts is None else restarts)
            self._changed.notify_all()
        if self._on_change is not None:
            with suppress(Exception):  # the callback's terminal may be gone; supervision goes on
                self._on_change(self._state)


class _ServerRun(NamedTuple):
    """How a run ended, and for how many seconds the server was ready; None if it never was."""

    ended: str
    seconds: float | None


def _seconds_since(ready: float | None) -> float | None:
    return None if ready is None else time.monotonic() - ready


def _is_healthy(client: EndpointClient) -> bool:
    try:
        return client.fetch("/health", _HEALTH_SECONDS)[0] == 200
    except ModelUnavailable:
        return False


def _describe_status(status: int) -> Text:
    # The guard returns 128 + N if signal N ended the command; a negative status is the guard's own.
    number = status - 128 if status > 128 else -status if status < 0 else 0
    return Text("signal {number}", number=number) if number else Text("status {status}", status=status)


_OLD_LOGS = 5
_TAIL_BYTES = 64 * 1024


def rotate_log(log: Path) -> None:
    """Rename ``vllm.log`` to ``vllm.log.1``, ``.1`` to ``.2`` and so on; ``.5`` is overwritten."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in range(_OLD_LOGS - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.is_file():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def last_error_line(log: Path, since: int) -> str:
    """Return the last line after byte ``since`` that mentions an error, or else the last line; empty without a log."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    written = [line.strip() for line in lines if line.strip()]
    errors = [line for line in written if "error" in line.lower() or "cannot" in line.lower()]
    return to_one_line((errors or written or [""])[-1])
