"""Comparison of runs over the same topics: paired randomisation test, Holm's correction, table of several runs."""

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

_BLOCK = 2**20
"""Signs drawn at once: memory stays small with thousands of topics."""

_DECIMALS = 12
"""Sums, as shares of the largest possible one, are rounded to these: the order of adding up makes no difference."""


def paired_randomisation(a: Sequence[float], b: Sequence[float], *, seed: int = 0, samples: int = 100_000) -> float:
    """Return the two-sided p of the difference between the means of ``a`` and ``b``, paired by topic.

    If the systems were equal, each topic's two values could be exchanged: p is the share of exchanges whose difference
    is at least as large as the observed one (Fisher's test; Smucker, Allan and Carterette, CIKM 2007, recommend it for
    retrieval). All 2^n exchanges of the n topics that differ are counted where there are at most ``samples`` of them
    (:func:`scipy.stats.permutation_test`). Otherwise ``samples`` exchanges are drawn, and p = (found + 1) /
    (samples + 1), which is never zero (Phipson and Smyth, 2010; :func:`scipy.stats.monte_carlo_test`, which here is
    ten times as fast as drawing by permutation_test).

    Raises :class:`EvaluationError` where the lengths differ, a value is not finite, or ``samples`` is less than 1.
    """
    stats = load_stats()

    if len(a) != len(b):
        raise EvaluationError(
            Text(
                "A paired test needs as many values on each side, got {a_count} and {b_count}.",
                a_count=len(a),
                b_count=len(b),
            )
        )
    if samples < 1:
        raise EvaluationError(Text("A randomisation test needs a sample or more, got {samples}.", samples=samples))
    differences = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise EvaluationError(Text("A value is not finite: a paired test compares finite numbers."))
    differences = differences[differences != 0]
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
    """Return adjusted p values in the given order; compare each with the level itself.

    The k-th smallest of m is multiplied by m - k + 1, made no smaller than the one before it and no larger than 1
    (Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = floor
    return adjusted


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
    """Return the ``count`` topics whose value changed most, the largest change first, ties in the topics' order.

    Half of them are losses, and half gains, as far as there are so many: a run that wins often does not hide what it
    loses.
    """
    changes = [Change(qid, a[qid], b[qid]) for qid in a if abs(b[qid] - a[qid]) > _SAME]
    # Rounded, since changes of the same size that were computed differently are tied.
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
            raise EvaluationError(Text("{baseline} is not one of the runs: give it as a run.", baseline=baseline))
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
