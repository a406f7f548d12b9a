"""Files of GPQA and SuperGPQA, in the layouts that their authors publish; the questions are made up."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.benchmarks import read_benchmark
from shrag.corpora.formats.topics import read_topics
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.questions.question_table import read_question_table
from shrag.evaluation.questions.reference_answers import Reference, read_references

GPQA = (
    *("Pre-Revision Question", "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2"),
    *("Incorrect Answer 3", "Explanation", "Subdomain", "High-level domain", "Record ID"),
)
OPTIONS = ["iron", "tin", "lead", "zinc", "gold"]


def write_gpqa(path: Path, questions: int = 1) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(GPQA)
        for number in range(questions):
            text = f"Which metal, of number {number},\n is liquid?"
            answers = ["mercury\n", "iron", "tin", "lead"]
            rows.writerow(
                ["old", text, *answers, "It melts at -39 °C.", "Chemistry (general)", "Chemistry", f"rec{number}"]
            )
    return path


def write_supergpqa(path: Path, **changed: object) -> Path:
    given = {
        **{"uuid": "u1", "question": "Which metal is yellow?", "options": OPTIONS, "answer": "gold"},
        **{"answer_letter": "E", "discipline": "Science", "field": "Chemistry", "subfield": "Inorganic Chemistry"},
        **{"difficulty": "hard", "is_calculation": False},
    }
    path.write_text(json.dumps(given | changed) + "\n")
    return path


def test_gpqa_gives_questions_and_four_choices_in_an_order_of_their_own(tmp_path: Path) -> None:
    path = write_gpqa(tmp_path / "gpqa_diamond.csv", 400)
    assert read_topics(path)[3] == ("rec3", "Which metal, of number 3, is liquid?")
    references = read_references(path)
    assert all(each.choices["ABCD".index(each.choice)] == "mercury" for each in references.values())
    assert {tuple(sorted(each.choices)) for each in references.values()} == {("iron", "lead", "mercury", "tin")}
    # Each place is as likely: 100 of 400, and 2.6 standard deviations from it.
    assert all(77 < count < 123 for count in Counter(each.choice for each in references.values()).values())
    assert references == read_references(path)
    assert read_question_table(path, "High-level domain")["rec0"] == {
        **{"qid": "rec0", "High-level domain": "Chemistry", "Subdomain": "Chemistry (general)"},
    }


def test_supergpqa_has_its_own_letters_and_columns(tmp_path: Path) -> None:
    path = write_supergpqa(tmp_path / "SuperGPQA-all.jsonl")
    assert read_topics(path) == [("u1", "Which metal is yellow?")]
    assert read_references(path) == {"u1": Reference("u1", choices=tuple(OPTIONS), choice="E")}
    assert read_question_table(path, "discipline", "difficulty")["u1"]["difficulty"] == "hard"
    with pytest.raises(
        ExperimentRejected, match="has no column 'level' but qid, discipline, field, subfield, difficulty"
    ):
        read_question_table(path, "level")


@pytest.mark.parametrize(
    "changed",
    [
        {"answer_letter": "F"},
        {"answer_letter": "AB"},
        {"answer_letter": ""},
        {"options": None},
        {"uuid": 3},
        {"question": ""},
    ],
)
def test_an_incomplete_question_is_an_error_with_its_line(tmp_path: Path, changed: dict[str, object]) -> None:
    path = write_supergpqa(tmp_path / "s.jsonl", **changed)
    with pytest.raises(CorpusError, match=r"line 1 is not a question of SuperGPQA: it needs uuid, question, options"):
        read_benchmark(path)
    (tmp_path / "g.csv").write_text(",".join(GPQA) + "\n" + "," * (len(GPQA) - 1) + "x\n")
    with pytest.raises(CorpusError, match="line 2 is not a question of GPQA: it needs Record ID"):
        read_benchmark(tmp_path / "g.csv")


def test_a_question_that_is_there_twice_is_named_by_its_line(tmp_path: Path) -> None:
    path = write_supergpqa(tmp_path / "s.jsonl")
    path.write_text("\n" + path.read_text() * 2)
    with pytest.raises(CorpusError, match="line 3 gives topic u1 a second time"):
        read_topics(path)
    path = write_gpqa(tmp_path / "g.csv", 2)  # after the header, each question takes three lines
    path.write_text(path.read_text().replace("rec1", "rec0"))
    with pytest.raises(CorpusError, match=r"g\.csv line 5 gives topic rec0 a second time"):
        read_topics(path)


def test_other_files_are_no_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("1\tWhich metal is liquid?\n")
    assert read_benchmark(path) is None
    path.write_text('{"_id": "1", "text": "Which metal is liquid?"}\n')
    assert read_benchmark(path) is None
