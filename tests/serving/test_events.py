from __future__ import annotations

import pytest

from shrag.serving.events import Confidence


@pytest.mark.parametrize(
    ("value", "least", "answers"),
    [(0.4, None, True), (0.3, None, False), (0.3, 0.3, True), (0.3, 0.0, True), (0.4, 0.9, False), (0.0, 0.0, True)],
)
def test_a_confidence_answers_from_its_own_threshold_or_the_requests(
    value: float, least: float | None, *, answers: bool
) -> None:
    assert Confidence(value, "medium", (), 0.4).answers(least) is answers
