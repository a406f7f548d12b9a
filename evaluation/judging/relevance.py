"""LLM relevance judgements against human ones (only bench and tests use it).

A record that is about the same thing need not help: the second level is for that. The prompt is our own. How far a
judge can be trusted is for :func:`agreement` to say, over pairs that people have judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.llm.structured_call import Step, ask, fence_records
from shrag.serving.request import Question


class Level(IntEnum):
    """The levels, as the paper has them; from ``PARTIAL`` on a record helps."""

    NONE = 1
    SUPERFICIAL = 2
    PARTIAL = 3
    FULL = 4


@dataclass(frozen=True, slots=True)
class Relevance:
    """One judgement, with the name of the model that gave it and what it said for it."""

    level: Level
    judge: str
    reason: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree over ``pairs`` pairs: on the very level, on whether a record helps, and by weight.

    ``kappa`` is Cohen's with quadratic weights (Cohen 1968): 1 is agreement, 0 is what chance gives; it is None where
    a judge gave one level throughout, since chance then explains everything.
    """

    pairs: int
    same_level: float
    same_side: float
    kappa: float | None


class _Judgement(msgspec.Struct, frozen=True):
    reason: Annotated[str, msgspec.Meta(max_length=400)]
    level: Annotated[int, msgspec.Meta(ge=1, le=4)]


def judge_relevance(question: Question, record: Record, model: LanguageModel, step: str = "") -> Relevance:
    """Return how much ``record`` helps to work out ``step``, a step of ``question`` or, where empty, all of it.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does: a judge that fails gives no level.
    """
    values = {
        "question": question.text,
        "step": step or question.text,
        "record": fence_records([record], question.language),
    }
    judged, _ = ask(model, Step("evaluate", "relevance", question.language, values, max_tokens=256), _Judgement)
    return Relevance(Level(judged.level), model.name, plain_line(judged.reason))


def agreement(one: Sequence[Level], other: Sequence[Level]) -> Agreement:
    """Return how far two judges agree, their levels in the same order; raises ``ValueError`` without a pair."""
    if not one or len(one) != len(other):
        raise ValueError(f"Two judges give as many levels each, at least one, got {len(one)} and {len(other)}.")
    pairs = list(zip(one, other, strict=True))
    apart = sum((first - second) ** 2 for first, second in pairs) / len(pairs)
    by_chance = sum((first - second) ** 2 for first in one for second in other) / len(pairs) ** 2
    return Agreement(
        pairs=len(pairs),
        same_level=sum(first == second for first, second in pairs) / len(pairs),
        same_side=sum((first >= Level.PARTIAL) == (second >= Level.PARTIAL) for first, second in pairs) / len(pairs),
        kappa=1 - apart / by_chance if by_chance and len(set(one)) > 1 and len(set(other)) > 1 else None,
    )
