"""The values that a paper prints, next to those of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from shrag.evaluation.experiments.spec import Experiment

if TYPE_CHECKING:
    from shrag.evaluation.reports.table import ResultCell, ResultRow, SetTable


class PaperValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value of a paper in its own unit, and ours in the same unit with its interval.

    ``here``, ``low`` and ``high`` are None where the set or the condition was left out.
    """

    set: str
    condition: str
    measure: str
    paper: float
    here: float | None = None
    low: float | None = None
    high: float | None = None


def compare_with_paper(experiment: Experiment, sets: Sequence[SetTable]) -> tuple[PaperValue, ...]:
    """Return all expected values of the experiment, in its order, with those of the tables ``sets``."""
    rows = {(each.set, row.condition): row for each in sets for row in each.rows}
    percent = experiment.paper.percent if experiment.paper else ()
    return tuple(
        _value(each.set, each.condition, measure, value, rows.get((each.set, each.condition)), measure in percent)
        for each in experiment.expected
        for measure, value in each.values.items()
    )


def _value(
    set_name: str, condition: str, measure: str, paper: float, row: ResultRow | None, percent: bool
) -> PaperValue:
    cell: ResultCell | None = row.cells.get(measure) if row else None
    label = row.label if row else condition
    if cell is None:
        return PaperValue(set_name, label, measure, paper)
    unit = 100 if percent else 1
    return PaperValue(set_name, label, measure, paper, unit * cell.mean, unit * cell.low, unit * cell.high)
