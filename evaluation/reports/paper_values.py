"""Put the values that a paper prints next to those of an experiment."""

from __future__ import annotations

from typing import NamedTuple

from shrag.evaluation.reports.table import ResultRow, ResultTable


class PaperValue(NamedTuple):
    """One value of a paper, and SHRAG's value in the same unit with its interval.

    ``here``, ``low`` and ``high`` are None if it was not measured, such as when the set or the condition was left out.
    """

    set: str
    condition: str
    measure: str
    paper: float
    here: float | None = None
    low: float | None = None
    high: float | None = None


def paper_values(table: ResultTable) -> tuple[PaperValue, ...]:
    """Return all values that the paper prints with those of the table, in the order of the experiment."""
    rows = {(each.set, row.condition): row for each in table.sets for row in each.rows}
    percent = table.paper.percent if table.paper else ()
    return tuple(
        _compare(PaperValue(each.set, each.condition, measure, value), rows, 100 if measure in percent else 1)
        for each in table.expected
        for measure, value in each.values.items()
    )


def _compare(value: PaperValue, rows: dict[tuple[str, str], ResultRow], unit: int) -> PaperValue:
    row = rows.get((value.set, value.condition))
    if row is None:
        return value
    value = value._replace(condition=row.label)
    cell = row.cells.get(value.measure)
    if cell is None:
        return value
    return value._replace(here=unit * cell.mean, low=unit * cell.low, high=unit * cell.high)
