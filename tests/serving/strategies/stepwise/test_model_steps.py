from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.request import Question
from shrag.serving.strategies.stepwise.model_steps import (
    SubQuestion,
    plan_substeps,
    solve_step,
    write_logical_query,
    write_passage,
    write_principle,
)

QUESTION = Question("How far do the waves reach?", "en")
STEP = SubQuestion("How high are they?", "height of waves")


class _Model:
    """Replies as it is told to, and keeps how many tokens it may write."""

    name = "fake"

    def __init__(self, reply: object) -> None:
        self._reply = json.dumps(reply)
        self.most: list[int] = []

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        self.most.append(max_tokens)
        return Completion(self._reply, "stop", 1, 1, 0.0, 0.0)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("ask", "reply", "tokens"),
    [
        (lambda model: plan_substeps(QUESTION, 5, model), {"steps": [STEP._asdict()]}, 768),
        (lambda model: write_logical_query(STEP, QUESTION, model), {"explanation": "Tides."}, 384),
        (lambda model: write_principle(STEP, QUESTION, model), {"principle": "Tides."}, 384),
        (lambda model: write_passage(STEP, QUESTION, model), {"passage": "Tides."}, 512),
        (lambda model: solve_step("How?", "", QUESTION, [], [], model), {"solution": "So.", "record": 0}, 768),
    ],
    ids=["plan", "logical query", "principle", "passage", "solution"],
)
def test_each_call_may_write_as_many_tokens_as_its_reply_needs(
    ask: Callable[[LanguageModel], object], reply: object, tokens: int
) -> None:
    model = _Model(reply)
    ask(model)
    assert model.most == [tokens]
