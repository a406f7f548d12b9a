"""Every experiment that repeats a paper's table runs from one command, with random weights where it needs weights.

What the models write means nothing; that every step is done, and that the report has the paper's values, does not
depend on it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.evaluation.experiments.papers import paper_experiments
from shrag.evaluation.reports.paper_values import paper_values
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import read_table
from shrag.models.model_server.server import ModelServer

pytestmark = [pytest.mark.vllm, pytest.mark.soak]

EXPERIMENTS = {each.name: each.experiment for each in paper_experiments().values()}


@pytest.fixture
def home(
    tmp_path: Path, demo_home: Path, encoder_folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a home with the demonstration, and set the language model."""
    shutil.copytree(demo_home, tmp_path / "home")
    monkeypatch.setenv("SHRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHRAG_LLM_URL", server.address)
    monkeypatch.setenv("SHRAG_LLM_MODEL", "tiny-qwen3")
    return tmp_path / "home"


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_it_runs_to_its_report_over_the_demonstration(
    home: Path, encoder_folder: Path, server: ModelServer, name: str
) -> None:
    experiment = EXPERIMENTS[name]
    used = {each.encoder for each in experiment.conditions if each.encoder not in {"", "lsa"}}
    encoders = [part for encoder in sorted(used) for part in ("--encoder", f"{encoder}={encoder_folder}")]
    models = [part for each in experiment.models for part in ("--model", f"{each.name}={server.address}")]
    command = ["experiment", name, "--sets", "demo", "--sample", "1", "--no-plots", *encoders, *models]
    assert run([*command, "--data", str(home)]) == 0
    assert run(["report", name]) == 0
    results, card = open_results(home / "runs" / name)
    table = read_table(results.folder)
    assert len(table.sets[0].rows) == len(experiment.conditions), "a condition was left out"
    assert len(paper_values(table)) == sum(len(each.values) for each in experiment.expected)
    if any(condition.model for condition in experiment.conditions):
        assert "tiny-qwen3" in {card.identity.model.name, *(each.name for each in card.identity.models.values())}
    page = (results.folder / "report.html").read_text(encoding="utf-8")
    assert experiment.paper is not None
    assert f"Next to {experiment.paper.paper}" in page
