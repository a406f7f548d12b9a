"""Pearson, Spearman and Kendall correlation of two annotators' scores, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.intervals import Interval, check_level

_Numbers = npt.NDArray[np.float64]


class Correlation(NamedTuple):
    """A coefficient from -1 to 1; the interval is None where there are too few items for one."""

    coefficient: float
    interval: Interval | None


def pearson(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Pearson's r, how well a line fits; None where the scores of one are all the same.

    The interval is Fisher's: tanh(atanh r ± z / √(n - 3)).
    """
    x, y = _pair(a, b)
    return _with_interval(_pearson(x, y), len(x), level, lambda n, _: 1 / (n - 3))


def spearman(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Spearman's rho, Pearson's r of the ranks, tied scores sharing their mean rank; None as :func:`pearson`.

    The interval is Fisher's with the variance (1 + rho² / 2) / (n - 3) (Bonett and Wright, Sample Size Requirements
    for Estimating Pearson, Kendall and Spearman Correlations, Psychometrika 65, 2000).
    """
    x, y = _pair(a, b)
    return _with_interval(_pearson(_ranks(x), _ranks(y)), len(x), level, lambda n, rho: (1 + rho * rho / 2) / (n - 3))


def kendall(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Kendall's tau-b: pairs of items ordered alike less those ordered otherwise, ties taken out of the rest.

    None as :func:`pearson`. The interval is Fisher's with the variance 0.437 / (n - 4) (Bonett and Wright, 2000).
    Takes time with the square of the number of items: a second for 20,000.
    """
    x, y = _pair(a, b)
    agreement = untied_x = untied_y = 0
    for at in range(len(x) - 1):
        signs_x, signs_y = np.sign(x[at + 1 :] - x[at]), np.sign(y[at + 1 :] - y[at])
        agreement += int((signs_x * signs_y).sum())
        untied_x += int(np.count_nonzero(signs_x))
        untied_y += int(np.count_nonzero(signs_y))
    tau = agreement / sqrt(untied_x * untied_y) if untied_x and untied_y else None
    return _with_interval(tau, len(x), level, lambda n, _: 0.437 / (n - 4))


def _pair(a: Sequence[float], b: Sequence[float]) -> tuple[_Numbers, _Numbers]:
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if len(x) != len(y):
        raise EvaluationError(f"A correlation needs scores of the same items, got {len(x)} and {len(y)}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise EvaluationError("A score is not finite: a correlation is one of finite numbers.")
    return x, y


def _pearson(x: _Numbers, y: _Numbers) -> float | None:
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return None
    off_x, off_y = _off_mean(x), _off_mean(y)
    size = float(np.sqrt((off_x**2).sum())) * float(np.sqrt((off_y**2).sum()))
    return max(-1.0, min(1.0, float((off_x * off_y).sum()) / size)) if size else None


def _off_mean(scores: _Numbers) -> _Numbers:
    # Scaled first: squares of very small or very large scores would leave what a number can hold.
    scaled: _Numbers = scores / np.abs(scores).max()
    return scaled - float(scaled.mean())


def _ranks(scores: _Numbers) -> _Numbers:
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - (counts - 1) / 2)[places]).astype(np.float64) if len(values) else scores


def _with_interval(
    coefficient: float | None, items: int, level: float, variance: Callable[[int, float], float]
) -> Correlation | None:
    check_level(level)
    if coefficient is None:
        return None
    if abs(coefficient) > 1 - 1e-12:  # one but for rounding, of which atanh would make a wide interval
        coefficient = 1.0 if coefficient > 0 else -1.0
    if items < 5:
        return Correlation(coefficient, None)
    if abs(coefficient) == 1:
        return Correlation(coefficient, Interval(coefficient, coefficient))
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance(items, coefficient))
    middle = atanh(coefficient)
    return Correlation(coefficient, Interval(tanh(middle - half), tanh(middle + half)))
