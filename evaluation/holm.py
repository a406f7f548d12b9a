"""Holm's correction: p values of several tests, so that not one of many is significant by chance alone."""

from __future__ import annotations

from collections.abc import Sequence


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
