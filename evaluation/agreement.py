"""How far annotators agree: every figure that fits what they gave, with its interval and the items it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeVar

from shrag.evaluation.annotations import Annotations
from shrag.evaluation.bootstrap import Interval
from shrag.evaluation.correlation import Correlation, kendall, pearson, spearman
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.item_bootstrap import item_interval
from shrag.evaluation.kappa import cohen_kappa, fleiss_kappa
from shrag.evaluation.krippendorff import Scale, krippendorff_alpha, krippendorff_alpha_of_scores

_Item = TypeVar("_Item")

_SCALES: tuple[Scale, ...] = ("ordinal", "interval")

_CORRELATIONS: dict[str, Callable[..., Correlation | None]] = {
    "Pearson's r": pearson,
    "Spearman's rho": spearman,
    "Kendall's tau-b": kendall,
}


class Agreement(NamedTuple):
    """One figure over ``items`` items. ``value`` is None where it is not defined, such as all labels being one."""

    figure: str
    annotators: tuple[str, ...]
    items: int
    value: float | None
    interval: Interval | None


def agreement(given: Annotations, *, seed: int = 0, level: float = 0.95) -> list[Agreement]:
    """Return the figures of labels, or of scores.

    Labels: Krippendorff's alpha (nominal) over the items with two labels or more, Fleiss' kappa over those that all
    annotators labelled, Cohen's kappa of each two annotators. Scores: alpha by ranks (ordinal) and by differences
    (interval), then Pearson, Spearman and Kendall of each two. Intervals of alpha and kappa are bootstrapped over
    items, those of correlations are Fisher's.
    """
    if len(given.annotators()) < 2:
        raise EvaluationError("Agreement is between annotators, and there is one only: give the lines of two or more.")
    return list(_of_scores(given, level, seed) if given.scored else _of_labels(given, level, seed))


def _of_labels(given: Annotations, level: float, seed: int) -> Iterator[Agreement]:
    everyone = tuple(given.annotators())
    several = [tuple(labels.values()) for labels in given.labels.values() if len(labels) > 1]
    complete = [tuple(given.labels[item][who] for who in everyone) for item in given.shared(everyone)]
    yield _bootstrapped("Krippendorff's alpha (nominal)", everyone, several, krippendorff_alpha, level, seed)
    yield _bootstrapped("Fleiss' kappa", everyone, complete, fleiss_kappa, level, seed)
    for one, other in combinations(everyone, 2):
        both = [(given.labels[item][one], given.labels[item][other]) for item in given.shared((one, other))]
        yield _bootstrapped("Cohen's kappa", (one, other), both, _cohen_of_pairs, level, seed)


def _of_scores(given: Annotations, level: float, seed: int) -> Iterator[Agreement]:
    everyone, scores = tuple(given.annotators()), given.scores()
    several = [tuple(values.values()) for values in scores.values() if len(values) > 1]
    for scale in _SCALES:
        compute = partial(krippendorff_alpha_of_scores, scale=scale)
        yield _bootstrapped(f"Krippendorff's alpha ({scale})", everyone, several, compute, level, seed)
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
    seed: int,
) -> Agreement:
    value = compute(items) if items else None
    interval = None if value is None else item_interval(compute, items, seed=seed, level=level)
    return Agreement(figure, annotators, len(items), value, interval)


def _cohen_of_pairs(pairs: Sequence[tuple[str, str]]) -> float | None:
    return cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
