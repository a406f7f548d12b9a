"""Metrics of items, from a table and from the judgements of a results folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.judging.metrics import read_metrics


def _judged(set_name: str, condition: str, qid: str, relevance: int | None) -> str:
    scores = None if relevance is None else {"relevance": relevance, "answerability": 50, "valid": relevance > 5}
    judgement = {"judge": "m", "scores": scores, "reason": ""}
    return json.dumps({"set": set_name, "condition": condition, "qid": qid, "judgement": judgement})


@pytest.fixture
def judgements(tmp_path: Path) -> Path:
    path = tmp_path / "judgements.jsonl"
    lines = [
        _judged("wiki", "tree", "a", 9),
        _judged("wiki", "direct", "a", 2),
        _judged("sci", "direct", "a", 4),
        _judged("wiki", "tree", "b", None),
        _judged("wiki", "tree", "c", 3),
    ]
    path.write_text("\n".join(lines))
    return path


def test_the_judgements_of_one_condition_are_metrics_without_those_that_have_no_scores(judgements: Path) -> None:
    for name in ("tree", "wiki/tree"):
        metrics = read_metrics(judgements, name)
        assert list(metrics) == ["semantic_coherence", "answerability", "overall_assessment", "response_validity"]
        assert metrics["semantic_coherence"] == {"a": 9.0, "c": 3.0}
        assert metrics["answerability"] == {"a": 0.5, "c": 0.5}
        assert metrics["response_validity"] == {"a": 1.0, "c": 0.0}
    assert read_metrics(judgements, "sci/direct")["semantic_coherence"] == {"a": 4.0}


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("", "has 3 conditions called '' of sci/direct, wiki/direct, wiki/tree: name it with --condition"),
        ("direct", "has 2 conditions called 'direct'"),
        ("wiki", "has 0 conditions called 'wiki'"),
    ],
)
def test_not_exactly_one_condition_is_refused(judgements: Path, condition: str, says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        read_metrics(judgements, condition)


def test_the_only_condition_need_not_be_named(judgements: Path) -> None:
    judgements.write_text(_judged("wiki", "tree", "a", 9))
    assert read_metrics(judgements)["semantic_coherence"] == {"a": 9.0}
    judgements.write_text(_judged("wiki", "tree", "a", 9) + "\n" + _judged("wiki", "tree", "a", 8))
    with pytest.raises(EvaluationError, match="has the item a twice: keep one of the two, or name it with --condition"):
        read_metrics(judgements)


def test_a_table_has_a_column_for_each_metric_and_skips_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("overall,item,length\n9, q1 ,120\n\n2.5,q2,-1e2\n")
    assert read_metrics(path) == {"overall": {"q1": 9.0, "q2": 2.5}, "length": {"q1": 120.0, "q2": -100.0}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,m\nq1,1\n,2\n", "m.csv line 3 has no item: expected the column item, and the metrics"),
        ("qid,m\nq1,1\n", "m.csv line 2 has no item"),
        ("item,m\nq1,1\nq2,high\n", "m.csv line 3: 'high' is not a value of a metric, which is a number"),
        ("item,m\nq1,inf\n", "m.csv line 2: 'inf' is not a value of a metric"),
        ("item,m\nq1,nan\n", "m.csv line 2: 'nan' is not a value of a metric"),
        ("item,m\nq1,1,2\n", "m.csv line 2: row 1: 3 cells, the header has 2"),
        ("item,m\nq1,1\nq1,1\n", "m.csv has the item q1 twice"),
        ("item\nq1\n", "m.csv has no metric: expected a column item and a column for each metric"),
        ("", "m.csv has no metric"),
        ('{"set": "s"}\n', "m.csv has no judgements .*: give the judgements.jsonl of shrag judge"),
    ],
)
def test_what_holds_no_metrics_is_named_by_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(EvaluationError, match=says):
        read_metrics(tmp_path / "m.csv")


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="none does not exist"):
        read_metrics(tmp_path / "none")
