from __future__ import annotations

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.comparison import run_table
from shrag.evaluation.statistics.intervals import wilson_interval

A = {"QSR@5": {"q1": 1.0, "q2": 1.0, "q3": 0.0}, "RR": {"q1": 0.5, "q2": 1.0, "q3": 0.0}}
B = {"QSR@5": {"q1": 1.0, "q2": 1.0, "q3": 1.0}, "RR": {"q1": 1.0, "q2": 1.0, "q3": 1.0}}


def test_a_row_for_each_run_and_a_cell_for_each_measure() -> None:
    table = run_table({"a": A, "b": B})
    assert {run: {name: cell.mean for name, cell in row.items()} for run, row in table.items()} == {
        "a": {"QSR@5": pytest.approx(2 / 3), "RR": 0.5},
        "b": {"QSR@5": 1.0, "RR": 1.0},
    }
    assert table["a"]["RR"][1:] == (None, None)


def test_shares_have_score_intervals_and_all_others_those_of_the_bootstrap() -> None:
    table = run_table({"a": A, "b": B}, intervals=True, level=0.9)
    assert table["b"]["QSR@5"].interval == wilson_interval(3, 3, level=0.9)
    interval = table["a"]["RR"].interval
    assert interval is not None
    assert 0.0 <= interval.low < 0.5 < interval.high <= 1.0


def test_all_but_one_are_tested_against_it() -> None:
    table = run_table({"a": A, "b": B}, baseline="a")
    assert table["a"]["RR"].difference is None
    found = table["b"]["RR"].difference
    assert found is not None
    assert (found.difference, found.p, found.p_holm) == (0.5, 0.5, 1.0)
    with pytest.raises(EvaluationError, match="c is not one of the runs"):
        run_table({"a": A}, baseline="c")
