"""Figures of the way to a ranking, beside the measures of the ranking itself: a value for each question.

Measures are of the ranking, which is cut at k; these are of the pool it was made from, which is not. ``pool_recall``
is what the y-axis of the SHRAG paper's figure 3 shows, ``pool_success`` its equation 6 over the whole pool
(query_success.py has both for a ranking).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shrag.evaluation.outcome import Outcome


def _recall(outcome: Outcome) -> float:
    return outcome.relevant_collected / len(outcome.relevant) if outcome.relevant else 0.0


PROCESS_FIGURES: Mapping[str, Callable[[Outcome], float]] = {
    "collected": lambda outcome: float(outcome.collected),
    "pool_recall": _recall,
    "pool_success": lambda outcome: float(outcome.relevant_collected > 0),
}
"""``collected``: distinct documents in the pool that is ranked. ``pool_recall``: the share of the relevant ones that
are among them. ``pool_success``: 1 where at least one is, else 0. An experiment's plots name them like measures."""
