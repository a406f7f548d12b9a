"""What is said where a language model failed and its stage is done without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused
from shrag.serving.errors import PlanSpent, UnusableOutput
from shrag.serving.events import CutShort, Event, Fallback, ModelCall, Purpose

_Made = TypeVar("_Made")


def fallen_back(stage: Purpose, error: ModelError) -> list[Event]:
    """Return what is told of doing ``stage`` without the model because of ``error``: it failed, or a plan has run out.

    Calls whose answers cannot be used come before that.
    """
    if isinstance(error, PlanSpent):
        return [CutShort(error.spent, error.allowed)]
    if isinstance(error, InvalidOutput):
        calls = error.calls if isinstance(error, UnusableOutput) else ()
        return [*calls, Fallback(stage, "invalid_output", str(error))]
    return [Fallback(stage, "refused" if isinstance(error, ModelRefused) else "unavailable", str(error))]


def attempt(stage: Purpose, work: Callable[[], tuple[_Made, list[ModelCall]]]) -> tuple[_Made | None, list[Event]]:
    """Return what ``work`` makes with a model, None where that fails, and what is to be told of it."""
    try:
        made, calls = work()
    except ModelError as error:
        return None, fallen_back(stage, error)
    return made, [*calls]
