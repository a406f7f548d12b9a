"""Table of several runs evaluated with the same judgements, with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import TopicScores, means
from shrag.evaluation.statistics.comparison import Difference, compare_all
from shrag.evaluation.statistics.intervals import Interval, mean_interval


class RunCell(NamedTuple):
    """A run's mean by one measure; ``interval`` and ``difference`` are None where they were not requested."""

    mean: float
    interval: Interval | None
    difference: Difference | None


def run_table(
    judged: Mapping[str, TopicScores],
    *,
    intervals: bool = False,
    baseline: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, dict[str, RunCell]]:
    """Return run → measure → cell, in the given order, from run → measure → qid → value.

    With ``intervals`` every mean has one. ``baseline`` is the run that all others are tested against, with p corrected
    over all of them (:func:`shrag.evaluation.statistics.comparison.compare_all`); :class:`EvaluationError` where it is
    not one of the runs. ``seed`` is that of bootstrap and tests.
    """
    differences: dict[str, list[Difference]] = {}
    if baseline is not None:
        if baseline not in judged:
            raise EvaluationError(f"{baseline} is not one of the runs: give it as a run.")
        others = {name: each for name, each in judged.items() if name != baseline}
        differences = compare_all(judged[baseline], others, seed=seed, level=level)
    return {
        name: {
            measure: RunCell(
                mean,
                mean_interval(list(each[measure].values()), seed=seed, level=level) if intervals else None,
                next((each for each in differences.get(name, ()) if each.measure == measure), None),
            )
            for measure, mean in means(each).items()
        }
        for name, each in judged.items()
    }
