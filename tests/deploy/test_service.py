"""The systemd unit: how much it leaves open, and that the server lives with what it takes away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.live import QUESTION

UNIT = ROOT / "deploy" / "shrag.service"
VLLM = ROOT / "deploy" / "shrag-vllm.service"
DROP_IN = ROOT / "deploy" / "shrag.service.d" / "network.conf.example"
MOST_EXPOSED = 2.0
SERVE = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "demo", "--port", "0"]

needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")

# As the unit has it and more: /tmp is read-only too. Bind mounts of their own keep the rest of the machine as it is.
CONFINE = r"""
mount --bind "$1" /srv
mount -t proc -o subset=pid,hidepid=invisible proc /proc
findmnt -rno TARGET | sort -r | while read -r target; do
  case "$target" in
    /proc*|/dev*|/sys*) ;;
    *) mount -o remount,bind,ro "$target" ;;
  esac
done
if touch /srv/x /tmp/x 2>/dev/null; then echo "not read-only" >&2; exit 1; fi
cd /srv
export SHRAG_HOME=/srv HOME=/ PYTHONDONTWRITEBYTECODE=1
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
"""


def _unit(tmp_path: Path, *drop_ins: Path, unit: Path = UNIT) -> Path:
    """Copy the unit with its command where it is on this machine; verifying looks whether it is there."""
    command = shutil.which("true")
    for file in (unit, *drop_ins):
        text = re.sub(r"/opt/shrag/bin/[a-z-]+", str(command), file.read_text(encoding="utf-8"))
        folder = tmp_path if file == unit else tmp_path / "shrag.service.d"
        folder.mkdir(exist_ok=True)
        (folder / file.name.removesuffix(".example")).write_text(text, encoding="utf-8")
    return tmp_path / unit.name


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)


@needs_analyze
def test_the_unit_is_one_and_its_drop_in_too(tmp_path: Path) -> None:
    for unit, drop_ins in ((UNIT, ()), (UNIT, (DROP_IN,)), (VLLM, ())):
        done = _analyze("verify", "--man=no", "--recursive-errors=no", str(_unit(tmp_path, *drop_ins, unit=unit)))
        assert (done.returncode, done.stderr) == (0, "")


@needs_analyze
def test_verifying_finds_what_is_wrong(tmp_path: Path) -> None:
    unit = _unit(tmp_path)
    unit.write_text(unit.read_text(encoding="utf-8").replace("ProtectSystem=strict", "ProtectSystem=strictly"))
    said = _analyze("verify", "--man=no", "--recursive-errors=no", str(unit)).stderr
    assert "Failed to parse protect system value" in said


@needs_analyze
@pytest.mark.parametrize("unit", [UNIT, VLLM], ids=lambda path: str(path.stem))
def test_it_leaves_little_open(unit: Path) -> None:
    done = _analyze("security", "--offline=true", "--threshold=20", str(unit))
    score = re.search(r"Overall exposure level for \S+\.service: ([0-9.]+)", done.stdout)
    assert score
    assert float(score.group(1)) <= MOST_EXPOSED
    assert done.returncode == 0


def test_its_options_are_those_of_the_server() -> None:
    from shrag.cli.commands.serve import command

    known = {option for parameter in command.params for option in parameter.opts}
    for file in (UNIT, DROP_IN):
        used = re.findall(
            r"--[a-z-]+", re.findall(r"^ExecStart=/.*$", file.read_text(encoding="utf-8"), re.MULTILINE)[0]
        )
        assert used
        assert set(used) <= known


def test_the_model_is_served_as_shrag_serve_would_and_connects_to_nothing() -> None:
    from shrag.models.model_server.command import COMPACT_JSON_FLAGS, server_environment

    given = server_environment({}, Path())
    del given["VLLM_CACHE_ROOT"]
    text = VLLM.read_text(encoding="utf-8")
    named = re.findall(r"^Environment=(.*)$", text, re.MULTILINE)
    assert {f"{name}={value}" for name, value in given.items()} <= set(" ".join(named).split())
    name, value = COMPACT_JSON_FLAGS
    assert f"{name} '{value}'" in text
    assert "\nIPAddressDeny=any\nIPAddressAllow=localhost\n" in text
    job = (ROOT / "deploy" / "shrag.slurm").read_text(encoding="utf-8")
    assert all(f"{name}={value}" in job for name, value in given.items())
    assert f"{name} '{value}'" in job


def test_the_job_is_a_script_that_bash_can_read() -> None:
    done = subprocess.run(["bash", "-n", ROOT / "deploy" / "shrag.slurm"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_time_it_is_given_to_stop_is_more_than_it_takes() -> None:
    from shrag.serving.http.server import _CLOSE_SECONDS, _GRACE_SECONDS

    (given,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert int(given) >= _GRACE_SECONDS + _CLOSE_SECONDS + 3


@contextmanager
def _served(command: list[str], home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHRAG_HOME": str(home)}
    # A group of its own, so that what `unshare` and `strace` start ends with them.
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        assert server.stderr is not None
        said = ""
        for line in server.stderr:
            said += line
            address = re.search(r"http://\S+/", line)
            if address:
                yield server, address.group()
                return
        raise AssertionError(said)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.communicate(timeout=20)


def _ask(address: str) -> str:
    body = json.dumps({"question": QUESTION}).encode()
    request = urllib.request.Request(address + "v1/ask", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        citations = json.load(response)["answer"]["citations"]
        return str(citations[0]["docid"])


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _can_confine() -> bool:
    tools = all(shutil.which(name) for name in ("unshare", "setpriv", "findmnt", "mount"))
    readable = all(folder.stat().st_mode & 0o001 for folder in (*ROOT.parents, ROOT, *Path(sys.prefix).parents))
    if os.geteuid() != 0 or not tools or not readable:
        return False
    tried = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "true"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.process
@pytest.mark.skipif(not _can_confine(), reason="needs root, unshare and setpriv, and a checkout that nobody can read")
def test_nobody_answers_a_question_with_every_file_read_only_and_no_capability(demo_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "srv"
    shutil.copytree(demo_home, home)
    subprocess.run(["chmod", "-R", "a+rX,a-w", str(home)], check=True)
    before = {file: file.stat().st_mtime_ns for file in home.rglob("*")}
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    with _served([*namespaces, "sh", "-ec", CONFINE, "confine", str(home), *SERVE], home) as (unshare, address):
        assert _ask(address) == "DEMO-SOC-012"
        children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text(encoding="utf-8").split()
        status = _status(int(children[0]))
        assert status["Uid"].split() == ["65534"] * 4
        assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
    assert {file: file.stat().st_mtime_ns for file in home.rglob("*")} == before


def _allowed() -> set[str]:
    """Return the system calls that the unit's filter lets through."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        group = line.removeprefix("~")
        calls = _calls(group) if group.startswith("@") else set(group.split())
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def _calls(group: str) -> set[str]:
    done = _analyze("syscall-filter", group)
    words = [line.strip() for line in done.stdout.splitlines() if line.startswith("    ")]
    return set().union(
        *(_calls(word) if word.startswith("@") else {word} for word in words if not word.startswith("#"))
    )


@pytest.mark.process
@needs_analyze
def test_every_system_call_of_a_start_and_a_question_is_one_the_unit_allows(
    demo_home: Path, tmp_path: Path, strace: str
) -> None:
    allowed = _allowed()
    assert {"openat", "futex", "mmap"} <= allowed
    assert not {"mount", "reboot", "kexec_load", "ptrace", "bpf", "setuid"} & allowed
    trace = tmp_path / "trace"
    command = [strace, "-f", "-qq", "-e", "trace=!futex", "-o", str(trace), *SERVE]
    with _served(command, demo_home) as (traced, address):
        assert _ask(address) == "DEMO-SOC-012"
        os.killpg(traced.pid, signal.SIGTERM)  # strace itself does not listen
        assert traced.wait(timeout=30) == 0
    used = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))
    assert {"openat", "mmap", "accept4", "sendto"} & used
    assert used - allowed == set()
    # Java's calls too, which Python's own audit does not see.
    connected = re.findall(r"connect\(.*sin6?_addr.*?\"([^\"]+)\"", trace.read_text(encoding="utf-8", errors="replace"))
    assert set(connected) <= {"127.0.0.1", "::1"}
