from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.formats.topics import read_qrels
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import write_part
from shrag.evaluation.experiments.spec import Condition, CorpusSource, Experiment, JudgedSet, UnanswerableSource
from shrag.evaluation.judging.record_relevance import RELEVANCE_FILE, JudgedRecord
from shrag.evaluation.judging.relevance import RelevanceLevel
from shrag.evaluation.measures.judge_run import evaluate
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.questions.outcome import AnswerRecord, QuestionOutcome, QuestionRecord
from shrag.evaluation.questions.reference_answers import Reference, encode_references
from shrag.evaluation.reports.comparison import ChosenCondition, compare_conditions
from shrag.evaluation.reports.html import render_report
from shrag.evaluation.reports.result_folder import ResultFolder, open_results
from shrag.evaluation.reports.table import BaselineDifference, ResultCell, make_table, read_table
from tests.support.small_experiment import DEMO_SET, SMALL, run_small


def test_the_means_are_those_of_the_run_files_and_the_outcomes(results_folder: Path) -> None:
    table = read_table(results_folder)
    (demo,) = table.sets
    assert [row.condition for row in demo.rows] == ["or", "and", "bm25"]
    qrels = read_qrels(results_folder / "demo" / "qrels.txt")
    for row in demo.rows:
        means = evaluate(qrels, read_run(results_folder / "demo" / f"{row.condition}.run"), table.measures)
        for measure, mean in means.items():
            assert row.cells[measure].mean == pytest.approx(mean)
            assert row.cells[measure].low <= row.cells[measure].mean <= row.cells[measure].high
        assert set(row.cells) == {"nDCG@10", "R@20", "num_candidates", "candidate_recall", "candidate_success"}


def test_only_the_other_conditions_are_compared_with_the_baseline(results_folder: Path) -> None:
    baseline, other, bm25 = read_table(results_folder).sets[0].rows
    assert {cell.difference for cell in baseline.cells.values()} == {None}
    fewer = other.cells["num_candidates"].difference
    assert fewer is not None
    assert fewer.mean == pytest.approx(other.cells["num_candidates"].mean - baseline.cells["num_candidates"].mean)
    assert fewer.low <= fewer.mean <= fewer.high < 0
    # Of ten differences of one sign, 2 of the 2^10 assignments of signs are as extreme.
    assert (fewer.wins, fewer.ties, fewer.losses) == (0, 0, 10)
    assert fewer.p == pytest.approx(2 / 2**10)
    assert fewer.p_holm == pytest.approx(6 * 2 / 2**10)
    assert fewer.sign == "-"
    assert all(cell.difference for cell in bm25.cells.values())


def test_the_same_folder_always_gives_the_same_table(results_folder: Path) -> None:
    results, _ = open_results(results_folder)
    assert make_table(results) == make_table(results) == read_table(results_folder)


@pytest.mark.parametrize(
    ("mean", "p", "sign"), [(0.1, 0.049, "+"), (-0.1, 0.049, "-"), (0.1, 0.05, ""), (-0.1, 1.0, "")]
)
def test_a_difference_has_a_sign_only_where_its_corrected_p_is_small(mean: float, p: float, sign: str) -> None:
    assert BaselineDifference(mean, 0, 0, 0.001, p, 1, 0, 0).sign == sign


def test_the_spread_is_the_standard_deviation_of_the_repeats() -> None:
    assert ResultCell(0.5, 0, 1, (0.4, 0.5, 0.6)).spread == pytest.approx(0.1)
    assert ResultCell(0.5, 0, 1, (0.5,)).spread is None


def test_a_damaged_table_is_named(results_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(results_folder, tmp_path / "copy")
    (tmp_path / "copy" / "table.json").write_text("{}")
    with pytest.raises(ResultsMismatch, match=r"table.json cannot be read .* --resume"):
        read_table(tmp_path / "copy")


@pytest.fixture(scope="module")
def joint(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results of the demonstration with its unanswerable questions, and of the same set asked once more."""
    source = UnanswerableSource("shrag:demo/unanswerable.tsv", "shrag:demo/unanswerable-kinds.tsv")
    first = msgspec.structs.replace(DEMO_SET, unanswerable=source, min_grade=2)
    again = msgspec.structs.replace(DEMO_SET, name="again", index="demo", sample=6, compare_with="demo", min_grade=2)
    conditions = (Condition("shrag", answers=True, k=10), Condition("bm25", strategy="bm25"))
    experiment = msgspec.structs.replace(
        SMALL, sets=(first, again), conditions=conditions, baseline="", plots=(), measures=("Success@1", "nDCG@10")
    )
    folder = tmp_path_factory.mktemp("results") / "joint"
    run_small(demo_home, folder, experiment)
    return folder


def test_a_set_with_unanswerable_questions_has_scores_of_the_confidence(joint: Path) -> None:
    demo, again = read_table(joint).sets
    assert (demo.questions, again.questions, again.confidence) == (10 + 28, 6, {})
    shrag, bm25 = demo.confidence["shrag"], demo.confidence["bm25"]
    assert [(each.kind, each.questions) for each in shrag.kinds] == [
        ("answerable", 10),
        ("far", 10),
        ("near", 18),
        ("unanswerable", 28),
    ]
    far = shrag.kinds[1].auc
    assert far is not None
    assert far.low <= far.value <= far.high
    assert far.value > 0.9
    assert shrag.curve[-1].answered == 38
    assert (bm25.aurc, bm25.curve, {each.auc for each in bm25.kinds}) == (None, (), {None})


def test_a_set_is_compared_with_another_over_the_questions_of_both(joint: Path) -> None:
    _, again = read_table(joint).sets
    compared = again.compared
    assert compared is not None
    assert (compared.other, compared.questions) == ("demo", 6)
    assert set(compared.differences) == {"shrag", "bm25"}
    # The same questions of the same index: no difference.
    assert compared.differences["shrag"]["nDCG@10"] == BaselineDifference(0, 0, 0, 1.0, 1.0, 0, 6, 0)


def test_measures_take_the_least_grade_of_the_set(joint: Path) -> None:
    demo, _ = read_table(joint).sets
    run = read_run(joint / "demo" / "shrag.run")
    qrels = read_qrels(joint / "demo" / "qrels.txt")
    assert demo.rows[0].cells["Success@1"].mean == pytest.approx(
        evaluate(qrels, run, ["Success(rel=2)@1"])["Success(rel=2)@1"]
    )
    assert {"cites_relevant", "leads_relevant"} <= set(demo.rows[0].cells)
    assert demo.rows[0].cells["refusal_accuracy"].mean > 0.5
    # This condition asks for 10 records, the experiment for 20.
    assert {line.rank for line in run} == set(range(1, 11))


def test_the_tables_of_confidence_and_of_the_difference_are_printed(joint: Path) -> None:
    text = (joint / "table.md").read_text(encoding="utf-8")
    assert "| condition | questions | number | refused | AUC of the confidence |" in text
    assert "| shrag | answerable | 10 |" in text
    assert "| bm25 | far | 10 |" in text
    assert "| condition | coverage | confidence | answered | risk, first record | risk, cited records | AURC |" in text
    assert "Difference from the set demo, over the 6 questions of both; significant ones in bold:" in text
    assert "| shrag | +0.000 [+0.000, +0.000] | +0.000 [+0.000, +0.000] |" in text


def test_the_page_has_the_scores_of_the_confidence(joint: Path) -> None:
    page = render_report([joint], questions=0)
    assert "demo: refusals, and how well the confidence separates" in page
    assert page.count("again: refusals") == 0
    assert "demo: risk and coverage; unanswerable questions count as wrong" in page
    assert '<td class="number">served: ' in page


def test_the_page_has_the_difference_from_the_other_set(joint: Path) -> None:
    page = render_report([joint], questions=0)
    assert "again: difference from the set demo, over the 6 questions of both" in page
    # Two conditions by two measures, of the same questions of the same index.
    assert page.count("Δ +0.000 [+0.000, +0.000]<small>p 1; 0 / 6 / 0</small>") == 4


def _write_results(folder: Path, baseline: str) -> ResultFolder:
    """Write what two conditions gave for four questions: one quotes, and a model answers in the other.

    A judge has read a record of q1 and q2 in the first condition and of q2 and q3 in the second.
    """
    conditions = (Condition("quote", answers=True, model=False), Condition("model", answers=True, model=True))
    judged_set = JudgedSet("demo", "t", qrels="q", references="r", corpus=CorpusSource("scienceon", ()))
    experiment = Experiment(
        "t", "q", (judged_set,), conditions, baseline=baseline, measures=("nDCG@10",), k=5, judge_records=2
    )
    results = ResultFolder(folder, experiment, (), "a judge")
    (folder / "demo").mkdir(parents=True)
    qids = [f"q{number}" for number in range(4)]
    (folder / "demo" / "topics.tsv").write_text("".join(f"{qid}\ttext\n" for qid in qids))
    (folder / "demo" / "qrels.txt").write_text("".join(f"{qid} 0 d1 1\n" for qid in qids))
    references = [Reference(qid, answers=("gold",), short_answers=("gold",)) for qid in qids]
    (folder / "demo" / "references.jsonl").write_bytes(encode_references(references))
    for part, condition in results.all_parts():
        by_model = condition.name == "model"
        answer = AnswerRecord(
            "gold" if by_model else "lead",
            "gold" if by_model else "lead",
            "en",
            "generated" if by_model else "extractive",
            "M" if by_model else "",
            1.0 if by_model else None,
            1.0 if by_model else None,
            "",
            ("d1",),
        )
        outcomes = [
            QuestionOutcome(qid, num_candidates=1, num_retrieved=1, top_docids=("d1",), answer=answer) for qid in qids
        ]
        write_part(folder, part, [QuestionRecord(outcome, (("d1", 1.0),)) for outcome in outcomes])
    read = [("quote", "q1", 0), ("quote", "q2", 0), ("model", "q2", 3), ("model", "q3", 3)]
    levels = list(RelevanceLevel)
    records = [JudgedRecord("demo", name, qid, 0, "d1", "a judge", levels[level], "") for name, qid, level in read]
    (folder / RELEVANCE_FILE).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))
    return results


@pytest.mark.parametrize(("baseline", "other"), [("model", "quote"), ("quote", "model")])
def test_conditions_are_compared_by_what_both_have(tmp_path: Path, baseline: str, other: str) -> None:
    results = _write_results(tmp_path / "results", baseline)
    cells = {row.condition: row.cells for row in make_table(results).sets[0].rows}
    assert all(cell.difference is None for cell in cells[baseline].values())
    compared = {measure: cell.difference for measure, cell in cells[other].items() if cell.difference}
    sign = 1 if other == "model" else -1
    assert (compared["string_match"].mean, compared["string_match"].ties) == (sign, 0)
    not_relevant = compared["not_relevant"]
    assert not_relevant.wins + not_relevant.ties + not_relevant.losses == 1  # a record of q2 was read in both
    assert "citation_precision" not in compared
    candidates = cells[other]["num_candidates"]
    assert (candidates.low, candidates.mean, candidates.high) == (1, 1, 1)  # four ones are no proportion here
    a, b = (ChosenCondition(results, each) for each in results.experiment.conditions)
    (found,) = compare_conditions(a, b, count=3, by="not_relevant")
    assert [change.qid for change in found.changes] == ["q2"]
