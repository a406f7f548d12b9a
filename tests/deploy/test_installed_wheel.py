"""The wheel alone in an empty environment: index, ask and serve, without a manual step. Run by ``make test-wheel``.

``make dist`` runs it with the wheel that it built, in the folder SHRAG_DIST.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.wheel

_MOST_MIB = 700
_QUESTION = "재택근무를 많이 할수록 갈등이 커지는가?"


def _run(*command: object, **more: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]
        [str(part) for part in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def _environment() -> Mapping[str, str]:
    """Return the variables of this process without those that say where SHRAG or Python find things."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SHRAG", "PYTHON"))}


def _mebibytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel as it is built from this checkout, or that of ``make dist``."""
    if built := os.environ.get("SHRAG_DIST"):
        names = Path(built, "SHA256SUMS").read_text(encoding="utf-8").split()
        return Path(built, next(name for name in names if name.endswith(".whl")))
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def test_the_wheel_alone_indexes_asks_and_serves(wheel: Path, tmp_path: Path) -> None:
    venv, work, environment = tmp_path / "venv", tmp_path / "work", _environment()
    work.mkdir()
    _run(sys.executable, "-m", "venv", venv)
    _run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, env=environment)
    assert wheel.stat().st_size < 10 * 2**20
    assert _mebibytes(venv) < _MOST_MIB

    def shrag(*arguments: object) -> str:
        return _run(venv / "bin" / "shrag", *arguments, cwd=work, env=environment)

    assert "Lucene 9.9.1" in shrag("--version").splitlines()
    shrag("init")
    assert "235 records" in shrag("index", "demo")
    assert "DEMO-SOC-012" in shrag("ask", "demo", _QUESTION)
    doctor = shrag("doctor")
    assert "FAIL" not in doctor
    assert "make " not in doctor
    _serve_and_ask(venv, work, environment, tmp_path / "serve.log")


def _serve_and_ask(venv: Path, work: Path, environment: Mapping[str, str], log: Path) -> None:
    """Start ``shrag-serve``, ask one question over HTTP, and stop it by Ctrl-C's signal."""
    with log.open("w") as stream:
        server = subprocess.Popen(
            [venv / "bin" / "shrag-serve", "demo", "--port", "0"], cwd=work, env=environment, stderr=stream
        )
    try:
        while "Ctrl-C stops" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        address = log.read_text().partition(" at ")[2].split()[0].rstrip("/")
        body = json.dumps({"question": _QUESTION}).encode()
        request = Request(f"{address}/v1/ask", body, {"content-type": "application/json"})
        with urlopen(request, timeout=120) as response:
            assert "DEMO-SOC-012" in response.read().decode()
        with urlopen(f"{address}/docs/en/tutorial.html", timeout=120) as response:
            assert "<h1>Tutorial" in response.read().decode()
        server.send_signal(signal.SIGINT)
        assert server.wait(120) == 130
    finally:
        server.kill()
        server.wait()
