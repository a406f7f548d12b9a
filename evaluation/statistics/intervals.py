"""Confidence intervals: by bootstrap for means and other figures, Wilson's for proportions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.scipy_stats import load_stats
from shrag.messages.text import Text

_BLOCK = 2**20
"""Number of values drawn at once, so that thousands of topics need little memory."""

_DECIMALS = 12
"""Means are rounded to this many decimals, so that adding the same values in another order gives a tie."""


class Interval(NamedTuple):
    """A confidence interval, in the unit of its values."""

    low: float
    high: float


def check_level(level: float) -> None:
    """Raise :class:`EvaluationError` if ``level`` is not between 0 and 1."""
    if not 0 < level < 1:
        raise EvaluationError(Text("A confidence level lies between 0 and 1, such as 0.95, got {level}.", level=level))


def bootstrap_interval(
    values: Iterable[float], *, seed: int = 0, samples: int = 10_000, level: float = 0.95
) -> Interval:
    """Return the bias-corrected and accelerated (BCa) bootstrap interval of the mean of ``values``, one for each topic.

    The method is Efron's (Better Bootstrap Confidence Intervals, JASA 82, 1987), computed by
    :func:`scipy.stats.bootstrap`. Values of measures are skewed, with many at 0 or 1. The percentile interval is then
    too close to where most values are. BCa corrects both ends by the skew. The order of the values makes no difference.
    If all values are equal, the interval has no width. That overstates the certainty of a proportion, so
    :func:`mean_interval` uses another interval for proportions.

    Raises :class:`EvaluationError` if there is no value, a value is not finite, or ``samples`` or ``level`` is out of
    range.
    """
    stats = load_stats()

    given = np.sort(_checked(values))
    check_level(level)
    if samples < 1:
        raise EvaluationError(Text("A bootstrap needs at least one sample, got {samples}.", samples=samples))
    if np.ptp(given) <= len(given) * 10.0**-_DECIMALS:
        return Interval(float(given.mean()), float(given.mean()))
    found = stats.bootstrap(
        (given,),
        lambda drawn, axis: np.mean(drawn, axis=axis).round(_DECIMALS),
        n_resamples=samples,
        batch=max(1, _BLOCK // len(given)),
        vectorized=True,
        confidence_level=level,
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    return Interval(*map(float, found.confidence_interval))


def _checked(values: Iterable[float]) -> npt.NDArray[np.float64]:
    given = np.fromiter(values, dtype=np.float64)
    if not len(given):
        raise EvaluationError(Text("There is no value, so no interval can be computed: give one value for each topic."))
    if not np.isfinite(given).all():
        raise EvaluationError(
            Text("{given} is not a value of a measure: give finite numbers.", given=given[~np.isfinite(given)][0])
        )
    return given


_Item = TypeVar("_Item")

_ENOUGH = 0.9
"""The least share of samples for which the figure must be defined. With fewer, the interval would be of those only."""


def item_interval(
    figure: Callable[[Sequence[_Item]], float | None],
    items: Sequence[_Item],
    *,
    seed: int = 0,
    samples: int = 1_000,
    level: float = 0.95,
) -> Interval | None:
    """Return the percentile interval of ``figure`` over samples of ``items``, drawn with replacement.

    The method is in Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3. Samples for which the
    figure is undefined (None) are left out. The result is None if these are more than a tenth, or if there are fewer
    than two items.
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
    """Return the confidence interval of the mean of ``values``, one for each topic, on a scale from 0 to 1.

    Values that are all 0 or 1 (QSR, Success) are a proportion and get :func:`wilson_interval`. A bootstrap of 25
    successes draws 25 successes each time and would give [1, 1]. All other values get :func:`bootstrap_interval`, which
    is also the one for values of another scale, because values of it that happen to be 1 are not a proportion.
    """
    if len(values) and all(value in (0.0, 1.0) for value in values):
        return wilson_interval(int(sum(values)), len(values), level=level)
    return bootstrap_interval(values, seed=seed, level=level)


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson, JASA 22, 1927).

    The interval stays inside [0, 1] and always has a width. Brown, Cai and DasGupta (Interval Estimation for a Binomial
    Proportion, 2001) recommend it for few trials. Raises :class:`EvaluationError` if there is no trial, or if
    ``successes`` is not between 0 and ``trials``.
    """
    stats = load_stats()

    if not 0 <= successes <= trials or trials < 1:
        raise EvaluationError(
            Text(
                "{successes} of {trials} is not a share: count successes among at least one trial.",
                successes=successes,
                trials=trials,
            )
        )
    check_level(level)
    found = stats.binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), float(found.high))
