"""Krippendorff's alpha: agreement of any number of annotators, on labels or on scores, with values missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, TypeVar

_Value = TypeVar("_Value", bound=Hashable)

Scale = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Return alpha of labels; an item with fewer than two of them says nothing and is left out.

    1 - Do / De: the disagreement seen between values of one item, over that between all values whichever item they
    are of (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011). 1 is perfect, 0 is chance; None where
    there is no pair of values, or all values are the same.
    """
    return _alpha(items, _nominal)


def krippendorff_alpha_of_scores(items: Sequence[Sequence[float]], scale: Scale = "interval") -> float | None:
    """Return alpha of scores, as :func:`krippendorff_alpha` does.

    They differ as labels do (nominal), by their ranks (ordinal) or by their squared differences (interval).
    """
    if scale == "nominal":
        return _alpha(items, _nominal)
    if scale == "ordinal":
        return _alpha(items, _ordinal)
    return _alpha(items, lambda _: lambda one, other: (one - other) ** 2)


def _nominal(_: Mapping[_Value, int]) -> Callable[[_Value, _Value], float]:
    return lambda one, other: float(one != other)


def _ordinal(total: Mapping[float, int]) -> Callable[[float, float], float]:
    """Return the square of how many values lie between two, those at either end counted half."""
    middle, below = dict[float, float](), 0
    for value in sorted(total):
        middle[value] = below + total[value] / 2
        below += total[value]
    return lambda one, other: (middle[one] - middle[other]) ** 2


def _alpha(
    items: Sequence[Sequence[_Value]],
    metric: Callable[[Mapping[_Value, int]], Callable[[_Value, _Value], float]],
) -> float | None:
    paired = [Counter(values) for values in items if len(values) > 1]
    total = sum(paired, Counter[_Value]())
    distance = metric(total)
    within = sum(_disagreement(values, distance) / (values.total() - 1) for values in paired)
    overall = _disagreement(total, distance)
    return 1 - (total.total() - 1) * within / overall if overall else None


def _disagreement(values: Counter[_Value], distance: Callable[[_Value, _Value], float]) -> float:
    """Return the distances of all ordered pairs of values, added up."""
    return sum(
        count * other_count * distance(one, other)
        for one, count in values.items()
        for other, other_count in values.items()
        if one != other
    )
