"""The table ``[llm]`` and its variables, the doctor's check of the model, and a server that starts one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from shrag.cli.main import run
from shrag.cli.options.model import open_language_model, plan_retrieval, read_llm_settings, running_language_model
from shrag.cli.settings import Home
from shrag.indexing.storage import generations
from shrag.indexing.storage.vector_card import VectorCard
from shrag.messages.text import in_language
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint_pool import EndpointPool
from shrag.models.chat.settings import LlmSettings
from shrag.models.encoders import network
from tests.models.memory_plan.test_model_size import CONFIG, write_model
from tests.support.fake_endpoint import Endpoint, answers, serving

FAKE = Path(__file__).resolve().parents[2] / "support" / "fake_vllm.py"


def test_a_variable_goes_before_the_table() -> None:
    settings = read_llm_settings(
        {"url": "unix:/run/a.sock", "max_tokens": 100, "timeout": 9},
        {"SHRAG_LLM_MAX_TOKENS": "200", "SHRAG_LLM_API_KEY": "k", "SHRAG_LLM_MODEL": "", "SHRAG_HOME": "var"},
    )
    assert settings == LlmSettings(url="unix:/run/a.sock", max_tokens=200, timeout=9.0, api_key="k")


def test_a_command_in_a_variable_is_one_line() -> None:
    environment = {"SHRAG_LLM_COMMAND": "/v/python -m vllm", "SHRAG_LLM_WEIGHTS": "w", "SHRAG_LLM_FLAGS": "--seed 3"}
    settings = read_llm_settings({}, environment)
    assert (settings.arguments, settings.extra_flags) == (("/v/python", "-m", "vllm"), ("--seed", "3"))


@pytest.mark.parametrize(
    ("table", "environment", "words"),
    [
        ({"uri": "x"}, {}, r"\[llm\] in shrag.toml has no option 'uri': use api_key, budget"),
        ({}, {"SHRAG_LLM_URI": "x"}, r"SHRAG_LLM_\* has no option 'uri'"),
        ({"timeout": "soon"}, {}, "are invalid: Expected `float`"),
        ({"url": "localhost"}, {}, "is no address of an endpoint"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(
    table: dict[str, object], environment: dict[str, str], words: str
) -> None:
    with pytest.raises(click.UsageError, match=words):
        read_llm_settings(table, environment)


def test_an_unknown_key_of_the_table_is_said_in_korean_too() -> None:
    with pytest.raises(click.UsageError) as raised:
        read_llm_settings({"uri": "x"}, {})
    assert in_language(raised.value.message, "ko").startswith("shrag.toml의 [llm]: 'uri' 옵션이 없습니다.")


@pytest.mark.process
def test_without_an_address_there_is_no_model_and_nothing_of_the_client_is_imported() -> None:
    assert open_language_model(LlmSettings()) is None
    assert open_language_model(LlmSettings(command="vllm", weights="w")) is None
    code = (
        "import sys; from shrag.cli.main import run\n"
        "from shrag.cli.options.model import open_language_model, plan_retrieval, read_llm_settings\n"
        "assert open_language_model(read_llm_settings({}, {})) is None\n"
        "print(sorted({'openai', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("url", "client"), [("http://h:1/v1", OpenAIModel), ("http://h:1/v1,http://h:2/v1", EndpointPool)]
)
def test_one_address_has_a_client_of_its_own_and_several_share_one(url: str, client: type) -> None:
    model = open_language_model(LlmSettings(url=url))
    assert model is not None
    with closing(model):
        assert type(model) is client


def _doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str]]:
    status = run(["doctor", "--json"])
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return status, next(finding for finding in findings if finding["check"] == "Language model")


def test_the_doctor_says_that_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    status, finding = _doctor(capsys)
    assert (status, finding["status"]) == (0, "ok")
    assert finding["message"].startswith("none: answers are extractive")


def test_the_doctor_tells_the_models_name_and_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Endpoint(answers("x"), models=("qwen",))) as url:
        (tmp_path / "shrag.toml").write_text(f'[llm]\nurl = "{url}"\n')
        status, finding = _doctor(capsys)
    assert (status, finding["status"]) == (0, "ok")
    assert finding["message"] == f"qwen at {url} answers, with a context of 2,048 tokens, vLLM 0.32.0"


def test_the_doctor_counts_the_endpoints_that_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Endpoint(answers("x"))) as first, serving(Endpoint(answers("x"))) as second:
        (tmp_path / "shrag.toml").write_text(f'[llm]\nurl = ["{first}", "{second}"]\n')
        status, finding = _doctor(capsys)
        assert (status, finding["status"], finding["message"]) == (0, "ok", "m at 2 of 2 endpoints")
        (tmp_path / "shrag.toml").write_text(f'[llm]\nurl = "{first},http://127.0.0.1:9/v1"\n')
        status, finding = _doctor(capsys)
        assert (status, finding["status"]) == (0, "warning")
        assert finding["message"].startswith("m at 1 of 2 endpoints. http://127.0.0.1:9/v1 does not answer")
    (tmp_path / "shrag.toml").write_text('[llm]\nurl = ["http://127.0.0.1:9/v1", "unix:/nowhere/llm.sock"]\n')
    status, finding = _doctor(capsys)
    assert (status, finding["status"]) == (6, "failure")
    assert "http://127.0.0.1:9/v1 does not answer" in finding["message"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('url = "unix:/nowhere/llm.sock"', "unix:/nowhere/llm.sock does not answer (No such file or directory)."),
        ('command = "/nowhere/python -m vllm"\nweights = "w"', "/nowhere/python does not exist"),
        (f'command = "{sys.executable}"\nweights = "w"', "w has no config.json"),
    ],
)
def test_the_doctor_ends_with_6_where_the_model_is_away(
    table: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text(f"[llm]\n{table}\n")
    status, finding = _doctor(capsys)
    assert (status, finding["status"]) == (6, "failure")
    assert words in finding["message"]


def test_a_misspelt_option_of_the_table_is_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shrag.toml").write_text('[llm]\nmodle = "x"\n')
    assert run(["doctor"]) == 2
    assert "has no option 'modle'" in capsys.readouterr().err
    (tmp_path / "shrag.toml").write_text('llm = "x"\n')
    assert run(["doctor"]) == 2
    assert "must be a table" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("budget", ["", "24GB"])
def test_the_server_starts_its_model_and_takes_it_down_with_it(demo_home: Path, tmp_path: Path, budget: str) -> None:
    write_model(tmp_path / "tiny", dict(CONFIG))
    environment = {
        **os.environ,
        "SHRAG_HOME": str(demo_home),
        "SHRAG_LLM_COMMAND": f"{sys.executable} {FAKE} {tmp_path}",
        "SHRAG_LLM_WEIGHTS": str(tmp_path / "tiny"),
        "SHRAG_LLM_LOG": str(tmp_path / "vllm.log"),
        "SHRAG_LLM_BUDGET": budget,
        "SHRAG_LLM_CARD": "L40S",
    }
    command = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "demo", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        said = ""
        while "Ctrl-C stops" not in said or "ready" not in said:
            line = server.stderr.readline()
            assert line, said
            said += line
        assert re.search(r"^SHRAG serves demo .*\nLanguage model: tiny\. Ctrl-C stops\.$", _without_states(said), re.M)
        address = re.search(r"http://\S+/", said)
        assert address
        with urllib.request.urlopen(address.group() + "health/ready", timeout=10) as response:
            assert response.status == 200  # from here on SIGTERM is the server's to handle
        given = json.loads((tmp_path / "start-0").read_text())["arguments"]
        assert ("--kv-cache-memory-bytes" in given) == bool(budget)
        pid = int((tmp_path / "pids").read_text().split()[0])
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        assert "Language model: stopped" in server.stderr.read()
    until = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def _without_states(said: str) -> str:
    return "\n".join(
        line for line in said.splitlines() if not re.match(r"Language model: (starting|ready)|GPU memory", line)
    )


@pytest.mark.process
def test_a_server_whose_model_cannot_be_started_ends_with_6_in_one_line(demo_home: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SHRAG_HOME": str(demo_home),
        "SHRAG_LLM_COMMAND": "/nowhere/python",
        "SHRAG_LLM_WEIGHTS": str(tmp_path),
    }
    command = [sys.executable, "-c", "from shrag.cli.commands.serve import main; main()", "demo", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (6, 1)
    assert "/nowhere/python does not exist" in done.stderr


def test_the_plan_of_a_server_counts_its_re_ranker_and_the_encoders_of_all_its_indexes(demo_home: Path) -> None:
    home = Home(demo_home)
    assert plan_retrieval(home, ["demo"], "auto") == ()
    (reranker, *_) = plan_retrieval(home, ["demo"], "cross-encoder")
    assert (reranker.name, reranker.size) == ("re-ranker gte-multilingual-reranker-base", 611_919_362)


def test_a_budget_limits_what_the_networks_may_have_of_the_gpu(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    monkeypatch.setattr(network, "limit_gpu_memory", limits.append)
    write_model(tmp_path / "tiny", dict(CONFIG))
    command = [sys.executable, str(FAKE), str(tmp_path)]
    for budget, reranker in (("", "cross-encoder"), ("24GB", "auto"), ("24GB", "cross-encoder")):
        settings = LlmSettings(command=command, weights=str(tmp_path / "tiny"), budget=budget, card="L40S")
        with running_language_model(settings, Home(demo_home), ["demo"], reranker):
            pass
    assert limits == [611_919_362 + 32_768 * 28 * 1024 + 256 * 2**20]


def test_the_plan_of_a_server_counts_an_encoder_that_was_moved_and_none_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = VectorCard("/elsewhere/own-encoder:32", "settings", "digest", 32, 10)
    monkeypatch.setattr(generations, "current_generation", lambda index: (index, SimpleNamespace(vectors=card)))
    home = Home(tmp_path)
    assert plan_retrieval(home, ["demo"], "auto") == ()
    folder = home.weights / "own-encoder"
    folder.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": "F16", "shape": [6], "data_offsets": [0, 12]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(12))
    parts = {part.name: part.size for part in plan_retrieval(home, ["demo"], "auto")}
    assert (parts["encoder own-encoder"], parts["FAISS vectors"]) == (12, 640)
