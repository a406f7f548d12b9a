"""Confidence intervals: bootstrap of means and of other figures, Wilson's for proportions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.scipy_stats import load_stats
from shrag.messages.text import Text

_BLOCK = 2**20
"""Numbers drawn at once: memory stays small with thousands of topics."""

_DECIMALS = 12
"""Means are rounded to these, so that means of the same values added up in another order are ties."""


class Interval(NamedTuple):
    """A confidence interval, in the unit of its values."""

    low: float
    high: float


def check_level(level: float) -> None:
    """Raise :class:`EvaluationError` where ``level`` is not between 0 and 1."""
    if not 0 < level < 1:
        raise EvaluationError(Text("A confidence level lies between 0 and 1, such as 0.95, got {level}.", level=level))


def bootstrap_interval(
    values: Iterable[float], *, seed: int = 0, samples: int = 10_000, level: float = 0.95
) -> Interval:
    """Return the bias-corrected and accelerated (BCa) bootstrap interval of the mean of ``values``, one for each topic.

    Efron, Better Bootstrap Confidence Intervals, JASA 82, 1987; computed by :func:`scipy.stats.bootstrap`. Values of
    measures are skewed, with many at 0 or 1. The percentile interval is then too close to where most values are; BCa
    corrects both ends by the skew. The order of the values makes no difference. The interval has no width where all
    values are equal, which overstates the certainty of a proportion: :func:`mean_interval` has another interval for
    those.

    Raises :class:`EvaluationError` for no value, one that is not finite, and ``samples`` or ``level`` out of range.
    """
    stats = load_stats()

    given = np.sort(_checked(values))
    check_level(level)
    if samples < 1:
        raise EvaluationError(Text("A bootstrap needs a sample or more, got {samples}.", samples=samples))
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
        raise EvaluationError(Text("There is no value, so there is no interval: give one value a topic."))
    if not np.isfinite(given).all():
        raise EvaluationError(
            Text("{given} is no value of a measure: give finite numbers.", given=given[~np.isfinite(given)][0])
        )
    return given


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

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3. Samples for which the figure is
    undefined are left out; None where these are more than a tenth.
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
    """Return the confidence interval of the mean of ``values``, one for each topic.

    Values that are all 0 or 1 (QSR, Success) are a proportion and get :func:`wilson_interval`: a bootstrap of 25
    successes draws 25 successes each time and would give [1, 1]. All others get :func:`bootstrap_interval`.
    """
    if len(values) and all(value in (0.0, 1.0) for value in values):
        return wilson_interval(int(sum(values)), len(values), level=level)
    return bootstrap_interval(values, seed=seed, level=level)


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson, JASA 22, 1927), which stays inside [0, 1] and has a width.

    Brown, Cai and DasGupta (Interval Estimation for a Binomial Proportion, 2001) recommend it for few trials. Raises
    :class:`EvaluationError` where there is no trial, or ``successes`` is not between 0 and ``trials``.
    """
    stats = load_stats()

    if not 0 <= successes <= trials or trials < 1:
        raise EvaluationError(
            Text(
                "{successes} of {trials} is no share: count successes among one trial or more.",
                successes=successes,
                trials=trials,
            )
        )
    check_level(level)
    found = stats.binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), float(found.high))
