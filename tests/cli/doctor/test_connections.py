"""Settings and variables by which something can leave the machine."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from shrag.cli.doctor.connections import check_connections, check_language_model
from shrag.indexing.search_engine import EngineChoice
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint import EndpointHealth
from shrag.models.chat.settings import LlmSettings
from tests.support.fake_endpoint import Endpoint, answers, serving


@pytest.mark.parametrize(
    "settings",
    [
        LlmSettings(),
        LlmSettings(url="http://127.0.0.1:8000/v1"),
        LlmSettings(url="http://[::1]:8000/v1"),
        LlmSettings(url="http://localhost:8000"),
        LlmSettings(url="unix:/run/llm.sock"),
        LlmSettings(command="vllm", weights="w", flags="--otlp-traces-endpoint http://127.0.0.1:4317"),
    ],
)
def test_what_stays_on_this_machine_is_ok(settings: LlmSettings) -> None:
    (finding,) = check_connections(settings, {"PATH": "/bin", "https_proxy": "", "JAVA_TOOL_OPTIONS": "-Xmx1g"})
    assert (finding.status, finding.message) == ("ok", "no setting that connects to another machine")


@pytest.mark.parametrize(
    ("settings", "environment", "message"),
    [
        (LlmSettings(url="https://api.example.org/v1"), {}, "[llm] url: questions and records are sent to api."),
        (LlmSettings(url="http://192.0.2.7:8000/v1"), {}, "[llm] url: questions and records are sent to 192.0.2.7"),
        (
            LlmSettings(command="vllm", weights="w", flags="--otlp-traces-endpoint=http://traces.example.org"),
            {},
            "[llm] flags: questions and records are sent to traces.example.org",
        ),
        (LlmSettings(), {"HTTPS_PROXY": "http://p:1", "all_proxy": "x"}, "HTTPS_PROXY, all_proxy: SHRAG uses no proxy"),
        (LlmSettings(), {"JAVA_TOOL_OPTIONS": "-agentlib:jdwp=x"}, "JAVA_TOOL_OPTIONS has Java load"),
    ],
)  # fmt: skip
def test_what_can_leave_it_is_a_warning_that_names_it(
    settings: LlmSettings, environment: dict[str, str], message: str
) -> None:
    (finding,) = check_connections(settings, environment)
    assert (finding.status, finding.exit_status) == ("warning", 0)
    assert finding.message.startswith(message)
    assert finding.repair


def test_a_vector_database_on_another_machine_is_named() -> None:
    away = EngineChoice("milvus", "http://milvus.example:19530")
    (finding,) = check_connections(LlmSettings(), {}, away)
    assert (finding.status, finding.message) == (
        "warning",
        "engine_address: the index is loaded into milvus.example, and queries are sent there",
    )
    for near in (EngineChoice("qdrant", "http://127.0.0.1:6333"), EngineChoice("qdrant", "var/edge"), EngineChoice()):
        (finding,) = check_connections(LlmSettings(), {}, near)
        assert finding.status == "ok"


DOWN = "http://127.0.0.1:1/v1"
START_OR_CORRECT = "start the model's server, or correct [llm] in shrag.toml (SHRAG_LLM_URL, SHRAG_LLM_COMMAND)"


def test_without_a_language_model_answers_are_extractive() -> None:
    found = check_language_model(LlmSettings())
    assert (found.check, found.status, found.exit_status, found.repair) == ("Language model", "ok", 0, "")
    assert found.message == "none: answers are extractive. To add one: docs/en/how-to/language-model.md"


@pytest.mark.parametrize(("version", "engine"), [("0.32.0", ", vLLM 0.32.0"), (None, "")])
def test_an_endpoint_that_answers_is_named_with_its_context_and_engine(version: str | None, engine: str) -> None:
    with serving(Endpoint(answers("x"), version=version)) as url:
        found = check_language_model(LlmSettings(url=url))
    assert (found.status, found.message) == (
        "ok",
        f"m at {url} answers, with a context of 2,048 tokens{engine}",
    )


def test_an_endpoint_that_does_not_answer_is_a_failure_with_a_repair() -> None:
    found = check_language_model(LlmSettings(url=DOWN))
    assert (found.status, found.exit_status, found.repair) == ("failure", 6, START_OR_CORRECT)
    assert found.message.startswith(f"{DOWN} does not answer (")
    assert found.message.endswith(" Until then answers are extractive.")


def test_of_several_endpoints_those_that_work_are_counted_and_the_others_named() -> None:
    with serving(Endpoint(answers("x"))) as one, serving(Endpoint(answers("x"))) as other:
        both = check_language_model(LlmSettings(url=[one, other]))
        some = check_language_model(LlmSettings(url=[one, DOWN, other]))
    assert (both.status, both.message, both.repair) == ("ok", "m at 2 of 2 endpoints", "")
    assert (some.status, some.exit_status) == ("warning", 0)
    assert some.message.startswith(f"m at 2 of 3 endpoints. {DOWN} does not answer (")
    assert some.repair == "start the other servers, or take them out of [llm] url"
    none = check_language_model(LlmSettings(url=[DOWN, "http://127.0.0.1:2/v1"]))
    assert (none.status, none.exit_status, none.repair) == ("failure", 6, START_OR_CORRECT)
    assert none.message.startswith(f"{DOWN} does not answer (")


def test_a_server_that_shrag_starts_needs_its_program_and_weights(tmp_path: Path) -> None:
    weights = tmp_path / "large"
    settings = LlmSettings(command=[sys.executable, "-m", "vllm"], weights=str(weights))
    lacking = check_language_model(settings)
    assert (lacking.status, lacking.exit_status) == ("failure", 6)
    assert lacking.message.startswith(f"{weights} has no config.json: give the folder of a model as [llm] weights.")
    weights.mkdir()
    (weights / "config.json").touch()
    found = check_language_model(settings)
    assert (found.status, found.message) == ("ok", f"large, started by shrag-serve from {weights}")
    named = check_language_model(msgspec.structs.replace(settings, model="m", command=[str(tmp_path / "no"), "serve"]))
    assert named.message.startswith(f"{tmp_path / 'no'} does not exist or is not executable: install vLLM")


def test_a_context_that_the_endpoint_does_not_report_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAIModel, "health", lambda _: EndpointHealth(("m",), "m", None, "engine 1"))
    found = check_language_model(LlmSettings(url=DOWN))
    assert found.message == f"m at {DOWN} answers, with a context of unknown length, engine 1"
