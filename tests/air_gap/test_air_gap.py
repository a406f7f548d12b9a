"""A bundle from its making to an evaluation on the other side, where there is no network: run by ``make airgap-test``.

The other side is a network namespace that has only the loopback device, and a Python without any package. Each command
is followed by strace, which writes down every address that any of its processes connects or sends to: the attempts
too, which a missing network alone would hide.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.air_gap.far_side import RECORDS, Answer
from tests.conftest import DEMO, ROOT
from tests.support.connections import TRACED, connections, require_namespaces

pytestmark = pytest.mark.airgap

SHRAG = Path(sys.executable).with_name("shrag")
BARE_PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"

_ATTEMPTS = """
import socket
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, "192.0.2.1"),
    (socket.AF_INET6, socket.SOCK_STREAM, "2001:db8::1"),
    (socket.AF_INET, socket.SOCK_DGRAM, "198.51.100.1"),
    (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"),
):
    with socket.socket(family, kind) as stream:
        try:
            stream.sendto(b"", (address, 9)) if kind == socket.SOCK_DGRAM else stream.connect((address, 9))
        except OSError:
            pass
"""


@dataclass
class Steps:
    """What each step took, printed at the end."""

    rows: list[tuple[str, float, str]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        """Time a step; what is put into the list is shown beside it."""
        notes: list[str] = []
        started = time.monotonic()
        yield notes
        self.rows.append((name, time.monotonic() - started, ", ".join(notes)))

    def table(self) -> str:
        """Return the steps as a table."""
        lines = [f"{name:<12}{seconds:>8.1f} s  {notes}".rstrip() for name, seconds, notes in self.rows]
        return "\n".join(["", *lines, f"{'together':<12}{sum(row[1] for row in self.rows):>8.1f} s"])


@pytest.fixture
def far_environment(tmp_path: Path) -> Mapping[str, str]:
    """Return the variables of a login on the other side: none of this environment's, and a home of its own."""
    (tmp_path / "login").mkdir()
    return {"HOME": str(tmp_path / "login"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def _mebibytes(path: Path) -> str:
    files = path.rglob("*") if path.is_dir() else [path]
    size = sum(each.lstat().st_blocks * 512 for each in files)
    return f"{size / 2**20:,.1f} MiB"


def test_from_a_bundle_to_an_evaluation_without_a_network(
    tmp_path: Path, own_home: Path, far_environment: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    require_namespaces()
    steps, bundle, folder, traces = Steps(), tmp_path / "carry" / "shrag.tar", tmp_path / "opt", tmp_path / "traces"
    traces.mkdir()
    questions = tmp_path / "demo"
    questions.mkdir()
    for name in ("topics.tsv", "qrels.txt"):
        shutil.copy(DEMO / name, questions)
    own_environment = {**os.environ, "SHRAG_HOME": str(own_home)}

    def here(*arguments: object) -> str:
        command = [str(SHRAG), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=own_environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    here("index", "demo")
    with steps.step("create") as notes:
        here("bundle", "create", bundle, "--index", "demo", "--corpus", "demo", "--questions", questions)
        notes.append(_mebibytes(bundle))
    installer = [str(BARE_PYTHON), "-I", str(bundle.with_name("shrag.install.pyz"))]

    def there(name: str, *command: object) -> str:
        """Run a command on the other side, followed by strace; return what it prints."""
        traced = [*TRACED, "--output", str(traces / f"{name}.strace"), *map(str, command)]
        without_network = ["unshare", "--net", str(BARE_PYTHON), "-I", str(ROOT / "tests/air_gap/loopback.py"), *traced]
        done = subprocess.run(
            without_network, capture_output=True, text=True, check=False, env=far_environment, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with steps.step("verify") as notes:
        notes.append(there("verify", *installer, "verify").split(": ", 1)[1].strip())
    with steps.step("install") as notes:
        there("install", *installer, "install", "--into", folder)
        notes.append(_mebibytes(folder))
    shrag = folder / "bin" / "shrag"
    packages = subprocess.run(
        [folder / "current" / "venv" / "bin" / "python", "-c", "import pytest"], capture_output=True, check=False
    )
    assert packages.returncode == 1  # none of what develops and tests it
    with steps.step("doctor"):
        assert "FAIL" not in there("doctor", shrag, "doctor")
    (tmp_path / "own.csv").write_bytes(RECORDS.encode("cp949"))
    with steps.step("corpus add") as notes:
        notes.append(there("add", shrag, "corpus", "add", "own", tmp_path / "own.csv").splitlines()[-1])
    with steps.step("index") as notes:
        notes.append(there("index", shrag, "index", "own").splitlines()[-1])
    with steps.step("serve") as notes:
        command = [sys.executable, "-m", "tests.air_gap.far_side", str(folder), str(traces / "serve.strace"), *TRACED]
        served = subprocess.run(
            ["unshare", "--net", *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**far_environment, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"},
        )
        assert served.returncode == 0, served.stderr
        answers = [Answer(**each) for each in json.loads(served.stdout)]
        notes.append(", ".join(f"{each.by} {each.seconds:.1f} s" for each in answers))
    # Over HTTP of one's own records and of those carried; in a browser where there is one.
    assert [each.docid for each in answers][:2] == ["R-07", "DEMO-EDU-011"]
    assert all(each.docid == "R-07" for each in answers[2:])
    assert len(answers) == 3 or shutil.which("chromium") is None
    with steps.step("evaluate") as notes:
        results = folder / "home" / "runs" / "carried"
        data = folder / "home" / "questions" / "demo"
        there("experiment", shrag, "experiment", "--index", "demo", "--data", data, "--output", results)
        there("report", shrag, "report", results)
        notes.append(_mebibytes(results / "report.html"))
    # Back outside: the page is one file without an address, and the card is one of the bundle's index.
    page = (results / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "They agree: the index demo" in here("report", "--check", bundle, results)

    calls, addresses = connections(traces)
    commands = len(list(traces.iterdir()))
    with capsys.disabled():
        print(steps.table())
        print(f"{calls} traced calls of {commands} commands; addresses beside loopback: {sorted(addresses)}")
    assert commands == 8
    assert addresses == set()
    # What is traced is seen, attempts that fail too: of addresses that nobody has, RFC 5737 and RFC 3849.
    there("control", BARE_PYTHON, "-c", _ATTEMPTS)
    assert connections(traces)[1] == {"192.0.2.1", "2001:db8::1", "198.51.100.1"}
