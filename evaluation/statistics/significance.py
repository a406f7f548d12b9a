"""Paired randomisation test, and Holm's correction for several tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shrag.evaluation.errors import EvaluationError

_TOGETHER = 12
"""Topics whose signs are drawn as one number: their 4,096 sums stay in the processor's nearest memory."""


def paired_randomisation(a: Sequence[float], b: Sequence[float], *, seed: int = 0, samples: int = 100_000) -> float:
    """Return the two-sided p of the difference between the means of ``a`` and ``b``, paired by their places.

    Were the systems the same, each topic's two values could as well be exchanged: p is the share of exchanges whose
    difference is at least as large as the one seen (Fisher's test; Smucker, Allan and Carterette, CIKM 2007, on why to
    use it for retrieval). All 2^n exchanges are counted where there are no more of them than ``samples``, n being the
    topics that differ; otherwise that many are drawn, and p = (found + 1) / (drawn + 1), which is never zero (Phipson
    and Smyth, 2010).
    """
    if len(a) != len(b):
        raise EvaluationError(f"A paired test needs as many values on each side, got {len(a)} and {len(b)}.")
    if samples < 1:
        raise EvaluationError(f"A randomisation test needs a sample or more, got {samples}.")
    differences = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise EvaluationError("A value is not finite: a paired test compares finite numbers.")
    sizes = np.sort(np.abs(differences[differences != 0]))
    if not len(sizes):
        return 1.0
    # Sums of the same numbers in other orders differ in their last bits: they count as equal.
    seen = abs(float(differences.sum())) - 1e-9 * float(sizes.sum())
    if len(sizes) < 63 and 2 ** len(sizes) <= samples:
        return float(np.mean(np.abs(_every_sum(sizes)) >= seen))
    return (_found(sizes, seen, seed, samples) + 1) / (samples + 1)


def _every_sum(sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return float64[2^n], the sums under every choice of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _found(sizes: npt.NDArray[np.float64], seen: float, seed: int, samples: int) -> int:
    """Return how many of the drawn choices of signs have a sum as large as the one seen.

    Signs are drawn for some topics at a time, by the place of their sum among all their sums.
    """
    random = np.random.default_rng(seed)
    drawn = np.zeros(samples)
    for begin in range(0, len(sizes), _TOGETHER):
        sums = _every_sum(sizes[begin : begin + _TOGETHER])
        drawn += sums[random.integers(0, len(sums), size=samples)]
    return int(np.count_nonzero(np.abs(drawn) >= seen))


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
