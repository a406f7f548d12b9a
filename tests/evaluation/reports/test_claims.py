from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.spec import Claim, Condition
from shrag.evaluation.experiments.spec_file import check_experiment, narrow_experiment
from shrag.evaluation.reports.claims import judge_claim
from shrag.evaluation.reports.table import BaselineDifference, ResultCell, ResultRow, ResultTable, SetTable
from tests.support.small_experiment import SMALL


def _row(condition: str, mean: float, against: float | None = None, p: float = 1.0, group: str = "") -> ResultRow:
    difference = None if against is None else BaselineDifference(against, against - 0.1, against + 0.2, p, p, 0, 0, 0)
    cells = {"m": ResultCell(mean, 0, 1, (mean,), difference)}
    return ResultRow(condition, condition.title(), group or condition, {}, 10, 0, 0, 0, cells)


def _table(*rows: ResultRow) -> ResultTable:
    return ResultTable("T", "?", "", "own", ("m",), (), (SetTable("s", 10, (_row("own", 0.5), *rows)),))


def test_the_margin_is_to_the_best_of_the_others_and_points_where_the_claim_does() -> None:
    table = _table(_row("a", 0.4, -0.1, 0.01), _row("b", 0.45, -0.05))
    (verdict,) = judge_claim(Claim("", "m"), table)
    assert (verdict.baseline_mean, verdict.rival.condition, verdict.margin) == (0.5, "b", 0.05)
    assert (verdict.low, verdict.high) == pytest.approx((-0.15, 0.15))
    (lower,) = judge_claim(Claim("", "m", lower_is_better=True), table)
    assert (lower.rival.condition, lower.margin) == ("a", -0.1)
    assert (lower.low, lower.high) == pytest.approx((-0.2, 0.1))


@pytest.mark.parametrize(
    ("rows", "lower", "summary"),
    [
        ([("a", -0.1, 0.01)], False, "holds"),
        ([("a", -0.1, 0.01), ("b", -0.2, 0.04)], False, "holds against all 2"),
        ([("a", -0.1, 0.01), ("b", -0.2, 0.05)], False, "holds against 1 of 2"),
        ([("a", -0.1, 0.3), ("b", 0.2, 0.4)], False, "no difference shown"),
        ([("a", 0.1, 0.01), ("b", 0.2, 0.4)], False, "the contrary is shown against 1 of 2"),
        ([("a", -0.1, 0.01), ("b", 0.2, 0.01)], False, "holds against 1 of 2, the contrary is shown against 1 of 2"),
        ([("a", 0.1, 0.01), ("b", 0.2, 0.01)], True, "holds against all 2"),
        ([("a", -0.1, 0.01)], True, "the contrary is shown against 1 of 1"),
    ],
)
def test_only_what_is_significant_counts(rows: list[tuple[str, float, float]], lower: bool, summary: str) -> None:
    table = _table(*(_row(name, 0.5 + against, against, p) for name, against, p in rows))
    (verdict,) = judge_claim(Claim("", "m", lower_is_better=lower), table)
    assert verdict.summary == summary
    assert verdict.holds is (summary in ("holds", "holds against all 2"))


def test_a_claim_is_about_the_conditions_and_grids_it_names() -> None:
    table = _table(_row("a-1", 0.6, 0.1, 0.01, group="a"), _row("b", 0.4, -0.1, 0.01))
    assert [each.summary for each in judge_claim(Claim("", "m", over=("b",)), table)] == ["holds"]
    assert [each.rival.condition for each in judge_claim(Claim("", "m", over=("a",)), table)] == ["a-1"]
    assert judge_claim(Claim("", "m", over=("c",)), table) == []
    assert judge_claim(Claim("", "other"), table) == []


@pytest.mark.parametrize(
    ("claim", "baseline", "says"),
    [
        (Claim("x", "nDCG@10"), "", "there is a claim .'x'. but no baseline"),
        (Claim("x", "QSR@5"), "or", "a claim is about 'QSR@5', which is not measured"),
        (Claim("x", "nDCG@10", over=("xor",)), "or", "a claim is about the condition 'xor', which does not exist"),
    ],
)
def test_a_claim_that_nothing_could_bear_out_is_refused(claim: Claim, baseline: str, says: str) -> None:
    experiment = msgspec.structs.replace(SMALL, claims=(claim,), baseline=baseline)
    with pytest.raises(ExperimentRejected, match=says):
        check_experiment(Path("x.toml"), experiment)


def test_claims_go_with_the_conditions_they_are_about() -> None:
    conditions = (*SMALL.conditions, Condition("ands-1", group="ands"))
    claims = (Claim("all", "nDCG@10"), Claim("some", "nDCG@10", over=("ands", "bm25")), Claim("b", "R@20", ("and",)))
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, claims=claims, plots=())
    assert narrow_experiment(experiment, [], ["ands"], None).claims == (
        claims[0],
        msgspec.structs.replace(claims[1], over=("ands",)),
    )
