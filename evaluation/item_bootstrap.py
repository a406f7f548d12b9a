"""The bootstrap interval of any figure that is computed from items as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from shrag.evaluation.bootstrap import Interval, check_level

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
