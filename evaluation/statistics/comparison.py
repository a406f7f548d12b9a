"""Compare runs over the same topics: paired randomization test, Holm's correction, table of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import TopicScores, means
from shrag.evaluation.statistics.intervals import Interval, bootstrap_interval, mean_interval
from shrag.evaluation.statistics.scipy_stats import load_stats
from shrag.messages.text import Text

_SAME = 1e-9
"""Values that differ by no more than this are a tie: only the order of the computation made them differ."""

_BLOCK = 2**20
"""Number of signs drawn at once, so that thousands of topics need little memory."""

_DECIMALS = 12
"""Sums, as shares of the largest possible sum, are rounded to this many decimals.

So the order in which values are added makes no difference.
"""


def paired_randomisation(a: Sequence[float], b: Sequence[float], *, seed: int = 0, samples: int = 100_000) -> float:
    """Return the two-sided p of the difference between the means of ``a`` and ``b``, paired by topic.

    This is Fisher's test, which Smucker, Allan and Carterette (CIKM 2007) recommend for retrieval. If the systems were
    equal, each topic's two values could be exchanged. p is the share of exchanges whose difference is at least as large
    as the observed one. With fewer than two topics that differ, p is 1.

    The n topics that differ have 2^n exchanges. If these are at most ``samples``, all are counted
    (:func:`scipy.stats.permutation_test`). Otherwise ``samples`` exchanges are drawn, and p = (found + 1) /
    (samples + 1), which is never zero (Phipson and Smyth, 2010). :func:`scipy.stats.monte_carlo_test` draws them: here
    it is ten times as fast as permutation_test.

    Raises :class:`EvaluationError` if the lengths differ, a value is not finite, or ``samples`` is less than 1.
    """
    stats = load_stats()

    if len(a) != len(b):
        raise EvaluationError(
            Text(
                "A paired test needs the same number of values on both sides, got {a_count} and {b_count}.",
                a_count=len(a),
                b_count=len(b),
            )
        )
    if samples < 1:
        raise EvaluationError(Text("A randomisation test needs at least one sample, got {samples}.", samples=samples))
    differences = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise EvaluationError(Text("A value is not finite: a paired test compares finite numbers."))
    differences = differences[np.abs(differences) > _SAME]
    topics = len(differences)
    if topics < 2:
        return 1.0
    weights, random = differences / np.abs(differences).sum(), np.random.default_rng(seed)

    def statistic(signs: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
        sums: npt.NDArray[np.float64] = signs @ weights
        return np.abs(sums).round(_DECIMALS)

    def draw(size: tuple[int, ...]) -> npt.NDArray[np.int8]:
        return 1 - 2 * random.integers(2, size=size, dtype=np.bool_).view(np.int8)

    one_sided = {"alternative": "greater", "vectorized": True, "batch": max(1, _BLOCK // topics)}
    if 2**topics <= samples:
        found = stats.permutation_test(
            (np.ones(topics),), statistic, permutation_type="samples", n_resamples=samples, **one_sided
        )
    else:
        found = stats.monte_carlo_test(np.ones(topics), draw, statistic, n_resamples=samples, **one_sided)
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p values in the given order. Each is compared with the unchanged level of significance.

    The k-th smallest of m values is multiplied by m - k + 1. The result is made no smaller than the one before it and
    no larger than 1 (Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = floor
    return adjusted


class Difference(NamedTuple):
    """Run B compared with run A by one measure: the difference of the means (B - A) with its interval.

    ``p`` is the two-sided p of a paired randomization test. ``p_holm`` is p corrected for all tests of the comparison.
    ``wins`` counts the topics on which B is better.
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
    """Return how run B differs from run A by each measure, in A's order. Holm's correction is over the measures.

    Both runs are measure → qid → value. Raises :class:`EvaluationError` if their measures or topics differ.
    """
    return compare_all(judged_a, {"": judged_b}, seed=seed, level=level)[""]


def compare_all(
    baseline: Mapping[str, Mapping[str, float]],
    others: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, list[Difference]]:
    """Return how each of ``others`` differs from ``baseline``. Holm's correction is over all runs and measures."""
    found = {
        name: [_difference(measure, baseline, other, seed, level) for measure in _shared(baseline, other)]
        for name, other in others.items()
    }
    adjusted = iter(holm([each.p for differences in found.values() for each in differences]))
    return {name: [each._replace(p_holm=next(adjusted)) for each in differences] for name, differences in found.items()}


def over_shared_topics(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the values of both runs for the topics that both have, in A's order. Some measures leave topics out."""
    shared = [qid for qid in a if qid in b]
    return {qid: a[qid] for qid in shared}, {qid: b[qid] for qid in shared}


def largest_changes(a: Mapping[str, float], b: Mapping[str, float], count: int) -> list[Change]:
    """Return the ``count`` topics whose value changed most, the largest change first, ties in the topics' order.

    Half of them are gains and half losses, as far as there are so many. So the gains of a run do not hide its losses.
    """
    changes = [Change(qid, a[qid], b[qid]) for qid in a if abs(b[qid] - a[qid]) > _SAME]
    # Rounded: changes of the same size may be computed in different orders, and are ties.
    changes.sort(key=lambda change: -round(abs(change.b - change.a), 9))
    gains, losses = ([each for each in changes if (each.b > each.a) is gained] for gained in (True, False))
    lost = min(len(losses), max(count // 2, count - len(gains)))
    chosen = {*gains[: count - lost], *losses[:lost]}
    return [each for each in changes if each in chosen]


def _shared(a: Mapping[str, Mapping[str, float]], b: Mapping[str, Mapping[str, float]]) -> list[str]:
    if a.keys() != b.keys():
        raise EvaluationError(
            Text(
                "Runs compare by the same measures, got {first} and {second}.", first=", ".join(a), second=", ".join(b)
            )
        )
    for measure in a:
        if odd := a[measure].keys() ^ b[measure].keys():
            raise EvaluationError(
                Text(
                    "Runs compare over the same topics, and {odd_count} have {measure} in one of them only, "
                    "such as {odd}: judge both with the same judgements.",
                    odd_count=len(odd),
                    measure=measure,
                    odd=min(odd),
                )
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
        raise EvaluationError(Text("{measure} has no topic, so there is nothing to compare.", measure=measure))
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
    """A run's mean by one measure; ``interval`` and ``difference`` are None if they were not requested."""

    mean: float
    interval: Interval | None
    difference: Difference | None


def run_table(
    judged: Mapping[str, TopicScores],
    *,
    intervals: bool = False,
    baseline: str | None = None,
    level: float = 0.95,
) -> dict[str, dict[str, RunCell]]:
    """Return run → measure → cell, in the given order.

    Args:
        judged: Run → measure → qid → value.
        intervals: Whether every mean has an interval.
        baseline: The run that all others are tested against by
            :func:`shrag.evaluation.statistics.comparison.compare_all`; None for no tests.
        level: Confidence level of the intervals.

    Raises:
        EvaluationError: ``baseline`` is not one of the runs, or the runs differ in measures or topics.
    """
    differences: dict[str, list[Difference]] = {}
    if baseline is not None:
        if baseline not in judged:
            raise EvaluationError(Text("{baseline} is not one of the runs: give it as a run.", baseline=baseline))
        others = {name: each for name, each in judged.items() if name != baseline}
        differences = compare_all(judged[baseline], others, level=level)
    return {
        name: {
            measure: RunCell(
                mean,
                mean_interval(list(each[measure].values()), level=level) if intervals else None,
                next((each for each in differences.get(name, ()) if each.measure == measure), None),
            )
            for measure, mean in means(each).items()
        }
        for name, each in judged.items()
    }
