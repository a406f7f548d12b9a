"""Panels of a plot, and the files that are drawn."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import NoReturn

import pytest

from shrag.evaluation.errors import ExperimentRejected, PlotLibraryMissing
from shrag.evaluation.experiments.spec import Plot
from shrag.evaluation.questions.confidence_scores import ConfidenceScores, CoverageScores
from shrag.evaluation.reports import plots
from shrag.evaluation.reports.plots import Label, Point, Series, check_plots, draw, draw_plots, panels
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


LINE = Plot("line", ("RR", "num_candidates"), x="ands", title="그림 $3")
BARS = Plot("bars", ("RR",))


def _drawn_table(label: str = "조건 $1 <b>") -> ResultTable:
    rows = tuple(
        ResultRow(
            f"and-{number}", f"{label} {number}", "and", {"ands": number}, 5, 0, 0, 0,
            {"RR": ResultCell(0.5, 0.4, 0.6, (0.5,)), "num_candidates": ResultCell(10.0 * number, 1.0, 99.0, (10.0,))},
        )
        for number in range(4)
    )  # fmt: skip
    return ResultTable(
        "t", "q", "", "", ("RR",), ("num_candidates",), (SetTable("s", 5, rows), SetTable("t_$x", 5, rows))
    )


@pytest.mark.slow
@pytest.mark.parametrize("plot", [LINE, BARS])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_table_gives_the_same_bytes(plot: Plot, kind: str) -> None:
    drawn = draw(plot, _drawn_table(), kind)
    assert drawn == draw(plot, _drawn_table(), kind)
    assert drawn.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert drawn != draw(plot, _drawn_table("other"), kind) or plot is LINE


def test_an_svg_has_its_text_as_text_and_neither_date_nor_script() -> None:
    svg = draw(LINE, _drawn_table(), "svg")
    texts = {"".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}
    assert {"그림 $3", "RR", "num_candidates", "ands", "s", "t_$x", "0", "3"} <= texts
    assert b"<dc:date>" not in svg
    assert b"<script" not in svg
    assert "조건 $1 &lt;b&gt; 0" in draw(BARS, _drawn_table(), "svg").decode()


@pytest.mark.slow
def test_without_a_font_of_the_system_hangul_is_drawn_in_the_font_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager, get_font

    # Every warning is an error here: a letter that no font has would be one.
    own = mpl.get_data_path()
    monkeypatch.setattr(fontManager, "ttflist", [font for font in fontManager.ttflist if font.fname.startswith(own)])
    named = draw(BARS, _drawn_table(), "png")
    assert Path(fontManager.findfont(plots.KOREAN_FONT, fallback_to_default=False)) == plots.korean_font_file()
    assert {ord(letter) for letter in "가힣ㄱ漢α"} <= set(get_font(plots.korean_font_file()).get_charmap())
    assert named != draw(BARS, _drawn_table("또 다른"), "png")
    draw(LINE, _drawn_table(), "png")
    assert "koreanize_matplotlib" not in sys.modules


def test_a_missing_font_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> NoReturn:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(plots, "distribution", find)
    with pytest.raises(
        PlotLibraryMissing,
        match=r"^koreanize-matplotlib, which .* is not installed: run `pip install 'shrag\[plots\]'`",
    ):
        check_plots()


@pytest.mark.slow
def test_each_plot_is_two_files(tmp_path: Path) -> None:
    draw_plots(tmp_path / "plots", [LINE, BARS], _drawn_table())
    drawn = sorted((tmp_path / "plots").iterdir())
    assert [path.name for path in drawn] == ["plot-1.png", "plot-1.svg", "plot-2.png", "plot-2.svg"]
    assert all(path.stat().st_size > 1_000 for path in drawn)


def test_panels_stand_side_by_side_under_axes_that_end_a_twentieth_above_the_highest_value() -> None:
    figure = plots._figure(LINE, panels(LINE, _drawn_table()))
    assert [axes.get_ylim()[1] for axes in figure.axes] == pytest.approx([0.63, 103.95])
    assert figure.get_size_inches().tolist() == pytest.approx([9.6, 4.0])
    eight = _table(*[_row(str(number), "g", {}, 0.0) for number in range(8)])
    figure = plots._figure(BARS, panels(BARS, eight))
    assert figure.get_size_inches().tolist() == pytest.approx([5.4, 4.0])  # two labels more than six
    nothing = _table(ResultRow("a", "a", "g", {}, 1, 0, 0, 0, {"RR": ResultCell(0.0, 0.0, 0.0, (0.0,))}))
    (axes,) = plots._figure(BARS, panels(BARS, nothing)).axes
    assert axes.get_ylim() == (0, 1)


def test_bars_of_several_series_stand_side_by_side_around_their_label() -> None:
    rows = [_row(name, "g", {}, 0.5) for name in "abc"]
    (axes,) = plots._figure(BARS, panels(BARS, _table(*rows, sets=("s", "t")))).axes
    bars = sorted(
        (bar.get_x(), bar.get_width()) for container in axes.containers for bar in getattr(container, "patches", ())
    )
    assert [width for _, width in bars] == pytest.approx([0.4] * 6)
    assert [left for left, _ in bars] == pytest.approx([-0.4, 0.0, 0.6, 1.0, 1.6, 2.0])


def test_a_missing_matplotlib_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlotLibraryMissing, match=r"pip install 'shrag\[plots\]'`, or use --no-plots"):
        check_plots()


def test_risk_and_coverage_have_a_panel_for_each_set_and_a_line_for_each_condition_with_a_curve() -> None:
    curve = tuple(CoverageScores(step / 4, 1 - step / 4, step, 0.1 * step, None) for step in range(1, 5))
    rows = (_row("a", "a", {}, 0.1), _row("b", "b", {}, 0.2))
    scored = {"a": ConfidenceScores((), curve=curve), "b": ConfidenceScores(())}
    sets = (SetTable("with $x", 1, rows, confidence=scored), SetTable("without", 1, rows))
    table = ResultTable("t", "q", "", "", ("RR",), (), sets)
    both = SetTable("both", 1, rows, confidence=dict.fromkeys("ab", ConfidenceScores((), curve=curve)))
    drawn = draw(Plot("risk-coverage"), ResultTable("t", "q", "", "", ("RR",), (), (both,)), "svg").decode().lower()
    assert all(colour in drawn for colour in ("#0072b2", "#d55e00"))
    svg = draw(Plot("risk-coverage", title="위험"), table, "svg")
    texts = {"".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}
    assert {"위험", "with $x", "coverage", "risk", "라벨 a"} <= texts
    assert not {"without", "라벨 b"} & texts
    assert draw(Plot("risk-coverage"), _drawn_table(), "png").startswith(b"\x89PNG")
