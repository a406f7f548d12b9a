"""The experiment ``answers``, and sets with references alone: columns, reports, comparison."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiment_runner import RunOptions, run_experiment
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.evaluation.experiments.spec_file import find_experiment, narrow_experiment, read_experiment
from shrag.evaluation.questions.reference_answers import ReferenceSource
from shrag.evaluation.reports.comparison import choose_condition, compare_conditions
from shrag.evaluation.reports.html import render_report
from shrag.evaluation.reports.markdown import render_document
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import SetTable, read_table
from shrag.serving.strategies.pipeline.presets import PRESETS
from tests.support.small_experiment import DEMO_SET, folders, run_small

pytestmark = pytest.mark.slow

# Sentences of the demonstration's own records; each record gives the answer's words, which the other choices lack.
ASKED = [
    (
        "wind",
        "What reduces wake losses in offshore wind farms?",
        ["wake steering by yaw", "cheaper paint", "tides"],
        "A",
    ),
    ("yes", "Does graphene shield electromagnetic waves?", ["yes", "no"], "A"),
    ("penguin", "How do penguins keep their eggs warm in winter?", ["feathers", "a pouch of skin"], "B"),
    ("twice", "What shields electromagnetic waves?", ["graphene", "graphene"], "A"),
]
CHOICES = Experiment(
    title="Choices",
    question="Which?",
    sets=(
        JudgedSet(
            "choices",
            topics="q.jsonl",
            index="demo",
            references=ReferenceSource("q.jsonl", choices="options", choice="right"),
        ),
        DEMO_SET,
    ),
    conditions=(
        Condition("shrag", group="shrag", answers=True),
        Condition("bm25", group="bm25", strategy="bm25", answers=True),
        Condition("searched", group="searched"),
    ),
    measures=("nDCG@10",),
    k=10,
    baseline="shrag",
)


def _write(data: Path, asked: list[tuple[str, str, list[str], str]]) -> Path:
    data.mkdir(exist_ok=True)
    lines = [
        json.dumps({"qid": qid, "question": question, "options": options, "right": right})
        for qid, question, options, right in asked
    ]
    (data / "q.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return data


@pytest.fixture(scope="module")
def folder(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("choices")
    data = _write(path / "data", ASKED)
    run_experiment(CHOICES, path / "results", folders(demo_home, data), options=RunOptions(plots=False))
    return path / "results"


def test_the_choices_are_asked_with_the_question_and_what_was_made_is_kept(folder: Path) -> None:
    results, _ = open_results(folder)
    outcomes = {each.qid: each for each in results.outcomes(results.parts("choices", CHOICES.conditions[0])[0])}
    made = {qid: each.answer.choice for qid, each in outcomes.items() if each.answer}
    # No word of yes and no is in the records, and of penguins they say nothing.
    assert made == {"wind": "A", "yes": "", "penguin": ""}
    assert outcomes["twice"].error.startswith("Choice B is the same as choice A")


def test_a_set_without_judgements_has_the_figures_of_its_answers_alone(folder: Path) -> None:
    choices, demo = read_table(folder).sets
    shrag, _, searched = choices.rows
    assert shrag.errors == 1
    assert {name: shrag.cells[name].mean for name in shrag.cells if name.startswith("choice")} == {
        "choice_accuracy": 0.25,
        "choice_rate": 0.25,
        "choice_accuracy_with_guessing": pytest.approx((1 + 3 / 2) / 4),
    }
    assert "nDCG@10" not in shrag.cells
    assert "num_candidates" not in shrag.cells
    assert set(searched.cells) == {"retrieval_ratio"}
    assert choices.choice_baselines is not None
    assert choices.choice_baselines.random == pytest.approx((1 / 3 + 3 / 2) / 4)
    assert (choices.choice_baselines.majority, choices.choice_baselines.majority_letter) == (0.75, "A")
    assert demo.choice_baselines is None
    assert "nDCG@10" in demo.rows[0].cells


def test_it_is_shown_with_the_level_of_chance_and_no_empty_column(folder: Path) -> None:
    page, document = render_report([folder]), render_document([folder])
    said = "Random choices have an expected accuracy of 0.458; always choosing A, the most frequent one, has 0.750."
    assert said in page
    assert said in document
    assert "conditions differ most in retrieval_ratio" in page
    assert "conditions differ most in nDCG@10" in page
    header = document[document.index("### choices") :].split("\n")[2]
    assert "nDCG" not in header
    assert "choice\\_accuracy\\_with\\_guessing" in header
    # Nothing is claimed, so that the differences are in nDCG@10, which one set has.
    assert "| condition | demo |" in document


def test_its_conditions_compare_and_only_over_the_same_references(
    folder: Path, demo_home: Path, tmp_path: Path
) -> None:
    a, b = choose_condition(str(folder)), choose_condition(f"{folder}:bm25")
    compared = {each.set: each for each in compare_conditions(a, b, count=1)}
    assert {"choice_accuracy", "choice_accuracy_with_guessing"} <= {
        each.measure for each in compared["choices"].differences
    }
    (by_choice,) = compare_conditions(a, b, count=1, by="choice_accuracy")
    assert by_choice.set == "choices"
    data = _write(tmp_path / "data", ASKED[:2])
    other = msgspec.structs.replace(CHOICES, sets=CHOICES.sets[:1])
    run_experiment(other, tmp_path / "results", folders(demo_home, data), options=RunOptions(plots=False))
    with pytest.raises(ResultsMismatch, match="The set choices has other questions or judgements"):
        list(compare_conditions(a, choose_condition(str(tmp_path / "results")), count=1))


@pytest.fixture(scope="module")
def demo(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> SetTable:
    narrowed = narrow_experiment(read_experiment(find_experiment("answers")), ["demo"], [], 6)
    (table,) = run_small(demo_home, tmp_path_factory.mktemp("results") / "answers", narrowed).table.sets
    return table


def test_every_strategy_that_works_without_a_model_answers() -> None:
    conditions = read_experiment(find_experiment("answers")).conditions
    searched = {each.strategy for each in read_experiment(find_experiment("strategies")).conditions}
    # With vectors the same records are found, and a way with more than five records answers from the first five, too.
    assert searched - {each.strategy for each in conditions} - {"hybrid"} == {each for each in searched if "(" in each}
    assert set(PRESETS) < {each.strategy for each in conditions}
    assert all(each.answers and each.model is False for each in conditions)


def test_the_sets_say_how_others_files_are_read() -> None:
    pubmed, paper, mmlu, demo = read_experiment(find_experiment("answers")).sets
    assert pubmed.reference_source == ReferenceSource(
        "pubmed-qa/answers.jsonl.gz", "long_answer", ("yes", "no", "maybe"), "answers"
    )
    assert (paper.qrels, mmlu.qrels) == ("", "")
    assert mmlu.reference_source == ReferenceSource("mmlu-science/test-half.jsonl.gz", choice="answer")
    assert demo.topics == "shrag:challenge/topics.tsv"


def test_it_runs_over_the_demonstration(demo: SetTable) -> None:
    assert all(row.errors == 0 for row in demo.rows)
    assert {"rouge_l", "cites_relevant", "refusal_accuracy"} <= set(demo.rows[0].cells)
