"""Risk and coverage of a system that answers only the questions whose confidence is high enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class RiskPoint(NamedTuple):
    """The questions that are answered if their confidence must be at least ``confidence``.

    Attributes:
        coverage: Their share of all questions.
        confidence: The least confidence.
        answered: Their number.
        wrong: How many of them are answered wrongly.
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
    """Return the risk-coverage curve by increasing coverage, with one point for each distinct confidence.

    The curve is that of El-Yaniv and Wiener, On the Foundations of Noise-free Selective Classification, JMLR 11, 2010.
    The empirical selective risk is that of Geifman and El-Yaniv, Selective Classification for Deep Neural Networks,
    NIPS 2017, with the 0/1 loss. Questions of equal confidence are answered together, so they share a point.

    Args:
        outcomes: A pair (confidence, whether the answer is right) for each question. Every answer to an unanswerable
            question is wrong.
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
    """Return the area under the risk-coverage curve (AURC); None without a question. Lower is better.

    For each n from 1 to the number of questions, take the risk of answering the n most confident questions. The area is
    the mean of these risks (Geifman, Uziel and El-Yaniv, Bias-Reduced Uncertainty Estimation for Deep Neural
    Classifiers, ICLR 2019). Questions of equal confidence count with the expected risk of a random order among them.
    So the order of the questions makes no difference.
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
    """Return at most ``points`` points of a curve.

    The coverage is divided into as many equal steps. The first point of the curve that reaches a step is kept.
    """
    thinned: list[RiskPoint] = []
    for step in range(1, points + 1):
        point = next(each for each in curve if each.coverage * points >= step - 1e-9) if curve else None
        if point is not None and (not thinned or thinned[-1] != point):
            thinned.append(point)
    return thinned
