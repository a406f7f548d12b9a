"""Results that were written by hand are read, compared and reported as their rankings say."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import OUTCOMES, TIMES, ExperimentPart, part_path
from shrag.evaluation.experiments.run_card import read_card
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.evaluation.questions.reference_answers import Reference
from shrag.evaluation.reports.comparison import ChosenCondition, choose_condition, compare_conditions, is_results_path
from shrag.evaluation.reports.result_folder import ResultFolder, file_digests, mean_values, open_results
from shrag.evaluation.reports.table import make_table
from shrag.evaluation.statistics.comparison import Change
from tests.support.written_results import hand_written_card, seal_results, write_set

WIKI = {"a": {"1": 1, "2": 0}, "b": {"3": 2, "4": 1}, "c": {"5": 1}}
SCI = {"x": {"1": 1}}
EXPERIMENT = Experiment(
    title="T",
    question="Q?",
    sets=(JudgedSet("wiki", "t", "q", index="wiki"), JudgedSet("sci", "t", "q", index="sci")),
    conditions=(Condition("or"), Condition("and"), Condition("model", model=True)),
    measures=("RR", "Success@1"),
    k=10,
    repeats=2,
    baseline="or",
)
FIRST = {
    "or": {"a": ["1"], "b": ["9", "3"], "c": ["8", "7", "5"]},
    "and": {"a": ["2", "1"], "b": ["3", "4"], "c": []},
    "model.1": {"a": ["1"], "b": ["3"], "c": ["5"]},
    "model.2": {"a": ["9", "1"], "b": ["3"], "c": []},
}
SECOND = {"or": {"x": ["1"]}, "and": {"x": ["2", "1"]}, "model.1": {"x": ["1"]}, "model.2": {"x": ["1"]}}


def _write(folder: Path, experiment: Experiment = EXPERIMENT) -> Path:
    names = {each.name for each in experiment.sets}
    if "wiki" in names:
        write_set(folder, "wiki", WIKI, FIRST, (Reference("a", answerable=False),))
    if "sci" in names:
        write_set(folder, "sci", SCI, SECOND)
    return seal_results(folder, hand_written_card(experiment, ["model"], "large"))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return _write(tmp_path / "written")


def test_only_conditions_with_a_language_model_have_a_part_for_each_repeat(written: Path) -> None:
    results, card = open_results(written)
    assert (results.judge, results.stochastic_conditions, card.fingerprint) == ("large", ("model",), "f")
    assert [part.stem for part, _ in results.all_parts()] == [
        *("wiki/or", "wiki/and", "wiki/model.1", "wiki/model.2"),
        *("sci/or", "sci/and", "sci/model.1", "sci/model.2"),
    ]
    once = ResultFolder(written, msgspec.structs.replace(EXPERIMENT, repeats=1), ("model",))
    assert [part.stem for part in once.parts("sci", EXPERIMENT.conditions[2])] == ["sci/model"]
    assert [topic.text for topic in results.topics("wiki")] == ["Question a?", "Question b?", "Question c?"]
    assert (results.titles("wiki"), results.references("sci"), results.depths()) == ({}, {}, {})


def test_a_part_has_the_measures_of_its_ranking_of_its_candidates_and_of_its_answers(written: Path) -> None:
    results, _ = open_results(written)
    values = results.values(ExperimentPart("wiki", "or"))
    assert values == {
        "RR": {"a": 1.0, "b": 0.5, "c": pytest.approx(1 / 3)},
        "Success@1": {"a": 1.0, "b": 0.0, "c": 0.0},
        "num_candidates": {"a": 1.0, "b": 2.0, "c": 3.0},
        "candidate_recall": {"a": 1.0, "b": 0.5, "c": 1.0},
        "candidate_success": {"a": 1.0, "b": 1.0, "c": 1.0},
        # Only this question has a reference; ten records were requested.
        "retrieval_ratio": {"a": 0.1},
    }
    assert set(results.values(ExperimentPart("sci", "or"))) == set(values) - {"retrieval_ratio"}


def test_the_least_grade_of_a_set_holds_for_its_measures_and_candidates(written: Path) -> None:
    graded = (msgspec.structs.replace(EXPERIMENT.sets[0], min_grade=2), EXPERIMENT.sets[1])
    results = ResultFolder(written, msgspec.structs.replace(EXPERIMENT, sets=graded), ("model",))
    assert results.values(ExperimentPart("sci", "or"))["RR"] == {"x": 1.0}
    values = results.values(ExperimentPart("wiki", "or"))
    assert values["RR"] == {"a": 0.0, "b": 0.5, "c": 0.0}
    assert values["candidate_recall"] == {"a": 0.0, "b": 1.0, "c": 0.0}


def test_a_set_without_judgements_has_no_measures_of_rankings(tmp_path: Path) -> None:
    write_set(tmp_path, "wiki", {"a": {}, "b": {}}, {"or": {"a": ["1"]}}, (Reference("a"), Reference("b")))
    results = ResultFolder(tmp_path, EXPERIMENT)
    assert (results.qrels("wiki"), set(results.references("wiki"))) == ([], {"a", "b"})
    assert results.values(ExperimentPart("wiki", "or")) == {"retrieval_ratio": {"a": 0.1, "b": 0.0}}


def test_repeats_count_by_their_mean_and_a_question_by_the_repeats_that_have_it() -> None:
    repeats = [{"RR": {"a": 1.0, "b": 0.5}, "accuracy": {"a": 1.0}}, {"RR": {"a": 0.0}}]
    assert mean_values(repeats) == {"RR": {"a": 0.5, "b": 0.5}, "accuracy": {"a": 1.0}}


def test_the_table_has_means_over_questions_and_repeats_and_differences_from_the_baseline(written: Path) -> None:
    results, _ = open_results(written)
    wiki, sci = make_table(results).sets
    assert [(row.condition, row.questions, row.empty) for row in wiki.rows] == [
        ("or", 3, 0),
        ("and", 3, 1),
        ("model", 6, 1),
    ]
    means = [row.cells["RR"].mean for row in wiki.rows]
    assert means == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3, (1 / 2 + 1 + 0) / 3, (3 / 4 + 1 + 1 / 2) / 3])
    assert [row.cells["RR"].repeats for row in wiki.rows][2] == pytest.approx((1.0, 0.5))
    assert wiki.rows[0].cells["RR"].difference is None
    against = wiki.rows[1].cells["RR"].difference
    assert against is not None
    assert against.mean == pytest.approx(-1 / 9)
    assert (against.wins, against.ties, against.losses) == (1, 0, 2)
    assert (sci.questions, sci.rows[1].cells["RR"].mean) == (1, 0.5)


def test_a_condition_is_chosen_by_its_name_else_the_baseline_else_the_only_one(written: Path, tmp_path: Path) -> None:
    assert choose_condition(f"{written}:model").condition.name == "model"
    assert choose_condition(str(written)).condition.name == "or"
    without = _write(tmp_path / "without", msgspec.structs.replace(EXPERIMENT, baseline=""))
    with pytest.raises(
        ResultsMismatch, match=r"without has several conditions and no baseline: write .*:CONDITION with"
    ):
        choose_condition(str(without))
    with pytest.raises(ResultsMismatch, match=r"has no condition 'nope': write .* with one of or, and, model"):
        choose_condition(f"{without}:nope")
    only = _write(
        tmp_path / "only", msgspec.structs.replace(EXPERIMENT, baseline="", conditions=EXPERIMENT.conditions[1:2])
    )
    assert choose_condition(str(only)).condition.name == "and"
    colon = _write(tmp_path / "a:b")
    assert choose_condition(str(colon)).condition.name == "or"
    assert choose_condition(f"{colon}:and").condition.name == "and"
    assert [is_results_path(str(each)) for each in (colon, f"{colon}:x", tmp_path, "nowhere:x")] == [
        *(True, True, False, False),
    ]


def test_two_conditions_are_compared_over_each_set_and_the_questions_that_both_have(written: Path) -> None:
    a, b = choose_condition(f"{written}:or"), choose_condition(f"{written}:and")
    wiki, sci = compare_conditions(a, b, count=2, level=0.9)
    assert [each.measure for each in wiki.differences] == [
        *("RR", "Success@1", "num_candidates", "candidate_recall", "candidate_success", "retrieval_ratio"),
    ]
    first = wiki.differences[0]
    assert (first.mean_a, first.mean_b) == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3, 0.5))
    assert (first.wins, first.ties, first.losses) == (1, 0, 2)
    assert wiki.changes == [Change("a", 1.0, 0.5), Change("b", 0.5, 1.0)]
    assert wiki.questions == {"a": "Question a?", "b": "Question b?", "c": "Question c?"}
    assert (sci.set, [each.measure for each in sci.differences][-1]) == ("sci", "candidate_success")
    # The sets are those of both, by a measure that both have of the set.
    (only,) = compare_conditions(a, b, count=1, by="retrieval_ratio")
    assert (only.set, only.changes) == ("wiki", [Change("a", 0.1, 0.2)])
    with pytest.raises(
        ResultsMismatch, match="rouge_l is not measured in both: use one of RR, Success@1, num_candidates"
    ):
        list(compare_conditions(a, b, count=1, by="rouge_l"))


def test_folders_are_compared_over_the_sets_that_both_have(written: Path, tmp_path: Path) -> None:
    one = _write(tmp_path / "one", msgspec.structs.replace(EXPERIMENT, sets=EXPERIMENT.sets[1:]))
    a, b = choose_condition(str(written)), choose_condition(f"{one}:and")
    assert [each.set for each in compare_conditions(a, b, count=0)] == ["sci"]
    fewer = msgspec.structs.replace(a.results.experiment, measures=("Success@1",))
    (_, sci) = compare_conditions(a, ChosenCondition(ResultFolder(written, fewer), b.condition), count=0)
    assert [each.measure for each in sci.differences] == [
        *("Success@1", "num_candidates", "candidate_recall", "candidate_success"),
    ]
    other = msgspec.structs.replace(EXPERIMENT, sets=(msgspec.structs.replace(EXPERIMENT.sets[0], name="law"),))
    apart = ChosenCondition(ResultFolder(written, other), EXPERIMENT.conditions[0])
    with pytest.raises(ResultsMismatch, match="have no set in common: nothing to compare"):
        list(compare_conditions(apart, b, count=0))
    write_set(one, "sci", {"x": {"1": 2}}, SECOND)
    with pytest.raises(
        ResultsMismatch, match=r"The set sci has other questions or judgements in .*one than in .*written"
    ):
        list(compare_conditions(a, ChosenCondition(b.results, b.condition), count=0))


def test_a_folder_is_read_only_whole_and_unchanged(written: Path) -> None:
    card = read_card(written)
    assert sorted(card.files)[:3] == ["sci/and.questions.jsonl", "sci/and.run", "sci/model.1.questions.jsonl"]
    assert not [name for name in card.files if name.endswith(TIMES)]
    path = part_path(written, ExperimentPart("wiki", "and"), OUTCOMES)
    text = path.read_bytes()
    path.write_bytes(text + b"\n")
    with pytest.raises(ResultsMismatch, match=r"wiki/and\.questions\.jsonl was changed after it was written"):
        open_results(written)
    path.unlink()
    with pytest.raises(ResultsMismatch, match=re.escape("is not finished (wiki/and is missing)")):
        open_results(written)
    path.write_bytes(text)
    assert file_digests(written) == card.files
    seal = msgspec.structs.replace(card, files={})
    (written / "card.json").write_bytes(msgspec.json.encode(seal))
    with pytest.raises(ResultsMismatch, match="is not finished: complete it with"):
        open_results(written)
    named = msgspec.structs.replace(EXPERIMENT, conditions=(Condition("../x"),))
    (written / "card.json").write_bytes(msgspec.json.encode(hand_written_card(named)))
    with pytest.raises(ResultsMismatch, match=r"has the name '\.\./x', which is not a valid file name"):
        open_results(written)
