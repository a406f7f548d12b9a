"""``shrag agreement`` on the command line."""

from __future__ import annotations

import json
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
