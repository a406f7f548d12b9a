"""``shrag agreement`` on the command line."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from shrag.cli.main import run


def test_a_file_of_labels_gives_a_table_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"q{n}\t{who}\t{'yes' if n % 2 or who == 'kim' else 'no'}" for n in range(8) for who in ("kim", "lee")]
    (tmp_path / "a.tsv").write_text("\n".join(["item\tannotator\tlabel", *lines]))
    assert run(["agreement", "a.tsv"]) == 0
    table = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["statistic", "annotators", "items", "value", "low", "high"]
    assert table[-1] == ["Cohen's kappa", "kim, lee", "8", "0.0000", "0.0000", "0.0000"]
    assert run(["agreement", "a.tsv", "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last == {
        **{"statistic": "Cohen's kappa", "annotators": ["kim", "lee"], "items": 8, "value": 0.0},
        "interval": [0.0, 0.0],
    }


def test_one_label_throughout_is_said_to_be_undefined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("item,annotator,label\n1,a,y\n1,b,y\n2,a,y\n2,b,y\n")
    assert run(["agreement", "a.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "Krippendorff's alpha (nominal)\ta, b\t2\tundefined\t\t"


def test_a_file_that_is_none_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("item,annotator,label\n1,a,y\n1,a,n\n")
    assert run(["agreement", "a.csv"]) == 3
    assert "line 3: a annotates 1 a second time" in capsys.readouterr().err
    assert run(["agreement", "none"]) == 3
    assert "none does not exist" in capsys.readouterr().err


def test_metrics_are_correlated_with_the_majority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = {"q1": "ttttf", "q2": "fffff", "q3": "ttfff", "q4": "ttttt", "q5": "tttff", "q6": "tf"}
    lines = [
        f"{item}\ta{n}\t{'true' if vote == 't' else 'False'}"
        for item, given in votes.items()
        for n, vote in enumerate(given)
    ]
    (tmp_path / "a.tsv").write_text("\n".join(["item\tannotator\tlabel", *lines]))
    values = "q1,9\nq2,2\nq3,3\nq4,9\nq5,8\nq6,5"
    (tmp_path / "m.csv").write_text(f"item,overall\n{values}\n")
    assert run(["agreement", "a.tsv", "--metrics", "m.csv"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "1 items have no majority and are left out.\n"
    assert printed.out.splitlines()[0].split("\t")[:3] == ["metric", "items", "pearson"]
    assert printed.out.splitlines()[1].split("\t")[:3] == ["overall", "5", "0.9875"]
    scores = {"q1": (9, 95, True), "q2": (2, 0, False), "q3": (3, 10, False), "q4": (9, 90, True), "q5": (8, 70, True)}
    judged = [
        {
            **{"set": "s", "condition": condition, "qid": qid},
            "judgement": {"judge": "m", "scores": {"relevance": r, "answerability": a, "valid": v}},
        }
        for condition in ("tree", "direct")
        for qid, (r, a, v) in scores.items()
    ]
    (tmp_path / "judgements.jsonl").write_text("\n".join(map(json.dumps, judged)))
    assert run(["agreement", "a.tsv", "--metrics", "judgements.jsonl", "--condition", "tree", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["metric"] for each in found] == [
        *("semantic_coherence", "answerability", "overall_assessment", "response_validity"),
    ]
    assert found[-1]["pearson"]["coefficient"] == 1.0
    assert run(["agreement", "a.tsv", "--metrics", "judgements.jsonl"]) == 3
    assert "has 2 conditions called '' of s/direct, s/tree: name it with --condition" in capsys.readouterr().err


def test_items_are_the_same_whether_their_hangul_is_composed_or_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("item,annotator,label\n서울,a,참\n부산,a,거짓\n대구,a,참\n", encoding="utf-8")
    metrics = unicodedata.normalize("NFD", "item,overall\n서울,9\n부산,2\n대구,9\n")
    (tmp_path / "m.csv").write_text(metrics, encoding="utf-8")
    assert run(["agreement", "a.csv", "--metrics", "m.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[:3] == ["overall", "3", "1.0000"]


def test_labels_that_are_not_true_or_false_have_no_majority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("item,annotator,label\n1,a,good\n")
    (tmp_path / "m.csv").write_text("item,overall\n1,2\n")
    assert run(["agreement", "a.csv", "--metrics", "m.csv"]) == 3
    assert "The label 'good' of 1 is neither true nor false" in capsys.readouterr().err
