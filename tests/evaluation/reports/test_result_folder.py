from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.part import ExperimentPart
from shrag.evaluation.experiments.run_card import read_card, write_card
from shrag.evaluation.reports.result_folder import ResultFolder, mean_values, open_results, write_questions
from tests.support.small_experiment import SMALL


@pytest.fixture
def copy(results_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results_folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    "name", ["demo/or.run", "demo/qrels.txt", "demo/titles.json", "table.json", "plots/plot-1.svg"]
)
def test_a_file_that_is_not_as_it_was_written_is_named(copy: Path, name: str) -> None:
    open_results(copy)
    path = copy / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ResultsMismatch, match=rf"{name} was changed after it was written: run the experiment again"):
        open_results(copy)


def test_results_whose_last_session_was_stopped_are_not_finished(copy: Path) -> None:
    write_card(copy, msgspec.structs.replace(read_card(copy), files={}))
    with pytest.raises(ResultsMismatch, match=r"copy is not finished: complete it with"):
        open_results(copy)


@pytest.mark.parametrize("name", ["../outside", "/etc", "a/b", ""])
def test_a_card_that_names_files_elsewhere_is_refused(copy: Path, name: str) -> None:
    path = copy / "card.json"
    path.write_text(path.read_text().replace('"name": "demo"', f'"name": "{name}"'))
    with pytest.raises(ResultsMismatch, match="which is not a valid file name"):
        open_results(copy)


def test_parts_are_as_many_as_a_condition_with_chance_is_repeated() -> None:
    experiment = msgspec.structs.replace(SMALL, repeats=2)
    results = ResultFolder(Path(), experiment, stochastic_conditions=("or",))
    assert [part.stem for part, _ in results.all_parts()] == ["demo/or.1", "demo/or.2", "demo/and", "demo/bm25"]
    assert ResultFolder(Path(), SMALL, stochastic_conditions=("or",)).parts("demo", SMALL.conditions[0]) == [
        ExperimentPart("demo", "or")
    ]


def test_a_value_is_the_mean_of_the_repeats_question_by_question() -> None:
    first, second = {"RR": {"a": 1.0, "b": 0.0}}, {"RR": {"a": 0.5, "b": 0.0}}
    assert mean_values([first, second]) == {"RR": {"a": 0.75, "b": 0.0}}


def test_a_title_file_that_is_not_there_names_nothing(tmp_path: Path) -> None:
    assert ResultFolder(tmp_path, SMALL).titles("demo") == {}


def test_questions_are_kept_as_they_are_read_again(tmp_path: Path) -> None:
    questions = JudgedQuestions(
        (Topic("a", "한글 a\tb"), Topic("b", "?")), (Qrel("a", "d#1", 2), Qrel("b", "e", -1)), 0, 0
    )
    write_questions(tmp_path, "demo", questions)
    results = ResultFolder(tmp_path, SMALL)
    assert results.topics("demo") == list(questions.topics)
    assert results.qrels("demo") == list(questions.qrels)
    with pytest.raises(EvaluationError, match="has a tab in its qid or a line break"):
        write_questions(tmp_path, "demo", JudgedQuestions((Topic("a", "one\ntwo"),), (), 0, 0))
