"""A language model asked for one thing: a prompt, a typed value back, and what is told of the calls it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.models.structured_output import complete_structured
from shrag.prompts.prompt import Language, load_prompt
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.planning.rationed_model import RationedModel

_Kind = TypeVar("_Kind")


class Step(NamedTuple):
    """What is asked for: the ``prompt``, the values of its variables, what for, and at most how many tokens."""

    purpose: Purpose
    prompt: str
    language: Language
    values: Mapping[str, str]
    max_tokens: int = 512


def ask(model: LanguageModel, step: Step, kind: type[_Kind]) -> tuple[_Kind, list[ModelCall]]:
    """Return what the model makes of ``step``, a msgspec struct of ``kind``, and its calls, each told of once.

    Raises as :func:`~shrag.models.structured_output.complete_structured` does; where nothing that came can be used
    :class:`UnusableOutput`, with the calls; and :class:`PlanSpent` where the model is rationed and that is used up.
    """
    turns = load_prompt(step.prompt, step.language).turns(step.values)
    messages = [Message(turn.role, turn.content) for turn in turns]
    try:
        structured = complete_structured(model, messages, kind, max_tokens=step.max_tokens)
    except InvalidOutput as error:
        raise UnusableOutput(str(error), _calls(step.purpose, model, error.completions, repaired=True)) from None
    return structured.value, _calls(step.purpose, model, structured.completions, repaired=structured.repaired)


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
