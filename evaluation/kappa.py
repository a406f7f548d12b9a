"""Agreement on labels beyond chance: Cohen's kappa of two annotators, Fleiss' of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shrag.evaluation.errors import EvaluationError


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Return (Po - Pe) / (1 - Pe) of two annotators' labels of the same items, in the same order.

    Po is the share of items labelled the same, Pe the share expected were each annotator to draw labels as often as
    they gave them (Cohen, A Coefficient of Agreement for Nominal Scales, 1960). 1 is perfect, 0 is chance; None where
    both gave one label throughout, so that nothing is left to chance.
    """
    if len(a) != len(b) or not a:
        raise EvaluationError(f"Cohen's kappa needs labels of the same items, got {len(a)} and {len(b)}.")
    given_a, given_b = Counter(a), Counter(b)
    same = sum(one == other for one, other in zip(a, b, strict=True))
    chance = sum(given_a[label] * given_b[label] for label in given_a)
    # In whole numbers, so that no rounding makes 1 - Pe a number where it is none.
    return (len(a) * same - chance) / (len(a) ** 2 - chance) if chance != len(a) ** 2 else None


def fleiss_kappa(items: Sequence[Sequence[str]]) -> float | None:
    """Return Fleiss' kappa of items that each have the labels of as many annotators, whoever those are.

    The mean share of agreeing pairs of an item's labels, against that of labels drawn as often as they were given
    over all items (Fleiss, Measuring Nominal Scale Agreement Among Many Raters, 1971). None where all labels are one.
    """
    sizes = {len(labels) for labels in items}
    if len(sizes) != 1 or min(sizes) < 2:
        raise EvaluationError(
            "Fleiss' kappa needs as many labels of each item, two or more: leave out the items that lack some."
        )
    raters = sizes.pop()
    counts = [Counter(labels) for labels in items]
    pairs = sum(count * (count - 1) for labels in counts for count in labels.values())
    observed = pairs / (len(items) * raters * (raters - 1))
    total = Counter(label for labels in items for label in labels)
    if len(total) == 1:
        return None
    chance = sum((count / total.total()) ** 2 for count in total.values())
    return (observed - chance) / (1 - chance)
