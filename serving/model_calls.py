"""What is told of the calls of a language model: what for, how many tokens, how long."""

from __future__ import annotations

from typing import Any

from shrag.models.language_model import LanguageModel
from shrag.models.structured_output import Structured
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.planning.rationed_model import RationedModel


def model_calls(stage: Purpose, model: LanguageModel, structured: Structured[Any]) -> list[ModelCall]:
    """Return the calls that ``structured`` took; one whose answer several were given is told of once."""
    return [
        ModelCall(
            stage,
            model.name,
            done.prompt_tokens,
            done.completion_tokens,
            done.seconds,
            done.first_seconds,
            repaired=structured.repaired,
        )
        for done in structured.completions
        if not isinstance(model, RationedModel) or model.tell(done)
    ]
