from __future__ import annotations

import pytest

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused, ModelUnavailable
from shrag.models.language_model import LanguageModel
from shrag.serving.errors import BudgetExceeded, UnusableOutput
from shrag.serving.events import Event, Fallback, ModelCall, Truncated
from shrag.serving.llm.request_model import attempt, fallback_events
from tests.support.scripted_models import ScriptedModel

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


def test_without_a_model_there_is_no_result_and_no_event() -> None:
    assert attempt("step", None, lambda _: ("made", [CALL])) == (None, [])
