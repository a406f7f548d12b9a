"""Judge the relevance of records with a language model, and measure its agreement with people.

The levels are those of the RAISE paper. A record that is on the same topic but does not help to answer has the second
level. The prompt is SHRAG's own. :func:`judge_agreement` measures how far a judge can be trusted.
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
from shrag.serving.llm.structured_call import PromptCall, call_model, fence_records
from shrag.serving.request import Question


class RelevanceLevel(IntEnum):
    """The RAISE paper's levels of relevance. A record helps to answer from ``PARTIAL`` on."""

    NONE = 1
    SUPERFICIAL = 2
    PARTIAL = 3
    FULL = 4


@dataclass(frozen=True, slots=True)
class Relevance:
    """One judgement, with the name of the model and the reason that it gave."""

    level: RelevanceLevel
    judge: str
    reason: str


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of two judges over the same records.

    Attributes:
        pairs: Number of records.
        same_level: Share of the records to which both judges gave the same level.
        same_usefulness: Share of the records on which the judges agree whether the record helps.
        kappa: Cohen's kappa with quadratic weights (Cohen 1968): 1 is perfect agreement, 0 is chance. None if a judge
            gave only one level.
    """

    pairs: int
    same_level: float
    same_usefulness: float
    kappa: float | None


class _Judgement(msgspec.Struct, frozen=True):
    reason: Annotated[str, msgspec.Meta(max_length=400)]
    level: Annotated[int, msgspec.Meta(ge=1, le=4)]


def judge_relevance(question: Question, record: Record, model: LanguageModel, step: str = "") -> Relevance:
    """Have ``model`` judge how far ``record`` helps to answer ``question``, or one ``step`` of it.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does.
    """
    values = {
        "question": question.text,
        "step": step or question.text,
        "record": fence_records([record], question.language),
    }
    judged, _ = call_model(
        model, PromptCall("evaluate", "relevance", question.language, values, max_tokens=256), _Judgement
    )
    return Relevance(RelevanceLevel(judged.level), model.name, plain_line(judged.reason))


def judge_agreement(one: Sequence[RelevanceLevel], other: Sequence[RelevanceLevel]) -> JudgeAgreement:
    """Return the agreement of two judges, from their levels of the same records in the same order.

    Raises ``ValueError`` if there are no levels, or if the judges gave different numbers of levels.
    """
    if not one or len(one) != len(other):
        raise ValueError(
            f"Agreement needs the levels of both judges for the same records, got {len(one)} and {len(other)} levels."
        )
    pairs = list(zip(one, other, strict=True))
    disagreement = sum((first - second) ** 2 for first, second in pairs) / len(pairs)
    by_chance = sum((first - second) ** 2 for first in one for second in other) / len(pairs) ** 2
    useful = [(first >= RelevanceLevel.PARTIAL, second >= RelevanceLevel.PARTIAL) for first, second in pairs]
    return JudgeAgreement(
        pairs=len(pairs),
        same_level=sum(first == second for first, second in pairs) / len(pairs),
        same_usefulness=sum(first == second for first, second in useful) / len(pairs),
        kappa=1 - disagreement / by_chance if by_chance and len(set(one)) > 1 and len(set(other)) > 1 else None,
    )
