"""A step of a plan that a language model is asked for and may fail in, which ends the step and not the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shrag.models.errors import ModelError
from shrag.serving.errors import PlanSpent
from shrag.serving.events import CutShort, Event, ModelCall, Purpose
from shrag.serving.fallback import fallen_back

_Made = TypeVar("_Made")


def attempt(purpose: Purpose, work: Callable[[], tuple[_Made, list[ModelCall]]]) -> tuple[_Made | None, list[Event]]:
    """Return what ``work`` makes, None where the model fails in it or is not to be asked, and what is to be told."""
    try:
        made, calls = work()
    except PlanSpent as spent:
        return None, [CutShort(spent.spent, spent.allowed)]
    except ModelError as error:
        return None, [fallen_back(purpose, error)]
    return made, [*calls]
