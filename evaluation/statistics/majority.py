"""Correlate a judge's metrics with the majority vote of annotators (Tree-of-Question paper, appendix D)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.agreement import Correlation, pearson, spearman
from shrag.evaluation.statistics.annotations import Annotations
from shrag.messages.text import Text

_TRUE = frozenset({"true", "yes", "1", "valid", "참", "예", "유효"})
_FALSE = frozenset({"false", "no", "0", "invalid", "거짓", "아니요", "무효"})


class Majority(NamedTuple):
    """The verdict of most annotators on each item, and the number of items with as many votes for yes as for no."""

    verdicts: dict[str, bool]
    ties: int


class MetricCorrelation(NamedTuple):
    """The correlations of one metric with the majority over ``items`` items; None if one of the two does not vary."""

    metric: str
    items: int
    pearson: Correlation | None
    spearman: Correlation | None


def majority_votes(given: Annotations) -> Majority:
    """Return the majority vote on each item. Every label must mean true or false.

    Raises :class:`EvaluationError` for scores, and for a label that means neither.
    """
    if given.scored:
        raise EvaluationError(
            Text("A majority can be taken of labels only, and the file has scores: write true or false as labels.")
        )
    verdicts: dict[str, bool] = {}
    ties = 0
    for item, labels in given.labels.items():
        votes = Counter(_read(item, label) for label in labels.values())
        if votes[True] == votes[False]:
            ties += bool(votes)
        else:
            verdicts[item] = votes[True] > votes[False]
    return Majority(verdicts, ties)


def correlate_with_majority(
    verdicts: Mapping[str, bool], metrics: Mapping[str, Mapping[str, float]], *, level: float = 0.95
) -> list[MetricCorrelation]:
    """Return the correlation of each metric (name → item → value) with the verdicts, over the items that have both.

    Raises :class:`EvaluationError` if a metric and the verdicts have fewer than two items in common.
    """
    found = []
    for name, values in metrics.items():
        items = [item for item in verdicts if item in values]
        if len(items) < 2:
            raise EvaluationError(
                Text(
                    "The metric {name} and the annotations have {items_count} items in common: name items "
                    "alike in both.",
                    name=name,
                    items_count=len(items),
                )
            )
        a, b = [values[item] for item in items], [float(verdicts[item]) for item in items]
        found.append(MetricCorrelation(name, len(items), pearson(a, b, level=level), spearman(a, b, level=level)))
    return found


def _read(item: str, label: str) -> bool:
    word = label.casefold()
    if word not in _TRUE | _FALSE:
        raise EvaluationError(
            Text(
                "The label {label!r} of {item} is neither true nor false: write one of the two.", label=label, item=item
            )
        )
    return word in _TRUE
