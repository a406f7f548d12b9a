"""Draw plots of a results table as PNG and SVG. Only this module imports matplotlib.

The same table gives the same bytes: files have no date or program name, and identifiers are made from a fixed salt. An
SVG keeps its text as text, which the reader's machine shows in one of its fonts. A PNG is drawn in NanumGothic from the
package koreanize-matplotlib, so that Hangul needs no font on this machine.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from shrag.corpora.files import write_atomically
from shrag.evaluation.errors import ExperimentRejected, PlotLibraryMissing
from shrag.evaluation.experiments.spec import Plot, setting_text
from shrag.evaluation.questions.confidence_scores import CoverageScores
from shrag.evaluation.reports.table import ResultTable, SetTable
from shrag.messages.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Curve = Sequence[CoverageScores]
"""A risk-coverage curve."""


@dataclass(frozen=True, slots=True)
class Point:
    """A mean with its interval, at the position ``x`` of the axis."""

    x: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one set or group, by increasing x."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """A tick label at ``x``. ``key`` is the condition or the setting's value whose points are there."""

    x: float
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Panel:
    """The plot of one measure. ``x_name`` is the setting on the axis; it is empty if the axis has the conditions."""

    measure: str
    x_name: str
    labels: tuple[Label, ...]
    series: tuple[Series, ...]


def panels(plot: Plot, table: ResultTable) -> list[Panel]:
    """Return the plot's panels.

    Raises :class:`ExperimentRejected` if no condition sets its ``x``.
    """
    labels = _labels(plot.x, table)
    positions = {label.key: label.x for label in labels}
    return [Panel(measure, plot.x, labels, _series(plot, measure, table, positions)) for measure in plot.y]


def _labels(x: str, table: ResultTable) -> tuple[Label, ...]:
    """Return the tick labels. Numbers are at their value, other settings and conditions at 0, 1, 2 and so on."""
    rows = table.sets[0].rows
    if not x:
        return tuple(Label(float(position), row.label, row.condition) for position, row in enumerate(rows))
    values = [row.settings[x] for row in rows if x in row.settings]
    if not values:
        raise ExperimentRejected(
            Text("A plot has x = {x!r}, which no condition sets: leave plots out by --no-plots.", x=x)
        )
    distinct = list(dict.fromkeys(map(setting_text, values)))
    numbers = {
        setting_text(value): float(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if len(numbers) == len(distinct):
        return tuple(Label(numbers[text], text, text) for text in sorted(distinct, key=numbers.__getitem__))
    return tuple(Label(float(position), text, text) for position, text in enumerate(distinct))


def _series(plot: Plot, measure: str, table: ResultTable, positions: dict[str, float]) -> tuple[Series, ...]:
    groups = dict.fromkeys(row.group for row in table.sets[0].rows if plot.x in row.settings) if plot.x else {"": None}
    return tuple(
        Series(
            f"{each.set}, {group}" if len(groups) > 1 else each.set, _points(plot.x, measure, each, group, positions)
        )
        for each in table.sets
        for group in groups
    )


def _points(x: str, measure: str, each: SetTable, group: str, positions: dict[str, float]) -> tuple[Point, ...]:
    chosen = [
        row for row in each.rows if measure in row.cells and (not x or (row.group == group and x in row.settings))
    ]
    points = []
    for row in chosen:
        cell = row.cells[measure]
        key = setting_text(row.settings[x]) if x else row.condition
        points.append(Point(positions[key], cell.mean, cell.low, cell.high))
    return tuple(sorted(points, key=lambda point: point.x))


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colors that people with color blindness can tell apart (Okabe and Ito, Color Universal Design, 2008)."""

MARKERS = "osD^vP*"
"""Markers that can be told apart without color."""

KOREAN_FONT = "NanumGothic"
"""The family name of the font that has Hangul."""

_PANEL = (4.8, 3.6)
"""Width and height of a panel in inches."""


def check_plots() -> None:
    """Raise :class:`PlotLibraryMissing` if matplotlib or the package with the Korean font is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PlotLibraryMissing(
            Text(
                "matplotlib, which draws the experiment's plots, is not installed: run `pip install "
                "'shrag[plots]'`, or use --no-plots."
            )
        ) from None
    korean_font_file()


def korean_font_file() -> Path:
    """Return the path of the NanumGothic file in the installed package koreanize-matplotlib.

    The package is not imported: that would change matplotlib's settings, and needs distutils, which Python 3.12 lacks.
    Raises :class:`PlotLibraryMissing` if it is not installed.
    """
    try:
        package = distribution("koreanize-matplotlib")
    except PackageNotFoundError:
        raise PlotLibraryMissing(
            Text(
                "koreanize-matplotlib, which has the Korean font of the experiment's plots, is not installed: "
                "run `pip install 'shrag[plots]'`, or use --no-plots."
            )
        ) from None
    return Path(str(package.locate_file("koreanize_matplotlib/fonts/NanumGothic.ttf")))


def draw_plots(folder: Path, plots: Sequence[Plot], table: ResultTable) -> None:
    """Draw each plot as ``plot-N.png`` and ``plot-N.svg`` (N from 1).

    Raises :class:`PlotLibraryMissing`, and :class:`ExperimentRejected` as :func:`panels` does.
    """
    check_plots()
    folder.mkdir(exist_ok=True)
    for number, plot in enumerate(plots, 1):
        for kind in ("png", "svg"):
            name = f"plot-{number}"
            write_atomically(folder / f"{name}.{kind}", draw(plot, table, kind, salt=name))


def draw(plot: Plot, table: ResultTable, kind: str, *, salt: str = "plot") -> bytes:
    """Return a plot as ``png`` or ``svg``. Identifiers in an SVG are derived from ``salt``."""
    if plot.kind == "risk-coverage":
        return draw_risk_coverage(_curves(table), kind, title=plot.title, salt=salt)
    return save_figure(lambda: _figure(plot, panels(plot, table)), kind, salt)


def draw_panels(panels: Sequence[Panel], kind: str, *, salt: str = "plot") -> bytes:
    """Return panels with bars as ``png`` or ``svg``."""
    return save_figure(lambda: _figure(Plot("bars"), panels), kind, salt)


def draw_risk_coverage(
    curves: Mapping[str, Mapping[str, Curve]], kind: str, *, title: str = "", salt: str = "plot"
) -> bytes:
    """Return a plot of risk against coverage, with a panel for each set, as ``png`` or ``svg``.

    ``curves`` is set → label of a condition → its curve. Sets and conditions without a curve are left out.
    """
    drawn = {name: {label: curve for label, curve in each.items() if curve} for name, each in curves.items()}
    return save_figure(lambda: _risk_figure({name: each for name, each in drawn.items() if each}, title), kind, salt)


def _curves(table: ResultTable) -> dict[str, dict[str, Curve]]:
    return {
        each.set: {row.label: each.confidence[row.condition].curve for row in each.rows}
        for each in table.sets
        if each.confidence
    }


def save_figure(make: Callable[[], Figure], kind: str, salt: str) -> bytes:
    """Return the figure that ``make`` draws, as ``png`` or ``svg``. Identifiers in an SVG are derived from ``salt``."""
    _register_korean_font()
    with _style(salt):
        figure = make()
        stream = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        figure.savefig(stream, format=kind, dpi=144, metadata=metadata)
    return stream.getvalue()


def _register_korean_font() -> None:
    """Register the font with matplotlib if it is not registered yet."""
    from matplotlib.font_manager import fontManager

    path = str(korean_font_file())
    if all(font.fname != path for font in fontManager.ttflist):
        fontManager.addfont(path)


def _style(salt: str) -> AbstractContextManager[None]:
    import matplotlib as mpl

    return mpl.rc_context(
        {
            "font.family": [KOREAN_FONT, "DejaVu Sans"],
            "svg.hashsalt": salt,
            "svg.fonttype": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "grid.alpha": 0.3,
            "axes.unicode_minus": False,  # NanumGothic has no U+2212
        }
    )


def _figure(plot: Plot, drawn: Sequence[Panel]) -> Figure:
    from matplotlib.figure import Figure

    width, height = _PANEL
    ticks = max(len(panel.labels) for panel in drawn)
    width += 0.3 * max(0, ticks - 6)
    figure = Figure(figsize=(width * len(drawn), height + 0.4), layout="constrained")
    for position, panel in enumerate(drawn, 1):
        axes = figure.add_subplot(1, len(drawn), position)
        (_lines if plot.kind == "line" else _bars)(axes, panel)
        _label(axes, panel)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), frameon=False)
    if plot.title:
        figure.suptitle(_literal(plot.title))
    return figure


def _risk_figure(curves: Mapping[str, Mapping[str, Curve]], title: str) -> Figure:
    from matplotlib.figure import Figure

    width, height = _PANEL
    figure = Figure(figsize=(width * max(len(curves), 1), height + 0.4), layout="constrained")
    labels = list(dict.fromkeys(label for each in curves.values() for label in each))
    lines = {}
    for position, (name, each) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(1, len(curves), position)
        axes.set_title(_literal(name))
        axes.set_xlabel("coverage")
        axes.set_ylabel("risk")
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1)
        for label, curve in each.items():
            at = labels.index(label)
            colour, marker = COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]
            xs, ys = [point.coverage for point in curve], [point.risk for point in curve]
            (lines[label],) = axes.plot(xs, ys, color=colour, marker=marker)
    if lines:
        names = [_literal(label) for label in lines]
        figure.legend(list(lines.values()), names, loc="outside lower center", ncols=4, frameon=False)
    if title:
        figure.suptitle(_literal(title))
    return figure


def _lines(axes: Axes, panel: Panel) -> None:
    for position, series in enumerate(panel.series):
        colour, marker = COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)]
        xs = [point.x for point in series.points]
        axes.plot(xs, [p.mean for p in series.points], color=colour, marker=marker, label=_literal(series.label))
        axes.fill_between(
            xs, [p.low for p in series.points], [p.high for p in series.points], color=colour, alpha=0.15, linewidth=0
        )


def _bars(axes: Axes, panel: Panel) -> None:
    gaps = [after.x - before.x for before, after in zip(panel.labels, panel.labels[1:], strict=False)]
    width = 0.8 * min(gaps, default=1.0) / max(len(panel.series), 1)
    for position, series in enumerate(panel.series):
        shift = (position - (len(panel.series) - 1) / 2) * width
        means = [point.mean for point in series.points]
        errors = [
            [max(point.mean - point.low, 0.0) for point in series.points],
            [max(point.high - point.mean, 0.0) for point in series.points],
        ]
        axes.bar(
            [point.x + shift for point in series.points], means, width, yerr=errors, capsize=2,
            color=COLOURS[position % len(COLOURS)], label=_literal(series.label), error_kw={"elinewidth": 0.8},
        )  # fmt: skip


def _label(axes: Axes, panel: Panel) -> None:
    axes.set_title(_literal(panel.measure))
    axes.set_xlabel(_literal(panel.x_name))
    slanted = sum(len(label.text) for label in panel.labels) > 40
    axes.set_xticks(
        [label.x for label in panel.labels],
        [_literal(label.text) for label in panel.labels],
        rotation=30 if slanted else 0,
        ha="right" if slanted else "center",
    )
    highest = max((max(point.high, point.mean) for series in panel.series for point in series.points), default=0.0)
    axes.set_ylim(0, 1.05 * highest or 1.0)


def _literal(text: str) -> str:
    """Return ``text`` escaped, so that matplotlib does not parse any part of it as a formula."""
    return text.replace("$", r"\$")
