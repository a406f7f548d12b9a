"""Confidence intervals: bootstrap of means and of other figures, Wilson's for proportions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError

_BLOCK = 2**20
"""Numbers drawn at once: memory stays small with thousands of topics."""

_NORMAL = NormalDist()


class Interval(NamedTuple):
    """A confidence interval, in the unit of the values it is of."""

    low: float
    high: float


def check_level(level: float) -> None:
    """Raise :class:`EvaluationError` for what is no confidence level."""
    if not 0 < level < 1:
        raise EvaluationError(f"A confidence level lies between 0 and 1, such as 0.95, got {level}.")


def bootstrap_interval(
    values: Iterable[float], *, seed: int = 0, samples: int = 10_000, level: float = 0.95
) -> Interval:
    """Return the interval of the mean of ``values``, one a topic, whatever their order; the same for the same seed.

    Bias-corrected and accelerated (BCa: Efron, Better Bootstrap Confidence Intervals, JASA 82, 1987; Efron and
    Tibshirani, An Introduction to the Bootstrap, 1993, section 14.3). Values of measures are skewed, with many at 0 or
    1, and the plain percentile interval then lies too close to the crowd; BCa moves both ends by the skew of the
    values. Values that are all the same give an interval without width, which of shares is too sure:
    :func:`shrag.evaluation.statistics.intervals.mean_interval` has another interval for those.
    """
    given = np.sort(_checked(values))
    check_level(level)
    if samples < 1:
        raise EvaluationError(f"A bootstrap needs a sample or more, got {samples}.")
    mean = float(given.mean())
    if given[0] == given[-1]:
        return Interval(mean, mean)
    drawn = np.sort(_means(given, seed, samples))
    tail = (1 - level) / 2
    bias, acceleration = _bias(drawn, mean), _acceleration(given)
    low, high = (_adjusted(share, bias, acceleration) for share in (tail, 1 - tail))
    return Interval(float(np.quantile(drawn, low)), float(np.quantile(drawn, high)))


def _checked(values: Iterable[float]) -> npt.NDArray[np.float64]:
    given = np.fromiter(values, dtype=np.float64)
    if not len(given):
        raise EvaluationError("There is no value, so there is no interval: give one value a topic.")
    if not np.isfinite(given).all():
        raise EvaluationError(f"{given[~np.isfinite(given)][0]} is no value of a measure: give finite numbers.")
    return given


def _means(given: npt.NDArray[np.float64], seed: int, samples: int) -> npt.NDArray[np.float64]:
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(given))
    parts = [
        given[random.integers(0, len(given), size=(min(rows, samples - begun), len(given)))].mean(axis=1)
        for begun in range(0, samples, rows)
    ]
    return np.concatenate(parts)


def _bias(drawn: npt.NDArray[np.float64], mean: float) -> float:
    """Return z0: how far the mean is from the median of the drawn means, ties counted half."""
    close = 1e-12 * max(1.0, abs(mean))
    below, up_to = np.searchsorted(drawn, [mean - close, mean + close])
    share = (below + up_to) / (2 * len(drawn))
    return _NORMAL.inv_cdf(min(max(share, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))


def _acceleration(given: npt.NDArray[np.float64]) -> float:
    """Return a, by the jackknife; of a mean it is the skew of the values over 6 √n."""
    off = given - given.mean()
    return float((off**3).sum() / (6 * (off**2).sum() ** 1.5))


def _adjusted(share: float, bias: float, acceleration: float) -> float:
    shifted = bias + _NORMAL.inv_cdf(share)
    return _NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))


_Item = TypeVar("_Item")

_ENOUGH = 0.9
"""The share of samples that must have the figure: were more left out, the interval would be of the rest."""


def item_interval(
    figure: Callable[[Sequence[_Item]], float | None],
    items: Sequence[_Item],
    *,
    seed: int = 0,
    samples: int = 1_000,
    level: float = 0.95,
) -> Interval | None:
    """Return the percentile interval of ``figure`` over samples of ``items``, drawn with replacement.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3. A sample without the figure is left
    out; None where that is more than a tenth of them, as it is of few items.
    """
    check_level(level)
    random = np.random.default_rng(seed)
    drawn = (
        figure([items[at] for at in random.integers(0, len(items), size=len(items))] if items else [])
        for _ in range(samples if len(items) > 1 else 0)
    )
    found = [value for value in drawn if value is not None]
    if not found or len(found) < _ENOUGH * samples:
        return None
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


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
