"""A language model asked for a typed value, and what is told of the calls: what for, how many tokens, how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.models.structured_output import complete_structured
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.planning.rationed_model import RationedModel

_Kind = TypeVar("_Kind")


def ask_for(
    stage: Purpose, model: LanguageModel, messages: Sequence[Message], kind: type[_Kind], *, max_tokens: int = 1024
) -> tuple[_Kind, list[ModelCall]]:
    """Return a value of ``kind``, a msgspec struct, and the calls that it took, each told of once.

    Raises as :func:`~shrag.models.structured_output.complete_structured` does; where nothing that came can be used
    :class:`UnusableOutput`, with the calls.
    """
    try:
        structured = complete_structured(model, messages, kind, max_tokens=max_tokens)
    except InvalidOutput as error:
        raise UnusableOutput(str(error), _calls(stage, model, error.completions, repaired=True)) from None
    return structured.value, _calls(stage, model, structured.completions, repaired=structured.repaired)


def _calls(
    stage: Purpose, model: LanguageModel, completions: Sequence[Completion], *, repaired: bool
) -> list[ModelCall]:
    """Return the calls that gave ``completions``; one whose answer several steps were given is told of once."""
    return [
        ModelCall(
            stage,
            model.name,
            done.prompt_tokens,
            done.completion_tokens,
            done.seconds,
            done.first_seconds,
            repaired=repaired,
        )
        for done in completions
        if not isinstance(model, RationedModel) or model.tell(done)
    ]
