"""Settings and variables by which something can leave the machine."""

from __future__ import annotations

import pytest

from shrag.cli.doctor.connections import check_connections
from shrag.indexing.search_engine import EngineChoice
from shrag.models.chat.settings import LlmSettings


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
