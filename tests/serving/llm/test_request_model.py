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
def test_a_stage_without_the_model_says_how_it_failed_or_what_ran_out(error: ModelError, told: Event) -> None:
    def work(model: LanguageModel) -> tuple[str, list[ModelCall]]:
        raise error

    assert fallback_events("step", error) == [told]
    assert attempt("step", MODEL, work) == (None, [told])


def test_calls_whose_answers_cannot_be_used_are_told_before_that() -> None:
    assert fallback_events("step", UnusableOutput("no JSON", [CALL, CALL])) == [
        CALL,
        CALL,
        Fallback("step", "invalid_output", "no JSON"),
    ]


def test_what_a_model_made_comes_with_its_calls_also_where_it_is_empty() -> None:
    assert attempt("step", MODEL, lambda _: ("", [CALL])) == ("", [CALL])


def test_what_is_no_failure_of_the_model_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        attempt("step", MODEL, lambda _: (1 // 0, []))


def test_without_a_model_nothing_is_made_and_nothing_reported() -> None:
    assert attempt("step", None, lambda _: ("made", [CALL])) == (None, [])
