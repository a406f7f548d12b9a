"""One step of a plan that a language model does: a prompt, a typed value back, the calls it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from shrag.models.language_model import Message
from shrag.prompts.prompt import Language, load_prompt
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.model_calls import ask_for
from shrag.serving.planning.rationed_model import RationedModel

_Kind = TypeVar("_Kind")


class Step(NamedTuple):
    """What is asked for: the ``prompt``, the values of its variables, what for, and at most how many tokens."""

    purpose: Purpose
    prompt: str
    language: Language
    values: Mapping[str, str]
    max_tokens: int = 512


def ask(model: RationedModel, step: Step, kind: type[_Kind]) -> tuple[_Kind, list[ModelCall]]:
    """Return what the model makes of ``step``, a msgspec struct of ``kind``, and its calls, each told of once.

    Raises as :func:`~shrag.serving.model_calls.ask_for` does, and :class:`PlanSpent`.
    """
    turns = load_prompt(step.prompt, step.language).turns(step.values)
    messages = [Message(turn.role, turn.content) for turn in turns]
    return ask_for(step.purpose, model, messages, kind, max_tokens=step.max_tokens)
