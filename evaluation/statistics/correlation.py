"""Pearson, Spearman and Kendall correlation of two annotators' scores, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.intervals import Interval, check_level


class Correlation(NamedTuple):
    """A coefficient from -1 to 1; the interval is None where there are too few items for one."""

    coefficient: float
    interval: Interval | None


def pearson(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Pearson's r, computed by SciPy; None where the scores of one side are all equal.

    The interval is Fisher's: tanh(atanh r ± z / √(n - 3)). There is none for fewer than five items.
    """
    return _correlate("pearsonr", a, b, level, lambda n, _: 1 / (n - 3))


def spearman(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Spearman's rho, computed by SciPy, tied scores sharing their mean rank; None as :func:`pearson`.

    The interval is Fisher's with the variance (1 + rho² / 2) / (n - 3) (Bonett and Wright, Sample Size Requirements
    for Estimating Pearson, Kendall and Spearman Correlations, Psychometrika 65, 2000).
    """
    return _correlate("spearmanr", a, b, level, lambda n, rho: (1 + rho * rho / 2) / (n - 3))


def kendall(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Kendall's tau-b, computed by SciPy; None as :func:`pearson`.

    The interval is Fisher's with the variance 0.437 / (n - 4) (Bonett and Wright, 2000).
    """
    return _correlate("kendalltau", a, b, level, lambda n, _: 0.437 / (n - 4))


def _correlate(
    name: str, a: Sequence[float], b: Sequence[float], level: float, variance: Callable[[int, float], float]
) -> Correlation | None:
    from scipy import stats

    check_level(level)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if len(x) != len(y):
        raise EvaluationError(f"A correlation needs scores of the same items, got {len(x)} and {len(y)}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise EvaluationError("A score is not finite: a correlation is one of finite numbers.")
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    coefficient = float(getattr(stats, name)(x, y).statistic)
    if abs(coefficient) > 1 - 1e-12:  # one but for rounding, of which atanh would make a wide interval
        coefficient = 1.0 if coefficient > 0 else -1.0
    if len(x) < 5:
        return Correlation(coefficient, None)
    if abs(coefficient) == 1:
        return Correlation(coefficient, Interval(coefficient, coefficient))
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance(len(x), coefficient))
    middle = atanh(coefficient)
    return Correlation(coefficient, Interval(tanh(middle - half), tanh(middle + half)))
