"""Agreement between annotators: kappa, alpha and correlations, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.annotations import Annotations
from shrag.evaluation.statistics.intervals import Interval, check_level, item_interval
from shrag.evaluation.statistics.scipy_stats import load_stats
from shrag.messages.text import Text


class Correlation(NamedTuple):
    """A coefficient from -1 to 1, with its interval; None with too few items for an interval."""

    coefficient: float
    interval: Interval | None


def pearson(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Pearson's r, computed by SciPy.

    None for fewer than two items, or if the scores of one side are all equal. The interval is Fisher's:
    tanh(atanh r ± z / √(n - 3)). There is none for fewer than five items.
    """
    return _correlate("pearsonr", a, b, level, lambda n, _: 1 / (n - 3))


def spearman(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Spearman's rho, computed by SciPy, or None as :func:`pearson` does. Tied scores share their mean rank.

    The interval is Fisher's with the variance (1 + rho² / 2) / (n - 3) (Bonett and Wright, Sample Size Requirements
    for Estimating Pearson, Kendall and Spearman Correlations, Psychometrika 65, 2000).
    """
    return _correlate("spearmanr", a, b, level, lambda n, rho: (1 + rho * rho / 2) / (n - 3))


def kendall(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> Correlation | None:
    """Return Kendall's tau-b, computed by SciPy, or None as :func:`pearson` does.

    The interval is Fisher's with the variance 0.437 / (n - 4) (Bonett and Wright, 2000).
    """
    return _correlate("kendalltau", a, b, level, lambda n, _: 0.437 / (n - 4))


def _correlate(
    name: str, a: Sequence[float], b: Sequence[float], level: float, variance: Callable[[int, float], float]
) -> Correlation | None:
    stats = load_stats()

    check_level(level)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if len(x) != len(y):
        raise EvaluationError(
            Text(
                "A correlation needs scores of the same items, got {x_count} and {y_count}.",
                x_count=len(x),
                y_count=len(y),
            )
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise EvaluationError(Text("A score is not finite: a correlation is one of finite numbers."))
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    coefficient = float(getattr(stats, name)(x, y).statistic)
    if abs(coefficient) > 1 - 1e-12:  # 1 except for rounding, for which atanh would give a wide interval
        coefficient = 1.0 if coefficient > 0 else -1.0
    if len(x) < 5:
        return Correlation(coefficient, None)
    if abs(coefficient) == 1:
        return Correlation(coefficient, Interval(coefficient, coefficient))
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance(len(x), coefficient))
    middle = atanh(coefficient)
    return Correlation(coefficient, Interval(tanh(middle - half), tanh(middle + half)))


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Return Cohen's kappa of two annotators' labels of the same items, in the same order.

    Kappa is (Po - Pe) / (1 - Pe). Po is the share of items with the same label. Pe is the share to expect if each
    annotator drew labels at random, each label as often as they gave it (Cohen, A Coefficient of Agreement for Nominal
    Scales, 1960). 1 is perfect, 0 is chance. None if both gave the same label throughout.
    """
    if len(a) != len(b) or not a:
        raise EvaluationError(
            Text(
                "Cohen's kappa needs labels of the same items, got {a_count} and {b_count}.",
                a_count=len(a),
                b_count=len(b),
            )
        )
    given_a, given_b = Counter(a), Counter(b)
    same = sum(one == other for one, other in zip(a, b, strict=True))
    chance = sum(given_a[label] * given_b[label] for label in given_a)
    # In whole numbers: rounding could make 1 - Pe a small number where it is 0.
    return (len(a) * same - chance) / (len(a) ** 2 - chance) if chance != len(a) ** 2 else None


def fleiss_kappa(items: Sequence[Sequence[str]]) -> float | None:
    """Return Fleiss' kappa of items that all have the same number of labels, by any annotators.

    Kappa is (PA - PE) / (1 - PE), with PA of :func:`proportional_agreement` and PE of :func:`chance_agreement` (Fleiss,
    Measuring Nominal Scale Agreement Among Many Raters, 1971). None if all labels are the same.
    """
    observed, chance = proportional_agreement(items), chance_agreement(items)
    return (observed - chance) / (1 - chance) if len({label for labels in items for label in labels}) > 1 else None


def proportional_agreement(items: Sequence[Sequence[str]]) -> float:
    """Return PA, the mean share of agreeing pairs among the labels of an item.

    All items must have the same number of labels, at least two.
    """
    sizes = {len(labels) for labels in items}
    if len(sizes) != 1 or min(sizes) < 2:
        raise EvaluationError(
            Text(
                "Fleiss' kappa needs the same number of labels for each item, two or more: leave out the items "
                "that lack some."
            )
        )
    raters = sizes.pop()
    pairs = sum(count * (count - 1) for labels in items for count in Counter(labels).values())
    return pairs / (len(items) * raters * (raters - 1))


def chance_agreement(items: Sequence[Sequence[str]]) -> float:
    """Return PE, the agreement to expect of labels drawn at random, each as often as it was given over all items."""
    total = Counter(label for labels in items for label in labels)
    return sum((count / total.total()) ** 2 for count in total.values())


_Value = TypeVar("_Value", bound=Hashable)

Scale = Literal["ordinal", "interval"]


def krippendorff_alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Return Krippendorff's alpha of labels. Items with fewer than two labels are left out.

    Alpha is 1 - Do / De. Do is the disagreement between values of the same item, De that between all values
    (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011). 1 is perfect, 0 is chance. None if no item has two
    values, or if all values are the same.
    """
    return _alpha(items, lambda _: lambda one, other: float(one != other))


def krippendorff_alpha_of_scores(items: Sequence[Sequence[float]], scale: Scale) -> float | None:
    """Return Krippendorff's alpha of scores, as :func:`krippendorff_alpha` does, with the distance of ``scale``.

    The distance of two scores is that of their ranks (ordinal), or their squared difference (interval).
    """
    if scale == "ordinal":
        return _alpha(items, _ordinal)
    return _alpha(items, lambda _: lambda one, other: (one - other) ** 2)


def _ordinal(total: Mapping[float, int]) -> Callable[[float, float], float]:
    """Return a distance: the squared number of given values between two, counting half of those at either end."""
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
    """Return the sum of the distances of all ordered pairs of values."""
    return sum(
        count * other_count * distance(one, other)
        for one, count in values.items()
        for other, other_count in values.items()
        if one != other
    )


_Item = TypeVar("_Item")

_CORRELATIONS: dict[str, Callable[..., Correlation | None]] = {
    "Pearson's r": pearson,
    "Spearman's rho": spearman,
    "Kendall's tau-b": kendall,
}


class Agreement(NamedTuple):
    """One statistic over ``items`` items.

    ``value`` is None if the statistic is undefined, such as when all labels are the same.
    """

    statistic: str
    annotators: tuple[str, ...]
    items: int
    value: float | None
    interval: Interval | None


def agreement(given: Annotations, *, level: float = 0.95) -> list[Agreement]:
    """Return the statistics of labels, or of scores.

    - Labels: Krippendorff's alpha (nominal) over the items with at least two labels; Fleiss' kappa, PA and PE over the
      items that all annotators labeled; Cohen's kappa of each pair of annotators.
    - Scores: Krippendorff's alpha (ordinal and interval); Pearson, Spearman and Kendall of each pair of annotators.

    The intervals of correlations are Fisher's; all others are bootstrapped over items. Raises :class:`EvaluationError`
    for fewer than two annotators.
    """
    if len(given.annotators()) < 2:
        raise EvaluationError(
            Text("Agreement is measured between annotators, and there is only one: give the lines of two or more.")
        )
    return list(_of_scores(given, level) if given.scored else _of_labels(given, level))


def _of_labels(given: Annotations, level: float) -> Iterator[Agreement]:
    everyone = tuple(given.annotators())
    several = [tuple(labels.values()) for labels in given.labels.values() if len(labels) > 1]
    complete = [tuple(given.labels[item][who] for who in everyone) for item in given.shared(everyone)]
    yield _bootstrapped("Krippendorff's alpha (nominal)", everyone, several, krippendorff_alpha, level)
    yield _bootstrapped("Fleiss' kappa", everyone, complete, fleiss_kappa, level)
    yield _bootstrapped("Proportional agreement (PA)", everyone, complete, proportional_agreement, level)
    yield _bootstrapped("Agreement by chance (PE)", everyone, complete, chance_agreement, level)
    for one, other in combinations(everyone, 2):
        both = [(given.labels[item][one], given.labels[item][other]) for item in given.shared((one, other))]
        yield _bootstrapped("Cohen's kappa", (one, other), both, _cohen_of_pairs, level)


def _of_scores(given: Annotations, level: float) -> Iterator[Agreement]:
    everyone, scores = tuple(given.annotators()), given.scores()
    several = [tuple(values.values()) for values in scores.values() if len(values) > 1]
    for scale in get_args(Scale):
        compute = partial(krippendorff_alpha_of_scores, scale=scale)
        yield _bootstrapped(f"Krippendorff's alpha ({scale})", everyone, several, compute, level)
    for pair in combinations(everyone, 2):
        items = given.shared(pair)
        a, b = ([scores[item][who] for item in items] for who in pair)
        for name, correlate in _CORRELATIONS.items():
            found = correlate(a, b, level=level)
            yield Agreement(name, pair, len(items), *(found if found else (None, None)))


def _bootstrapped(
    figure: str,
    annotators: tuple[str, ...],
    items: Sequence[_Item],
    compute: Callable[[Sequence[_Item]], float | None],
    level: float,
) -> Agreement:
    value = compute(items) if items else None
    interval = None if value is None else item_interval(compute, items, level=level)
    return Agreement(figure, annotators, len(items), value, interval)


def _cohen_of_pairs(pairs: Sequence[tuple[str, str]]) -> float | None:
    return cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
