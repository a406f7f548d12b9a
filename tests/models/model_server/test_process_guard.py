"""Process guard: it ends with its command, and its command with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from shrag.models.model_server import process_guard

pytestmark = pytest.mark.process

GUARD = [sys.executable, "-I", "-S", process_guard.__file__]


def _guarded(command: Sequence[str], grace: float = 0.3) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GUARD, str(grace), "/nowhere", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("code", "status"), [("import sys; sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_the_exit_status_is_that_of_the_command(code: str, status: int) -> None:
    with _guarded([sys.executable, "-c", code]) as guard:
        assert guard.wait(10) == status


def test_a_missing_command_exits_with_127_and_a_message() -> None:
    with _guarded(["/nowhere/vllm"]) as guard:
        assert guard.communicate(timeout=10)[1] == "/nowhere/vllm cannot be started: No such file or directory\n"
        assert guard.returncode == 127


@pytest.mark.parametrize("how", ["its input is closed", "it is told to stop"])
def test_the_command_gets_sigterm_first(how: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(said)!r}).write_text('told'), sys.exit(0)))\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    with _guarded([sys.executable, "-c", code], grace=20) as guard:
        assert guard.stdout is not None
        assert guard.stdin is not None
        assert guard.stdout.readline() == "up\n"
        began = time.monotonic()
        if how == "it is told to stop":
            guard.send_signal(signal.SIGTERM)
        else:
            guard.stdin.close()
        assert guard.wait(10) == 0
        assert time.monotonic() - began < 5
    assert said.read_text() == "told"
