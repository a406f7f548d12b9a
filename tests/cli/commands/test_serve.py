"""Options of ``shrag-serve``; the server itself is tested in ``tests/serving``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrag.cli.main import run
from shrag.serving.answer_cache import MOST_BYTES, AnswerCache
from shrag.serving.runtime.admission import ServerLimits


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Return what the server is started with, which it is not."""
    options: dict[str, Any] = {}

    def serve(indexes: Path, name: str, **given: Any) -> None:  # noqa: ANN401
        options.update(given, indexes=indexes, name=name)

    monkeypatch.setattr("shrag.serving.serve.serve", serve)
    monkeypatch.chdir(tmp_path)
    return options


def _most_bytes(served: dict[str, Any]) -> int | None:
    cache: AnswerCache | None = served["cache"]
    return cache.most_bytes if cache is not None else None


def test_answers_are_kept_in_256_mib_unless_it_is_said_otherwise(served: dict[str, Any]) -> None:
    assert run(["serve", "demo"]) == 0
    assert _most_bytes(served) == MOST_BYTES == 256 << 20
    assert run(["serve", "demo", "--cache-mib", "8"]) == 0
    assert _most_bytes(served) == 8 << 20
    assert run(["serve", "demo", "--no-cache"]) == 0
    assert _most_bytes(served) is None
    assert run(["serve", "demo", "--cache-mib", "0"]) == 2


def test_the_cache_can_be_switched_off_in_the_settings_file(served: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "shrag.toml").write_text("[serve]\nno_cache = true\n")
    assert run(["serve", "demo"]) == 0
    assert _most_bytes(served) is None


def test_answers_of_other_settings_are_other_answers(served: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = []
    for arguments in ([], ["--reranker", "lexical"], ["--min-score", "0.5"]):
        assert run(["serve", "demo", *arguments]) == 0
        settings.append(served["cache"].settings)
    monkeypatch.setenv("SHRAG_LLM_MAX_TOKENS", "77")
    assert run(["serve", "demo"]) == 0
    settings.append(served["cache"].settings)
    assert len(set(settings)) == 4


def test_limits_and_verification_reach_the_server(served: dict[str, Any]) -> None:
    assert run(["serve", "demo"]) == 0
    assert (served["verify"], served["limits"]) == ("changed", ServerLimits())
    own = ["--verify", "quick", "--asks", "3", "--queued-asks", "5", "--deadline", "7"]
    assert run(["serve", "demo", *own]) == 0
    assert (served["verify"], served["limits"]) == ("quick", ServerLimits(asks=3, queued_asks=5, deadline=7.0))


@pytest.mark.parametrize(("program", "shown"), [("shrag-serve", "shrag-serve"), ("shrag", "shrag serve")])
def test_help_and_errors_name_the_program_that_was_called(
    program: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--help"], program) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {shown} [OPTIONS]")
    assert run(["serve", "--nothing"], program) == 2
    assert f"Try '{shown} --help'" in capsys.readouterr().err


def test_the_home_is_an_option_of_the_program_that_serves(served: dict[str, Any], tmp_path: Path) -> None:
    assert run(["serve", "demo", "--home", str(tmp_path / "there")], "shrag-serve") == 0
    assert served["indexes"] == tmp_path / "there" / "indexes"
