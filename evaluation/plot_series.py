"""What a plot shows, as values: a panel for each measure, a series for each set and each grid of conditions."""

from __future__ import annotations

from dataclasses import dataclass

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiment import Plot
from shrag.evaluation.result_table import ResultTable, Row, SetTable


@dataclass(frozen=True, slots=True)
class Point:
    """A mean and its interval at ``x``, a place on the axis."""

    x: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one set, in the order of x."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """What stands at a place of the x axis; ``plain`` is the same in ASCII, for a font without Hangul."""

    x: float
    text: str
    plain: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One measure. ``x_name`` is the setting along the axis, empty where conditions stand there."""

    measure: str
    x_name: str
    labels: tuple[Label, ...]
    series: tuple[Series, ...]


def panels(plot: Plot, table: ResultTable) -> list[Panel]:
    """Return the plot's panels; raises :class:`ExperimentRejected` where no condition has the setting of its x."""
    labels = _labels(plot.x, table)
    places = {label.plain: label.x for label in labels}
    return [Panel(measure, plot.x, labels, _series(plot, measure, table, places)) for measure in plot.y]


def _labels(x: str, table: ResultTable) -> tuple[Label, ...]:
    """Return the places of the axis: numbers stand where they belong, everything else side by side."""
    rows = table.sets[0].rows
    if not x:
        return tuple(Label(float(place), row.label, row.condition) for place, row in enumerate(rows))
    values = [row.settings[x] for row in rows if x in row.settings]
    if not values:
        raise ExperimentRejected(f"No condition sets {x!r}, which a plot has as x: leave the plot out by --no-plots.")
    distinct = list(dict.fromkeys(map(_text, values)))
    numbers = {
        _text(value): float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if len(numbers) == len(distinct):
        return tuple(Label(numbers[text], text, text) for text in sorted(distinct, key=numbers.__getitem__))
    return tuple(Label(float(place), text, text) for place, text in enumerate(distinct))


def _series(plot: Plot, measure: str, table: ResultTable, places: dict[str, float]) -> tuple[Series, ...]:
    groups = dict.fromkeys(row.group for row in table.sets[0].rows if plot.x in row.settings) if plot.x else {"": None}
    return tuple(
        Series(_series_label(each.set, group, len(groups)), _points(plot.x, measure, each, group, places))
        for each in table.sets
        for group in groups
    )


def _series_label(set_name: str, group: str, groups: int) -> str:
    return f"{set_name}, {group}" if groups > 1 else set_name


def _points(x: str, measure: str, each: SetTable, group: str, places: dict[str, float]) -> tuple[Point, ...]:
    chosen = [
        row for row in each.rows if measure in row.cells and (not x or (row.group == group and x in row.settings))
    ]
    points = [_point(row, measure, places[_text(row.settings[x]) if x else row.condition]) for row in chosen]
    return tuple(sorted(points, key=lambda point: point.x))


def _point(row: Row, measure: str, x: float) -> Point:
    cell = row.cells[measure]
    return Point(x, cell.mean, cell.low, cell.high)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
