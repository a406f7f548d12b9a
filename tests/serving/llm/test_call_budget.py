from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, Message
from shrag.serving.errors import BudgetExceeded
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import BudgetedModel
from shrag.serving.llm.structured_call import PromptCall, call_model
from tests.support.scripted_models import ScriptedStream


class _Letter(msgspec.Struct, frozen=True):
    letter: str


class _Model:
    """Writes what it is told to; ``gate`` holds it up until it is opened."""

    name = "lettered"

    def __init__(self, *texts: str) -> None:
        self.texts = texts or ('{"letter": "a"}',)
        self.asked: list[str] = []
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.begun.set()
        assert self.gate.wait(10)
        text = self.texts[min(len(self.asked), len(self.texts) - 1)]
        self.asked.append(messages[-1].content)
        return Completion(text, "stop", 10, 2, 0.5, 0.25)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        return ScriptedStream(["a"])


def _ask(model: BudgetedModel, question: str) -> str:
    return _told(model, question)[0]


def _told(model: BudgetedModel, question: str) -> tuple[str, list[ModelCall]]:
    values = {"question": question, "least": "2", "most": "5"}
    value, calls = call_model(model, PromptCall("keywords", "keywords", "en", values), _Letter)
    return value.letter, calls


def _budgeted(model: _Model, calls: int = 8, seconds: float = 60.0, clock: Sequence[float] = ()) -> BudgetedModel:
    times = iter(clock)
    return BudgetedModel(model, calls, seconds, (lambda: next(times)) if clock else (lambda: 0.0))


def test_identical_calls_are_made_and_reported_once() -> None:
    model = _Model('{"letter": "a"}', '{"letter": "b"}')
    budgeted = _budgeted(model)
    told = [_told(budgeted, question) for question in ("one", "two", "one", "two")]
    assert [letter for letter, _ in told] == ["a", "b", "a", "b"]
    assert len(model.asked) == 2
    call = ModelCall("keywords", "lettered", 10, 2, 0.5, 0.25)
    assert [calls for _, calls in told] == [[call], [call], [], []]


def test_a_concurrent_identical_call_waits_for_the_first() -> None:
    model = _Model()
    model.gate.clear()
    budgeted = _budgeted(model)
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(_ask(budgeted, "one"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert model.begun.wait(10)
    model.gate.set()
    for thread in threads:
        thread.join(10)
    assert got == ["a"] * 6
    assert len(model.asked) == 1


def test_no_call_exceeds_the_budget_but_known_results_are_returned() -> None:
    model = _Model()
    budgeted = _budgeted(model, calls=2)
    assert _ask(budgeted, "one") == _ask(budgeted, "two") == "a"
    with pytest.raises(BudgetExceeded, match="reached its limit of 2 calls") as exceeded:
        _ask(budgeted, "three")
    assert (exceeded.value.exhausted, exceeded.value.allowed) == ("calls", 2)
    assert _ask(budgeted, "one") == "a"
    assert len(model.asked) == 2


def test_a_budget_of_no_calls_allows_none() -> None:
    model = _Model()
    with pytest.raises(BudgetExceeded):
        _ask(_budgeted(model, calls=0), "one")
    assert model.asked == []


def test_no_call_starts_after_the_seconds_counted_from_the_first() -> None:
    budgeted = _budgeted(_Model(), seconds=30.0, clock=(100.0, 130.0, 130.5))
    assert _ask(budgeted, "one") == _ask(budgeted, "two") == "a"
    with pytest.raises(BudgetExceeded, match="reached its limit of 30 seconds"):
        _ask(budgeted, "three")


def test_a_repaired_reply_counts_as_two_calls() -> None:
    budgeted = _budgeted(_Model("nothing of the kind", '{"letter": "b"}'))
    letter, calls = _told(budgeted, "one")
    assert letter == "b"
    assert [call.repaired for call in calls] == [True, True]


def test_a_failed_call_gives_its_error_to_all_callers_once() -> None:
    model = _Model("nothing of the kind")
    budgeted = _budgeted(model)
    for _ in range(2):
        with pytest.raises(InvalidOutput, match="in two attempts"):
            _ask(budgeted, "one")
    assert len(model.asked) == 2  # the try and its repair


def test_streams_are_outside_the_budget() -> None:
    budgeted = _budgeted(_Model(), calls=0)
    assert list(budgeted.stream([Message("user", "one")])) == ["a"]


def test_another_schema_is_another_call() -> None:
    model = _Model("plain")
    budgeted = _budgeted(model)
    messages = [Message("user", "one")]
    budgeted.complete(messages)
    budgeted.complete(messages, {"type": "object"})
    budgeted.complete(messages, max_tokens=7)
    assert len(model.asked) == 3
