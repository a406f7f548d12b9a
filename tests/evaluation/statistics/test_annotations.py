from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.annotations import Annotations, read_annotations

LABELS = {"q1": {"kim": "yes", "lee": "no"}, "q2": {"kim": "yes"}}


@pytest.mark.parametrize(
    "text",
    [
        "item\tannotator\tlabel\nq1\tkim\tyes\nq1\tlee\tno\nq2\tkim\tyes\nq2\tlee\t\n",
        'annotator,item,note,label\nkim,q1,"a, b",yes\nlee,q1,,no\nkim,q2,,yes\n',
        '{"item": "q1", "annotator": "kim", "label": "yes"}\n\n{"item": "q1", "annotator": "lee", "label": "no"}\n'
        '{"item": "q2", "annotator": "kim", "label": "yes"}\n',
    ],
)
def test_tables_and_json_lines_give_the_same_and_a_missing_label_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    assert read_annotations(tmp_path / "a") == (LABELS, False)
    assert read_annotations(tmp_path / "a.gz") == (LABELS, False)


def test_scores_are_numbers_and_json_may_write_them_as_such(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(
        '{"item": 1, "annotator": "kim", "score": 7}\n{"item": 1, "annotator": "lee", "score": "8.5"}'
    )
    found = read_annotations(tmp_path / "a")
    assert found.scored
    assert found.scores() == {"1": {"kim": 7.0, "lee": 8.5}}


def test_who_annotated_what_together() -> None:
    found = Annotations(LABELS, False)
    assert found.annotators() == ["kim", "lee"]
    assert (found.shared(["kim"]), found.shared(["kim", "lee"])) == (["q1", "q2"], ["q1"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("item\tannotator\tlabel\nq1\tkim\tyes\nq1\tkim\tno\n", "line 3: kim annotates q1 a second time"),
        ("item\tannotator\tscore\nq1\tkim\tgood\n", "line 2: 'good' is not a score"),
        ("item\tannotator\tscore\nq1\tkim\tnan\n", "line 2: 'nan' is not a score"),
        ("item\tannotator\tlabel\n\tkim\tyes\n", "line 2 is not an annotation: expected item, annotator, and label"),
        ("item\twho\tlabel\nq1\tkim\tyes\n", "line 2 is not an annotation"),
        ("item\tannotator\tlabel\tscore\nq1\tkim\tyes\t1\n", "line 2 has the columns item, annotator, label, score"),
        ("item\tannotator\tlabel\n", "holds no annotation"),
        ("item\tannotator\tlabel\nq1\tkim\t\n", "holds no annotation"),
        ("", "holds no annotation"),
        ('{"item": "q1", "annotator": "kim", "label": "yes"}\n[1]\n', "line 2 is not an annotation: not a JSON object"),
        ('{"item": "q1", "annotator": "kim", "label": null}\n', "line 1 is not an annotation"),
    ],
)
def test_what_is_no_annotation_is_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(EvaluationError, match=problem):
        read_annotations(tmp_path / "a")


def test_the_same_label_written_in_another_way_is_the_same_label(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "유용")
    rows = ("q1\tkim\t1", "q1\tlee\t1.0", "q2\tkim\t유용", f"q2\tlee\t{decomposed}", "q3\tkim\t1.5")
    (tmp_path / "a").write_text("item\tannotator\tlabel\n" + "\n".join(rows), encoding="utf-8")
    assert read_annotations(tmp_path / "a").labels == {
        "q1": {"kim": "1", "lee": "1"},
        "q2": {"kim": "유용", "lee": "유용"},
        "q3": {"kim": "1.5"},
    }
    entries = [{"item": "문항", "annotator": "kim", "label": 1}]
    entries += [{"item": unicodedata.normalize("NFD", "문항"), "annotator": "lee", "label": 1.0}]
    (tmp_path / "a").write_text("\n".join(map(json.dumps, entries)))
    assert read_annotations(tmp_path / "a").labels == {"문항": {"kim": "1", "lee": "1"}}
