"""Risk and coverage of answering only the questions whose confidence is high enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class RiskPoint(NamedTuple):
    """The questions answered where the least confidence is ``confidence``.

    ``coverage`` is their share of all questions, ``answered`` their number, ``wrong`` how many of them are answered
    wrongly.
    """

    coverage: float
    confidence: float
    answered: int
    wrong: int

    @property
    def risk(self) -> float:
        """The selective risk: the share of the answered questions that are answered wrongly."""
        return self.wrong / self.answered


def risk_coverage(outcomes: Iterable[tuple[float, bool]]) -> list[RiskPoint]:
    """Return the risk-coverage curve, by increasing coverage: one point for each distinct confidence.

    El-Yaniv and Wiener, On the Foundations of Noise-free Selective Classification, JMLR 11, 2010; the empirical
    selective risk is that of Geifman and El-Yaniv, Selective Classification for Deep Neural Networks, NIPS 2017, with
    the 0/1 loss. Questions of equal confidence are answered together, so they share a point.

    Args:
        outcomes: A pair (confidence, whether the answer is right) for each question. An unanswerable question is
            answered wrongly whatever the answer is.
    """
    ordered = sorted(outcomes, key=lambda outcome: -outcome[0])
    points: list[RiskPoint] = []
    answered = wrong = 0
    for confidence, group in groupby(ordered, key=lambda outcome: outcome[0]):
        rights = [right for _, right in group]
        answered += len(rights)
        wrong += rights.count(False)
        points.append(RiskPoint(answered / len(ordered), confidence, answered, wrong))
    return points


def area_under_risk(curve: Sequence[RiskPoint]) -> float | None:
    """Return the area under the risk-coverage curve (AURC), lower is better; None without a question.

    The mean, over n from 1 to the number of questions, of the risk of answering the n most confident ones (Geifman,
    Uziel and El-Yaniv, Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, ICLR 2019). Questions of equal
    confidence count with the expected risk of a random order among them, so the order of the questions makes no
    difference.
    """
    if not curve:
        return None
    total = 0.0
    answered = wrong = 0
    for point in curve:
        size = point.answered - answered
        rate = (point.wrong - wrong) / size
        total += sum((wrong + rate * more) / (answered + more) for more in range(1, size + 1))
        answered, wrong = point.answered, point.wrong
    return total / answered


def thin_curve(curve: Sequence[RiskPoint], points: int = 10) -> list[RiskPoint]:
    """Return at most ``points`` points of a curve: the first that reaches each of as many equal steps of coverage."""
    thinned: list[RiskPoint] = []
    for step in range(1, points + 1):
        point = next(each for each in curve if each.coverage * points >= step - 1e-9) if curve else None
        if point is not None and (not thinned or thinned[-1] != point):
            thinned.append(point)
    return thinned
