from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrag.corpora.formats.topics import read_qrels
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.measures.judge_run import evaluate
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import BaselineDifference, ResultCell, make_table, read_table


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
