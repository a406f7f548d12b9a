""""""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.concurrency import AT_ONCE, parallel_map
from shrag.serving.engine import Engine
from shrag.serving.events import AnswerSentence, Ranking
from tests.support.scripted_models import ScriptedModel, ScriptedStream, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


class _Hanging(ScriptedStream):
    """Writes one piece and then nothing until it is let go of."""

    def __init__(self) -> None:
        super().__init__([])
        self._let_go = threading.Event()

    def __iter__(self) -> Iterator[str]:
        yield "재택근무 갈등을 분석하였다 [1]. 둘째 문장이다 [1]. 셋째"
        if not self._let_go.wait(20):
            raise AssertionError("nobody let go of the model")
        raise ModelUnavailable("let go")

    def close(self) -> None:
        super().close()
        self._let_go.set()


class _HangingModel(ScriptedModel):
    def stream(self, *_: object, **__: object) -> ScriptedStream:
        self.streams.append(_Hanging())
        return self.streams[-1]


def test_cancelling_from_another_thread_ends_a_model_that_says_nothing(demo: Engine) -> None:
    model = _HangingModel(listed("재택근무"), listed("work"))
    asking = Engine(demo.open_index, model).events(QUESTION)
    threading.Timer(0.3, asking.cancel).start()
    started = time.monotonic()
    events = list(asking)
    assert time.monotonic() - started < 10
    assert isinstance(events[-1], AnswerSentence)
    assert model.streams[0].closed


def test_a_cancelled_question_has_no_further_event_and_asks_no_model(demo: Engine) -> None:
    model = ScriptedModel(listed("재택근무"), listed("work"), ["text"])
    asking = Engine(demo.open_index, model).events(QUESTION)
    for event in asking:
        if isinstance(event, Ranking):
            asking.cancel()
    assert model.streams == []
    assert list(asking) == []


def test_closing_before_the_first_event_does_nothing(demo: Engine) -> None:
    asking = demo.events(QUESTION)
    asking.close()
    assert list(asking) == []


def test_what_is_made_comes_in_the_order_of_what_it_was_made_of() -> None:
    assert parallel_map(lambda number: -number, list(range(20))) == [-number for number in range(20)]
    assert parallel_map(lambda number: -number, []) == []


def test_one_alone_is_worked_on_by_who_asks() -> None:
    assert parallel_map(lambda _: threading.current_thread(), [1]) == [threading.current_thread()]


def test_as_many_are_worked_on_at_once_as_may_be() -> None:
    together = threading.Barrier(AT_ONCE, timeout=10)
    assert parallel_map(lambda number: together.wait() >= 0 and number, [1, 2, 3, 4]) == [1, 2, 3, 4]


def test_what_goes_wrong_first_in_their_order_is_raised() -> None:
    def work(number: int) -> int:
        if number > 1:
            raise ValueError(str(number))
        return number

    with pytest.raises(ValueError, match=r"^2$"):
        parallel_map(work, [1, 2, 3])
