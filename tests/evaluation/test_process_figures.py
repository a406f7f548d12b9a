from __future__ import annotations

import pytest

from shrag.evaluation.outcome import Outcome, Relevant
from shrag.evaluation.process_figures import PROCESS_FIGURES

TWO = (Relevant("a", 1, 1), Relevant("b", 1, None))


@pytest.mark.parametrize(
    ("outcome", "collected", "recall", "success"),
    [
        (Outcome("q", collected=30, relevant_collected=2, relevant=TWO), 30.0, 1.0, 1.0),
        (Outcome("q", collected=30, relevant_collected=1, relevant=TWO), 30.0, 0.5, 1.0),
        (Outcome("q", collected=30, relevant=TWO), 30.0, 0.0, 0.0),
        (Outcome("q", relevant=TWO, error="too long"), 0.0, 0.0, 0.0),
        # Judged, and nothing of it relevant: nothing can be found, as trec_eval counts it.
        (Outcome("q", collected=30), 30.0, 0.0, 0.0),
    ],
)
def test_figures_are_of_the_whole_pool(outcome: Outcome, collected: float, recall: float, success: float) -> None:
    assert {name: figure(outcome) for name, figure in PROCESS_FIGURES.items()} == {
        "collected": collected,
        "pool_recall": recall,
        "pool_success": success,
    }
