""""""

from __future__ import annotations

import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.spec import Plot
from shrag.evaluation.reports.plots import Label, Point, Series, panels
from shrag.evaluation.reports.table import ResultCell, ResultRow, ResultTable, SetTable


def _row(name: str, group: str, settings: dict[str, object], mean: float) -> ResultRow:
    return ResultRow(
        name, f"라벨 {name}", group, settings, 1, 0, 0, 0, {"RR": ResultCell(mean, mean - 0.1, mean + 0.1, (mean,))}
    )


def _table(*rows: ResultRow, sets: tuple[str, ...] = ("s",)) -> ResultTable:
    return ResultTable("t", "q", "", "", ("RR",), (), tuple(SetTable(name, 1, rows) for name in sets))


def test_a_number_stands_on_the_axis_where_it_belongs_and_a_condition_without_it_nowhere() -> None:
    rows = (_row("b9", "b", {"ands": 9}, 0.9), _row("b2", "b", {"ands": 2}, 0.2), _row("plain", "plain", {}, 0.5))
    (panel,) = panels(Plot("line", ("RR",), x="ands"), _table(*rows))
    assert panel.labels == (Label(2.0, "2", "2"), Label(9.0, "9", "9"))
    assert panel.series == (Series("s", (Point(2.0, 0.2, 0.1, 0.2 + 0.1), Point(9.0, 0.9, 0.8, 1.0))),)


def test_words_and_truth_values_stand_side_by_side_in_their_order() -> None:
    rows = (_row("a", "g", {"x": "split"}, 0.1), _row("b", "g", {"x": "both"}, 0.2), _row("c", "g", {"x": True}, 0.3))
    (panel,) = panels(Plot("bars", ("RR",), x="x"), _table(*rows))
    assert [(label.x, label.text) for label in panel.labels] == [(0.0, "split"), (1.0, "both"), (2.0, "true")]


def test_conditions_stand_under_their_labels_and_each_set_and_grid_is_a_series() -> None:
    rows = (_row("a", "a", {}, 0.1), _row("b", "b", {}, 0.2))
    (panel,) = panels(Plot("bars", ("RR",)), _table(*rows, sets=("s", "t")))
    assert panel.labels == (Label(0.0, "라벨 a", "a"), Label(1.0, "라벨 b", "b"))
    assert [series.label for series in panel.series] == ["s", "t"]
    grids = (_row("a1", "a", {"n": 1}, 0.1), _row("b1", "b", {"n": 1}, 0.2))
    (panel,) = panels(Plot("line", ("RR",), x="n"), _table(*grids, sets=("s", "t")))
    assert [series.label for series in panel.series] == ["s, a", "s, b", "t, a", "t, b"]


def test_a_setting_that_no_condition_left_has_is_refused() -> None:
    with pytest.raises(ExperimentRejected, match="A plot has x = 'ands', which no condition sets"):
        panels(Plot("line", ("RR",), x="ands"), _table(_row("a", "a", {}, 0.1)))
