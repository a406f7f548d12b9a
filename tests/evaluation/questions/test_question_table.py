from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.questions.question_table import read_question_table


def test_a_line_is_a_question_with_its_columns(tmp_path: Path) -> None:
    (tmp_path / "k.tsv").write_text("qid\tkind\tstyle\nx1\tfar\tsearch box\n\nx2\tnear\t\n", encoding="utf-8")
    assert read_question_table(tmp_path / "k.tsv", "kind") == {
        "x1": {"qid": "x1", "kind": "far", "style": "search box"},
        "x2": {"qid": "x2", "kind": "near", "style": ""},
    }


def test_json_objects_have_their_texts_as_columns(tmp_path: Path) -> None:
    line = '{"qid": "a", "subject": "college_physics", "choices": ["x", "y"], "year": 2020}'
    (tmp_path / "q.jsonl").write_text(line + "\n", encoding="utf-8")
    assert read_question_table(tmp_path / "q.jsonl", "subject") == {"a": {"qid": "a", "subject": "college_physics"}}
    (tmp_path / "q.jsonl").write_text(line + "\n{", encoding="utf-8")
    with pytest.raises(ExperimentRejected, match=r"q.jsonl line 2 is not a JSON object: "):
        read_question_table(tmp_path / "q.jsonl")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x1\tfar\nx2\tfar\n", r"k.tsv has no column 'qid' but x1, far: write the names of the columns"),
        ('{"id": "x1"}', "has no column 'qid' but id"),
        ("qid\tsort\nx1\tfar\n", "has no column 'kind' but qid, sort"),
        ("qid\tkind\nx1\n", "line 2 has 1 columns, and its header 2"),
        ("qid\tkind\nx1\tfar\nx1\tnear\n", "line 3 has x1 a second time"),
    ],
)
def test_what_is_no_table_of_questions_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "k.tsv").write_text(text)
    with pytest.raises(ExperimentRejected, match=says):
        read_question_table(tmp_path / "k.tsv", "kind")


@pytest.mark.parametrize("text", ["qid\t종류\n질문1\t가까움\n", '{"qid": "질문1", "종류": "가까움"}'])
def test_decomposed_hangul_is_no_difference(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.tsv").write_text(unicodedata.normalize("NFD", text), encoding="utf-8")
    assert read_question_table(tmp_path / "k.tsv", "종류") == {"질문1": {"qid": "질문1", "종류": "가까움"}}
