"""Commands without the extra that they need: one sentence with the way to add it, and exit status 6."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.ingest.demonstration import add_demonstration
from tests.conftest import DEMO


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("openai", ["ask", "demo", "그래핀"], "llm"),
        ("httpx2", ["search", "demo", "그래핀"], "llm"),
        ("ir_measures", ["evaluate", "--qrels", str(DEMO / "qrels.txt"), "--run", "a.run"], "evaluation"),
        ("sklearn", ["index", "demo", "--encoder", "lsa"], "lsa"),
        ("threadpoolctl", ["index", "demo", "--encoder", "lsa"], "lsa"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_adds_it(
    package: str,
    arguments: Sequence[str],
    extra: str,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_demonstration(own_home / "corpora")
    if extra == "llm":
        monkeypatch.setenv("SHRAG_LLM_URL", "http://127.0.0.1:9/v1")
    for module in ("chat.client", "chat.http_client", "chat.endpoint_probe"):
        monkeypatch.delitem(sys.modules, f"shrag.models.{module}", raising=False)
    monkeypatch.delitem(sys.modules, "shrag.evaluation.measures.providers", raising=False)
    Path("a.run").write_text("q Q0 d 1 1.0 a\n")
    monkeypatch.setitem(sys.modules, package, None)
    assert run(list(arguments)) == 6
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("shrag: ")
    assert package in line
    assert line.endswith(f"`pip install 'shrag[{extra}]'`.")
