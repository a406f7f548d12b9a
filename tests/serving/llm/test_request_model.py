from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest

from shrag.messages.text import in_language
from shrag.models.errors import InvalidOutput, ModelError, ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.serving.concurrency import ProcessorShare
from shrag.serving.errors import BudgetExceeded, UnusableOutput
from shrag.serving.events import Event, Fallback, ModelCall, Truncated
from shrag.serving.llm.request_model import RequestModel, attempt, fallback_events
from tests.support.scripted_models import ScriptedModel, ScriptedStream

MODEL = ScriptedModel()
CALL = ModelCall("step", "m", 10, 2, 0.5, 0.1)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModelUnavailable("away"), Fallback("step", "unavailable", "away")),
        (ModelRefused("too long"), Fallback("step", "refused", "too long")),
        (InvalidOutput("no JSON"), Fallback("step", "invalid_output", "no JSON")),
        (BudgetExceeded("calls", 48), Truncated("calls", 48)),
    ],
)
def test_a_failure_of_the_model_gives_its_fallback_event(error: ModelError, told: Event) -> None:
    def work(model: LanguageModel) -> tuple[str, list[ModelCall]]:
        raise error

    assert fallback_events("step", error) == [told]
    assert attempt("step", MODEL, work) == (None, [told])


def test_calls_with_invalid_output_are_reported_before_the_fallback() -> None:
    assert fallback_events("step", UnusableOutput("no JSON", [CALL, CALL])) == [
        CALL,
        CALL,
        Fallback("step", "invalid_output", "no JSON"),
    ]


def test_a_result_comes_with_its_calls_also_where_it_is_empty() -> None:
    assert attempt("step", MODEL, lambda _: ("", [CALL])) == ("", [CALL])


def test_other_errors_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        attempt("step", MODEL, lambda _: (1 // 0, []))


def test_it_has_the_name_of_the_model() -> None:
    assert RequestModel(MODEL).name == MODEL.name


def test_without_a_model_there_is_no_result_and_no_event() -> None:
    assert attempt("step", None, lambda _: ("made", [CALL])) == (None, [])


class _CutStream(ScriptedStream):
    """Breaks when it is closed, as a connection does."""

    def __iter__(self) -> Iterator[str]:
        while not self.closed:
            yield "a"
        raise ModelUnavailable("the connection broke")


class _Cut(ScriptedModel):
    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.asked.append(messages)
        return _CutStream([])


def test_the_stream_that_a_withdrawal_breaks_does_not_become_the_reason_of_later_failures() -> None:
    served = _Cut()
    model = RequestModel(served)
    pieces = iter(model.stream([Message("user", "?")]))
    assert next(pieces) == "a"
    model.cancel()
    with pytest.raises(ModelUnavailable, match="the connection broke"):
        next(pieces)
    with pytest.raises(ModelUnavailable, match="was cancelled") as failed:
        model.complete([Message("user", "?")])
    assert "cancelled" not in in_language(failed.value, "ko")
    assert len(served.asked) == 1


class _Probing(ScriptedModel):
    """A model that notes, at each call and piece, whether another thread can take the only turn of ``share``."""

    def __init__(self, share: ProcessorShare) -> None:
        super().__init__("listed", "listed", ["a", "b"])
        self._share = share
        self.free: list[bool] = []

    def _probe(self) -> None:
        other = threading.Thread(target=self._share.run, args=(list,), daemon=True)
        other.start()
        other.join(5)
        self.free.append(not other.is_alive())

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self._probe()
        return super().complete(messages, schema, max_tokens=max_tokens)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self._probe()
        model = self

        class _Stream(ScriptedStream):
            def __iter__(self) -> Iterator[str]:
                for piece in super().__iter__():
                    model._probe()
                    yield piece

        return _Stream(self.answer)


def test_the_turn_on_the_processors_is_given_up_while_the_model_works_and_held_otherwise() -> None:
    share = ProcessorShare(1)
    probing = _Probing(share)
    held: list[bool] = []

    def work() -> list[str]:
        model = RequestModel(probing)
        message = [Message("user", "?")]
        model.complete(message)
        pieces = []
        for piece in model.stream(message):
            held.append(share._computing == 1)
            pieces.append(piece)
        return pieces

    assert share.run(work) == ["a", "b"]
    assert probing.free == [True] * 4
    assert held == [True, True]


def test_a_later_call_fails_with_the_same_message_in_either_language() -> None:
    model = RequestModel(_Probing(ProcessorShare(1)))
    model.cancel()
    with pytest.raises(ModelUnavailable) as raised:
        model.complete([Message("user", "?")])
    assert in_language(raised.value, "ko") == "질문이 취소되었습니다. 다시 질문해 주세요."
