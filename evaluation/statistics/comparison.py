"""Comparison of two runs over the same topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import TopicScores, means
from shrag.evaluation.statistics.intervals import Interval, bootstrap_interval, mean_interval
from shrag.evaluation.statistics.significance import holm, paired_randomisation

_SAME = 1e-9
"""Values that differ by no more than this are a tie: they were computed in another order."""


class Difference(NamedTuple):
    """Run B compared with run A by one measure: the difference of the means (B - A) with its interval.

    ``p`` is the two-sided p of a paired randomisation test, ``p_holm`` the same corrected for all tests of the
    comparison. ``wins`` counts the topics on which B is better.
    """

    measure: str
    mean_a: float
    mean_b: float
    difference: float
    interval: Interval
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int


class Change(NamedTuple):
    """A topic's value in run A and in run B."""

    qid: str
    a: float
    b: float


def compare(
    judged_a: Mapping[str, Mapping[str, float]],
    judged_b: Mapping[str, Mapping[str, float]],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> list[Difference]:
    """Return how run B differs from run A by each measure, in A's order; p corrected over the measures (Holm).

    Both map measure → qid → value. Raises :class:`EvaluationError` where their measures or topics are not the same.
    """
    return compare_all(judged_a, {"": judged_b}, seed=seed, level=level)[""]


def compare_all(
    baseline: Mapping[str, Mapping[str, float]],
    others: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, list[Difference]]:
    """Return how each of ``others`` differs from ``baseline``; p corrected over all runs and measures together."""
    found = {
        name: [_difference(measure, baseline, other, seed, level) for measure in _shared(baseline, other)]
        for name, other in others.items()
    }
    adjusted = iter(holm([each.p for differences in found.values() for each in differences]))
    return {name: [each._replace(p_holm=next(adjusted)) for each in differences] for name, differences in found.items()}


def largest_changes(a: Mapping[str, float], b: Mapping[str, float], count: int) -> list[Change]:
    """Return the ``count`` topics whose value changed most, the largest change first, ties in the topics' order."""
    changes = [Change(qid, a[qid], b[qid]) for qid in a if abs(b[qid] - a[qid]) > _SAME]
    # Rounded, since changes of the same size that were computed differently are tied.
    return sorted(changes, key=lambda change: -round(abs(change.b - change.a), 9))[:count]


def _shared(a: Mapping[str, Mapping[str, float]], b: Mapping[str, Mapping[str, float]]) -> list[str]:
    if a.keys() != b.keys():
        raise EvaluationError(f"Runs compare by the same measures, got {', '.join(a)} and {', '.join(b)}.")
    for measure in a:
        if odd := a[measure].keys() ^ b[measure].keys():
            raise EvaluationError(
                f"Runs compare over the same topics, and {len(odd)} have {measure} in one of them only, such as "
                f"{min(odd)}: judge both with the same judgements."
            )
    return list(a)


def _difference(
    measure: str,
    judged_a: Mapping[str, Mapping[str, float]],
    judged_b: Mapping[str, Mapping[str, float]],
    seed: int,
    level: float,
) -> Difference:
    topics = list(judged_a[measure])
    a = [judged_a[measure][qid] for qid in topics]
    b = [judged_b[measure][qid] for qid in topics]
    if not topics:
        raise EvaluationError(f"{measure} has no topic, so there is nothing to compare.")
    changes = [after - before for before, after in zip(a, b, strict=True)]
    wins, losses = sum(change > _SAME for change in changes), sum(change < -_SAME for change in changes)
    p = paired_randomisation(a, b, seed=seed)
    return Difference(
        measure,
        mean_a=sum(a) / len(a),
        mean_b=sum(b) / len(b),
        difference=sum(changes) / len(changes),
        interval=bootstrap_interval(changes, seed=seed, level=level),
        p=p,
        p_holm=p,
        wins=wins,
        ties=len(changes) - wins - losses,
        losses=losses,
    )


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
