from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from shrag.models.language_model import Completion, Message
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import BudgetedModel
from shrag.serving.llm.structured_call import PromptCall, call_model
from tests.support.scripted_models import ScriptedStream

ASKED = PromptCall("query", "query", "en", {"question": "Which letter?"})


class _Letter(msgspec.Struct, frozen=True):
    letter: str


class _Writing:
    """A model that writes one text after the other."""

    name = "writing"

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        return Completion(self._texts.pop(0), "stop", 100 + len(messages), 20, 0.5, 0.25)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        raise NotImplementedError


def test_a_call_has_its_purpose_tokens_and_time() -> None:
    letter, calls = call_model(_Writing('{"letter": "a"}'), ASKED, _Letter)
    assert letter == _Letter("a")
    assert calls == [ModelCall("query", "writing", 102, 20, 0.5, 0.25, repaired=False)]


def test_a_repaired_reply_has_two_calls() -> None:
    letter, calls = call_model(_Writing("a", '{"letter": "a"}'), ASKED, _Letter)
    assert letter == _Letter("a")
    assert [(call.prompt_tokens, call.repaired) for call in calls] == [(102, True), (104, True)]


def test_an_unusable_reply_has_its_calls() -> None:
    with pytest.raises(UnusableOutput, match=r"^writing gave no valid") as caught:
        call_model(_Writing("a", "b"), ASKED, _Letter)
    assert [(call.stage, call.prompt_tokens, call.repaired) for call in caught.value.calls] == [
        ("query", 102, True),
        ("query", 104, True),
    ]


def test_a_call_shared_by_two_steps_is_reported_once() -> None:
    model = BudgetedModel(_Writing('{"letter": "a"}'), most_calls=2, most_seconds=60)
    assert [len(call_model(model, ASKED, _Letter)[1]) for _ in range(2)] == [1, 0]
