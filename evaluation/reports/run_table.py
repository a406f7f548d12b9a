"""Table of several runs under the same judgements, with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import Judged, means
from shrag.evaluation.statistics.comparison import Difference, compare_all
from shrag.evaluation.statistics.intervals import Interval, mean_interval


class Cell(NamedTuple):
    """A run's mean by one measure; None where an interval was not asked for, or no other run is compared with."""

    mean: float
    interval: Interval | None
    difference: Difference | None


def run_table(
    judged: Mapping[str, Judged],
    *,
    intervals: bool = False,
    against: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, dict[str, Cell]]:
    """Return run → measure → cell, in the given order.

    ``against`` names the run that all others are tested against, their p corrected together
    (:func:`shrag.evaluation.statistics.comparison.compare_all`).
    """
    differences: dict[str, list[Difference]] = {}
    if against is not None:
        if against not in judged:
            raise EvaluationError(f"{against} is not among the runs, so nothing is compared with it: give it as a run.")
        others = {name: each for name, each in judged.items() if name != against}
        differences = compare_all(judged[against], others, seed=seed, level=level)
    return {
        name: {
            measure: Cell(
                mean,
                mean_interval(list(each[measure].values()), seed=seed, level=level) if intervals else None,
                next((found for found in differences.get(name, ()) if found.measure == measure), None),
            )
            for measure, mean in means(each).items()
        }
        for name, each in judged.items()
    }
