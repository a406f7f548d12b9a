"""The experiment ``shrag-challenge`` over the project's own references: its columns and their values."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.formats.topics import read_qrels
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.evaluation.experiments.spec_file import find_experiment, read_experiment
from shrag.evaluation.questions.figures import ANSWER_FIGURES
from shrag.evaluation.reports.html import render_report
from shrag.evaluation.reports.markdown import table_text
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import read_table
from tests.support.small_experiment import contents, run_small

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def challenge() -> Experiment:
    experiment = read_experiment(find_experiment("shrag-challenge"))
    searched = Condition("searched", group="searched")
    kept = tuple(each for each in experiment.conditions if each.name in ("shrag", "bm25"))
    return msgspec.structs.replace(experiment, conditions=(*kept, searched), plots=())


@pytest.fixture(scope="module")
def folder(demo_home: Path, challenge: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "challenge"
    run_small(demo_home, path, challenge)
    return path


def test_every_figure_is_over_the_questions_whose_reference_it_needs(folder: Path) -> None:
    results, _ = open_results(folder)
    (part,) = results.parts("demo", results.experiment.conditions[0])
    counts = {name: len(values) for name, values in results.values(part).items()}
    assert counts == {
        **dict.fromkeys(("nDCG@10", "R@50", "num_candidates", "candidate_recall", "candidate_success"), 16),
        **dict.fromkeys(("rouge_l", "rouge_l_characters", "well_formed", "accuracy"), 16),
        **dict.fromkeys(("rouge_l_above_0.7", "rouge_l_above_0.5", "rouge_l_above_0.3"), 16),
        **{"string_match": 15, "exact_match": 15, "yes_no_accuracy": 4, "refusal_accuracy": 20, "retrieval_ratio": 20},
        **{"cites_relevant": 16, "leads_relevant": 16},
    }
    assert {qrel.qid for qrel in read_qrels(folder / "demo" / "qrels.txt")} == set(results.values(part)["well_formed"])


def test_the_columns_are_the_criteria_and_a_search_alone_lacks_those_of_answers(folder: Path) -> None:
    table = read_table(folder)
    # Nothing is asked with choices, and no model writes.
    figures = tuple(name for name in ANSWER_FIGURES if not name.startswith(("choice", "citation")))
    assert table.answer_measures == figures
    shrag, bm25, searched = table.sets[0].rows
    assert shrag.cells["exact_match"].mean == 0.0
    assert shrag.cells["refusal_accuracy"].mean == 1.0
    assert shrag.cells["string_match"].mean == pytest.approx(14 / 15)
    assert bm25.cells["rouge_l"].difference is not None
    assert set(ANSWER_FIGURES) & set(searched.cells) == {"retrieval_ratio"}
    line = next(line for line in table_text(table).splitlines() if line.startswith("| searched"))
    assert line.count("| – ") == len(figures)


def test_the_report_shows_them(folder: Path) -> None:
    page = render_report([folder])
    assert "cites_relevant" in page
    assert "ko-none-1" in page


def test_changed_references_are_other_results(
    folder: Path, demo_home: Path, challenge: Experiment, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert run_small(demo_home, copy, challenge, resume=True).questions_asked == 0
    assert contents(copy) == contents(folder)
    with (copy / "demo" / "references.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"qid": "x"}\n')
    with pytest.raises(ResultsMismatch, match=r"references.jsonl was changed after it was written"):
        open_results(copy)
