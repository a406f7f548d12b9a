from __future__ import annotations

import pytest

from shrag.serving.events import Answer, Event, Node, NodeState, Reason, Timings
from shrag.serving.planning.concluding import closing_with

ROOT = Node(0, None, "question", "Why?")


@pytest.mark.parametrize(
    ("found", "reason", "state"),
    [
        (True, None, "answered"),
        (False, None, "unanswered"),
        (False, "", "answered"),
        (True, "nothing_fits", "unanswered"),
    ],
)
def test_the_readers_question_stands_as_it_was_answered_or_else_found(
    found: bool, reason: Reason | None, state: NodeState
) -> None:
    answers: list[Event] = [] if reason is None else [Answer("extractive", "en", (), (), reason)]
    events = list(closing_with(ROOT, [*answers, Timings({})], answered=found))
    assert events == [*answers, Node(0, None, "question", "Why?", state), Timings({})]
