"""The experiments that come with SHRAG vary settings that exist."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.evaluation.experiments.spec_file import read_experiment
from shrag.evaluation.peers.base import find_peer
from shrag.serving.retrieval.rerankers import check_reranker
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.registry import find_strategy

ROOT = Path(__file__).resolve().parents[3]
FILES = {path.stem: path for path in sorted((ROOT / "evaluation" / "experiments" / "specs").glob("*.toml"))}
SEEDS = ["keywords", "peers", "retrieval", "shrag-figure-3", "shrag-table-1"]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(FILES[name].read_text(encoding="utf-8"))


def _path(judged: dict[str, Any]) -> str:
    references = judged.get("references", "")
    return str(references["path"] if isinstance(references, dict) else references)


def _settings(condition: dict[str, Any]) -> list[SearchSettings]:
    fixed = condition.get("settings", {})
    grid = [{key: value} for key, values in condition.get("grid", {}).items() for value in values] or [{}]
    return [SearchSettings.from_mapping({**fixed, **chosen}) for chosen in grid]


@pytest.mark.parametrize("name", SEEDS)
def test_every_condition_can_be_asked_and_none_is_asked_twice(name: str) -> None:
    experiment = _read(name)
    asked = []
    for condition in experiment["conditions"]:
        if "peer" in condition:
            find_peer(condition["peer"])
        strategy = find_strategy(condition.get("strategy", "shrag")).name
        check_reranker(condition.get("reranker", "auto"))
        fixed = (condition.get("peer"), strategy, condition.get("reranker", "auto"), condition.get("encoder"))
        asked += [(*fixed, tuple(settings.changed.items())) for settings in _settings(condition)]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("name", FILES)
def test_every_file_an_experiment_brings_along_is_there(name: str) -> None:
    for judged in _read(name)["sets"]:
        for path in (judged["topics"], judged.get("qrels", ""), _path(judged), *judged["corpus"]["paths"]):
            if path.startswith("shrag:"):
                assert (ROOT / "corpora" / path.removeprefix("shrag:")).is_file()


def test_figure_3_varies_the_ands_from_none_to_nine_at_the_papers_depth() -> None:
    grouped, required = (_settings(condition) for condition in _read("shrag-figure-3")["conditions"])
    assert [each.ands for each in grouped] == list(range(10))
    assert [each.ands for each in required] == list(range(1, 10))  # of none there is one kind
    assert {each.depth for each in (*grouped, *required)} == {10}


def test_the_questions_across_languages_are_judged_one_by_one() -> None:
    folder = ROOT / "corpora" / "cross_language"
    topics, qrels = read_topics(folder / "topics.tsv"), read_qrels(folder / "qrels.txt")
    assert len(topics) == 84
    assert [topic.qid for topic in topics] == [qrel.qid for qrel in qrels]


def test_make_evaluate_runs_experiments_that_the_demonstration_alone_is_enough_for() -> None:
    (line,) = [each for each in (ROOT / "Makefile").read_text().splitlines() if each.startswith("EXPERIMENT := ")]
    names = line.removeprefix("EXPERIMENT := ").split()
    assert names == ["shrag-figure-3", "keywords", "retrieval", "peers", "strategies", "answers"]
    for name in names:
        # Without the shared sets it is asked `--sets demo`.
        assert "demo" in {judged["name"] for judged in _read(name)["sets"]}


@pytest.mark.parametrize("name", SEEDS)
def test_every_experiment_can_be_read_with_its_claims(name: str) -> None:
    experiment = read_experiment(FILES[name])
    assert all(claim.text.endswith(".") for claim in experiment.claims)
    assert bool(experiment.claims) is (name != "shrag-table-1")
