"""Model server: start, health checks, restart, and end with its parent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shrag.messages.text import in_language
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable, ServerProgramMissing, WeightsMissing
from shrag.models.language_model import Message
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer, ServerState, SupervisionPolicy

pytestmark = pytest.mark.process

FAKE = Path(__file__).resolve().parents[2] / "support" / "fake_vllm.py"
QUICK = SupervisionPolicy(
    poll=0.05, watch=0.05, unanswered=3, first_pause=0.05, longest_pause=0.2, healthy=30.0, tries=3, grace=0.5
)
ASK = [Message("user", "?")]


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., LlmSettings]:
    """Return a maker of settings whose server is the fake one."""
    weights = tmp_path / "tiny-qwen"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    (tmp_path / "fake").mkdir()

    def make(*mode: str, **chosen: object) -> LlmSettings:
        command = [sys.executable, str(FAKE), str(tmp_path / "fake"), *mode]
        return LlmSettings(command=command, weights=str(weights), retries=0, **chosen)  # type: ignore[arg-type]

    return make


class Heard(list[ServerState]):
    """Every state a server told of: some do not last long enough to be waited for."""

    def wait(self, phase: str, times: int = 1, seconds: float = 20) -> ServerState:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = [state for state in self if state.phase == phase]
            if len(found) >= times:
                return found[times - 1]
            time.sleep(0.01)
        raise AssertionError(f"not {phase} {times} times within {seconds} s: {[*self]}")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def _gone(pids: list[int], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while any(_alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(_alive(pid) for pid in pids)


def _pids(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "fake" / "pids").read_text().split()]


def _started(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "fake").glob("start-*"))]


def test_a_model_is_unavailable_while_it_starts_then_answers_and_ends_with_the_server(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    heard = Heard()
    sick = tmp_path / "fake" / "sick"
    sick.touch()  # it is starting until its health checks are answered
    with ModelServer(settings(), tmp_path / "llm", policy=QUICK, on_change=heard.append) as server:
        with closing(ServedModel(settings(), server)) as model:
            with pytest.raises(ModelUnavailable, match="tiny-qwen is starting: try later"):
                model.complete(ASK)
            sick.unlink()
            assert server.wait_for("ready", 20) == ServerState("ready", "", 0)
            assert model.name == "tiny-qwen"
            assert model.complete(ASK).text == "from the subprocess"
            assert "".join(model.stream(ASK)) == "from the subprocess"
        socket = Path(server.address.removeprefix("unix:"))
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        pids = _pids(tmp_path)
    assert _gone(pids)
    assert not socket.parent.exists()
    assert [state.phase for state in heard] == ["starting", "ready", "stopped"]


def test_it_is_started_offline_with_the_flags_of_the_user_last(
    settings: Callable[..., LlmSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    chosen = settings(model="llm", flags="--max-model-len 4096 --seed 7", seed=1)
    with ModelServer(chosen, tmp_path / "llm", policy=QUICK) as server:
        assert server.wait_for("ready", 20).phase == "ready"
    (started,) = _started(tmp_path)
    assert started["arguments"][2:] == [
        *("--model", str(tmp_path / "tiny-qwen"), "--served-model-name", "llm"),
        *("--uds", server.address.removeprefix("unix:"), "--disable-fastapi-docs"),
        *("--scheduling-policy", "priority", "--generation-config", "vllm"),
        *("--seed", "1", "--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
        *("--disable-access-log-for-endpoints", "/health"),
        *("--max-model-len", "4096", "--seed", "7"),
    ]
    environment = started["environment"]
    assert {name: environment[name] for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS")} == {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    assert environment["VLLM_CACHE_ROOT"] == str(tmp_path / "llm" / "cache")
    assert environment["VLLM_HOST_IP"] == "127.0.0.1"
    assert not {"OPENAI_API_KEY", "PYTHONPATH"} & set(environment)


def test_a_killed_server_is_restarted(settings: Callable[..., LlmSettings], tmp_path: Path) -> None:
    heard = Heard()
    with (
        ModelServer(settings(), tmp_path / "llm", policy=QUICK, on_change=heard.append) as server,
        closing(ServedModel(settings(), server)) as model,
    ):
        heard.wait("ready")
        first = _pids(tmp_path)
        os.kill(first[0], signal.SIGKILL)
        assert heard.wait("down").reason.startswith("it ended with signal 9; it wrote nothing (log: ")
        with contextlib.suppress(ModelUnavailable):
            model.complete(ASK)
        assert heard.wait("ready", 2) == ServerState("ready", "", 1)
        assert model.complete(ASK).text == "from the subprocess"
        assert _gone(first)
        assert server.state.text == "ready (restarted 1 times)"
    assert [state.phase for state in heard] == ["starting", "ready", "down", "starting", "ready", "stopped"]


def test_a_server_that_does_not_answer_its_health_checks_is_replaced(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    heard = Heard()
    with ModelServer(settings(), tmp_path / "llm", policy=QUICK, on_change=heard.append):
        heard.wait("ready")
        first = _pids(tmp_path)
        (tmp_path / "fake" / "sick").touch()
        assert "3 health checks unanswered" in heard.wait("down").reason
        (tmp_path / "fake" / "sick").unlink()
        assert heard.wait("ready", 2).restarts == 1
        assert _gone(first)


def test_a_server_that_cannot_start_ends_with_the_logs_error(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    heard = Heard()
    with ModelServer(settings("crash"), tmp_path / "llm", policy=QUICK, on_change=heard.append) as server:
        server._thread.join(20)  # type: ignore[union-attr]
        assert server.state.phase == "down"
        assert server.state.reason == (
            "given up after 3 starts, it ended with status 3; ValueError: the KV cache does not fit "
            f"(log: {tmp_path / 'llm' / 'vllm.log'})"
        )
        assert in_language(server.state.text, "ko") == (
            "중단됨: 3번 시작한 뒤 포기함, 종료됨(종료 상태 3), ValueError: the KV cache does not fit"
            f"(로그: {tmp_path / 'llm' / 'vllm.log'})(다시 시작 2회)"
        )
        with closing(ServedModel(settings(), server)) as model, pytest.raises(ModelUnavailable, match="given up after"):
            model.complete(ASK)
    assert len(_started(tmp_path)) == 3
    pauses = [state.reason.rpartition("next start in ")[2] for state in heard if "next start" in state.reason]
    assert pauses == ["0.05 s", "0.1 s"]


def test_starts_without_success_are_counted_from_the_last_time_that_it_was_ready(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    heard = Heard()
    policy = QUICK._replace(tries=2)
    with ModelServer(settings("once"), tmp_path / "llm", policy=policy, on_change=heard.append) as server:
        heard.wait("ready")
        os.kill(_pids(tmp_path)[0], signal.SIGKILL)
        server._thread.join(20)  # type: ignore[union-attr]
        assert server.state.reason.startswith("given up after 2 starts, it ended with status 3")
    assert len(_started(tmp_path)) == 3


def test_an_error_of_the_operating_system_is_a_failed_start(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()

    def on_change(state: ServerState) -> None:
        raise BrokenPipeError(state)

    with ModelServer(
        settings(log=str(tmp_path / "folder")), tmp_path / "llm", policy=QUICK, on_change=on_change
    ) as server:
        server._thread.join(20)  # type: ignore[union-attr]
        assert server.state.phase == "down"
        assert "given up after 3 starts, it could not be started ([Errno 21] Is a directory" in server.state.reason
    assert (tmp_path / "folder").is_dir()


def test_the_pause_is_reset_after_a_healthy_time(settings: Callable[..., LlmSettings], tmp_path: Path) -> None:
    heard = Heard()
    policy = QUICK._replace(healthy=0.0)
    with ModelServer(settings(), tmp_path / "llm", policy=policy, on_change=heard.append):
        for time_ in range(1, 4):
            heard.wait("ready", time_)
            os.kill(_pids(tmp_path)[0], signal.SIGKILL)
            heard.wait("down", time_)
    pauses = [state.reason.rpartition("next start in ")[2] for state in heard if state.phase == "down"]
    assert pauses == ["0.05 s"] * 3


def test_a_start_that_takes_too_long_is_a_failed_one(settings: Callable[..., LlmSettings], tmp_path: Path) -> None:
    (tmp_path / "fake" / "sick").touch()
    heard = Heard()
    with ModelServer(settings(start_timeout=0.3), tmp_path / "llm", policy=QUICK, on_change=heard.append):
        assert "not ready after 0.3 s" in heard.wait("down").reason


def test_a_server_that_ignores_sigterm_is_killed_with_its_children(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    with ModelServer(settings("stubborn"), tmp_path / "llm", policy=QUICK) as server:
        server.wait_for("ready", 20)
        pids = _pids(tmp_path)
        began = time.monotonic()
    assert 0.5 <= time.monotonic() - began < 5
    assert _gone(pids)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_everything_ends_when_the_parent_is_killed(
    how: signal.Signals, settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    chosen = settings("stubborn")
    code = (
        "import time\n"
        "from pathlib import Path\n"
        "from shrag.models.chat.settings import LlmSettings\n"
        "from shrag.models.model_server.server import ModelServer, SupervisionPolicy\n"
        f"settings = LlmSettings(command={chosen.command!r}, weights={chosen.weights!r})\n"
        "policy = SupervisionPolicy(poll=0.05, grace=0.5)\n"
        f"with ModelServer(settings, Path({str(tmp_path / 'llm')!r}), policy=policy) as server:\n"
        "    server.wait_for('ready', 20)\n"
        "    print(server.address, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip().removeprefix("unix:")).parent
        assert folder.is_dir()
        pids = _pids(tmp_path)
        assert all(_alive(pid) for pid in pids)
        owner.send_signal(how)
        owner.wait(10)
        assert _gone(pids)
    until = time.monotonic() + 5
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not folder.exists()


def test_the_log_is_kept_and_the_ones_before_it_are_numbered(
    settings: Callable[..., LlmSettings], tmp_path: Path
) -> None:
    log = tmp_path / "llm" / "vllm.log"
    policy = QUICK._replace(tries=1)
    for _ in range(7):
        with ModelServer(settings("crash"), tmp_path / "llm", policy=policy) as server:
            server._thread.join(20)  # type: ignore[union-attr]
    assert sorted(path.name for path in log.parent.iterdir()) == ["vllm.log", *(f"vllm.log.{n}" for n in range(1, 6))]
    assert "the KV cache does not fit" in log.read_text()


def test_missing_program_or_weights_are_errors_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    nowhere = LlmSettings(command=["/nowhere/python"], weights=str(tmp_path / "w"))
    with pytest.raises(ServerProgramMissing, match="install vLLM"), ModelServer(nowhere, tmp_path / "llm"):
        pass
    empty = LlmSettings(command=[sys.executable], weights=str(tmp_path / "w"))
    with pytest.raises(WeightsMissing, match=r"has no config\.json"), ModelServer(empty, tmp_path / "llm"):
        pass
    assert not (tmp_path / "llm").exists()
