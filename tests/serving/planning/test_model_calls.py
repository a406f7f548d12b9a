from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, Message
from shrag.serving.errors import PlanSpent
from shrag.serving.planning.model_calls import Allowance, ModelCalls


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
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        self.begun.set()
        assert self.gate.wait(10)
        text = self.texts[min(len(self.asked), len(self.texts) - 1)]
        self.asked.append(messages[-1].content)
        return Completion(text, "stop", 10, 2, 0.5, 0.25)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> None:
        raise AssertionError("nothing is streamed here")


def _ask(calls: ModelCalls, question: str) -> str:
    values = {"question": question, "least": "2", "most": "5"}
    return calls.ask("keywords", "keywords", "en", values, _Letter).letter


def _calls(model: _Model, calls: int = 8, seconds: float = 60.0, clock: Sequence[float] = ()) -> ModelCalls:
    times = iter(clock)
    return ModelCalls(model, Allowance(calls, seconds), (lambda: next(times)) if clock else (lambda: 0.0))  # type: ignore[arg-type]


def test_a_call_is_made_once_and_noted_once_however_often_it_is_asked_for() -> None:
    model = _Model('{"letter": "a"}', '{"letter": "b"}')
    calls = _calls(model)
    assert [_ask(calls, question) for question in ("one", "two", "one", "two")] == ["a", "b", "a", "b"]
    assert calls.made == len(model.asked) == 2
    noted = calls.untold()
    assert [(call.stage, call.model, call.prompt_tokens, call.completion_tokens, call.seconds) for call in noted] == [
        ("keywords", "lettered", 10, 2, 0.5)
    ] * 2
    assert calls.untold() == []


def test_who_asks_while_the_same_call_is_being_made_waits_for_it() -> None:
    model = _Model()
    model.gate.clear()
    calls = _calls(model)
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(_ask(calls, "one"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert model.begun.wait(10)
    model.gate.set()
    for thread in threads:
        thread.join(10)
    assert got == ["a"] * 6
    assert len(model.asked) == 1


def test_no_call_is_made_beyond_the_number_allowed_but_what_was_answered_still_is() -> None:
    calls = _calls(_Model(), calls=2)
    assert _ask(calls, "one") == _ask(calls, "two") == "a"
    with pytest.raises(PlanSpent, match="used up the 2 calls") as spent:
        _ask(calls, "three")
    assert (spent.value.spent, spent.value.allowed) == ("calls", 2)
    assert _ask(calls, "one") == "a"
    assert calls.made == 2


def test_none_allowed_means_none() -> None:
    model = _Model()
    with pytest.raises(PlanSpent):
        _ask(_calls(model, calls=0), "one")
    assert model.asked == []


def test_no_call_is_begun_after_the_seconds_allowed_which_count_from_the_first_one() -> None:
    calls = _calls(_Model(), seconds=30.0, clock=(100.0, 130.0, 130.5))
    assert _ask(calls, "one") == _ask(calls, "two") == "a"
    with pytest.raises(PlanSpent, match="used up the 30 seconds"):
        _ask(calls, "three")


def test_a_repaired_answer_is_one_call_of_two_tries() -> None:
    calls = _calls(_Model("nothing of the kind", '{"letter": "b"}'))
    assert _ask(calls, "one") == "b"
    assert calls.made == 1
    assert [call.repaired for call in calls.untold()] == [True, True]


def test_a_call_that_fails_fails_alike_for_all_and_is_not_made_again() -> None:
    model = _Model("nothing of the kind")
    calls = _calls(model)
    for _ in range(2):
        with pytest.raises(InvalidOutput, match="asked twice"):
            _ask(calls, "one")
    assert len(model.asked) == 2  # the try and its repair
