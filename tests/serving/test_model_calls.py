from __future__ import annotations

from shrag.models.language_model import Completion
from shrag.models.structured_output import Structured
from shrag.serving.events import ModelCall
from shrag.serving.model_calls import model_calls
from shrag.serving.planning.rationed_model import RationedModel
from tests.serving.scripted import ScriptedModel

FIRST, SECOND = Completion("{", "stop", 200, 20, 0.5, 0.25), Completion("{}", "stop", 230, 2, 0.75, 0.5)


def test_every_call_is_told_with_its_purpose_its_tokens_and_its_time() -> None:
    calls = model_calls("query", ScriptedModel(), Structured({}, repaired=True, completions=(FIRST, SECOND)))
    assert calls == [
        ModelCall("query", "scripted", 200, 20, 0.5, 0.25, repaired=True),
        ModelCall("query", "scripted", 230, 2, 0.75, 0.5, repaired=True),
    ]


def test_a_call_whose_answer_two_steps_were_given_is_told_of_once() -> None:
    model = RationedModel(ScriptedModel())
    given: Structured[object] = Structured({}, repaired=False, completions=(FIRST,))
    assert [len(model_calls("keywords", model, given)) for _ in range(2)] == [1, 0]
