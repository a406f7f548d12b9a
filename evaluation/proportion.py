"""Intervals of means, with care for those that are shares: of 25 questions, all 25 answered is not certainty."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

from shrag.evaluation.bootstrap import Interval, bootstrap_interval, check_level
from shrag.evaluation.errors import EvaluationError


def mean_interval(values: Sequence[float], *, seed: int = 0, level: float = 0.95) -> Interval:
    """Return the confidence interval of the mean of ``values``, one a topic.

    Values that are all 0 or 1 (QSR, Success) are a share and get :func:`wilson_interval`: a bootstrap of 25 successes
    draws 25 successes each time and would claim [1, 1]. All others get the bootstrap's.
    """
    if len(values) and all(value in (0.0, 1.0) for value in values):
        return wilson_interval(int(sum(values)), len(values), level=level)
    return bootstrap_interval(values, seed=seed, level=level)


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Return the score interval of a share (Wilson, JASA 22, 1927), which stays inside [0, 1] and is never a point.

    Brown, Cai and DasGupta (Interval Estimation for a Binomial Proportion, 2001) recommend it for few trials.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise EvaluationError(f"{successes} of {trials} is no share: count successes among one trial or more.")
    check_level(level)
    share, square = successes / trials, NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = sqrt(square * (share * (1 - share) / trials + square / (4 * trials**2))) / (1 + square / trials)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))
