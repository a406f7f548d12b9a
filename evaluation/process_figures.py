"""Figures of the way to a ranking, beside the measures of the ranking itself: a value for each question."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shrag.evaluation.outcome import Outcome

PROCESS_FIGURES: Mapping[str, Callable[[Outcome], float]] = {
    "collected": lambda outcome: float(outcome.collected),
    "coverage": lambda outcome: float(outcome.relevant_collected > 0),
}
"""``collected``: distinct documents in the pool that is ranked. ``coverage``: 1 where one of them is relevant, else 0:
its mean is the share of questions whose evidence was collected. An experiment's plots name them like measures."""
