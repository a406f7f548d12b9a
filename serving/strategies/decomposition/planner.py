"""LLM question decomposition and rewriting.

What comes back is only trusted as far as it can be checked: a plan is cut to its length, a question that repeats
another is dropped, and a step may need earlier ones alone, so that no plan can go round in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask
from shrag.serving.request import Question
from shrag.serving.strategies.planning.answer_slots import looking_back
from shrag.serving.strategies.planning.subquery import question_key

MOST_PARTS, MOST_STEPS = 4, 6
"""Parts a question is taken apart into, and steps of a chain, at most; the paper's prompt asks for three to six."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class _Parts(msgspec.Struct, frozen=True):
    questions: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_PARTS)]


class _Steps(msgspec.Struct, frozen=True):
    steps: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_STEPS)]


class _Rewritten(msgspec.Struct, frozen=True):
    question: _Text


def plan_parts(question: Question, model: RationedModel) -> tuple[list[str], list[ModelCall]]:
    """Return the independent questions that ``question`` is made of, none where it is made of one alone.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does, like the other plans.
    """
    values = {"question": question.text, "most": str(MOST_PARTS)}
    parts, calls = ask(model, PromptCall("decompose", "decompose", question.language, values), _Parts)
    return _others(parts.questions, question)[:MOST_PARTS], calls


def plan_steps(question: Question, model: RationedModel) -> tuple[list[str], list[ModelCall]]:
    """Return the steps to the answer of ``question``, in order, none where it takes one alone.

    A step's ``[ANS_n]`` names an earlier step; places for others are cut out of it.
    """
    values = {"question": question.text, "most": str(MOST_STEPS)}
    plan, calls = ask(model, PromptCall("decompose", "chain", question.language, values), _Steps)
    steps = _others(plan.steps, question)[:MOST_STEPS]
    return [looking_back(step, number) for number, step in enumerate(steps, 1)] if len(steps) > 1 else [], calls


def plan_rewrite(question: Question, model: RationedModel) -> tuple[list[str], list[ModelCall]]:
    """Return ``question`` in simpler words, none where they are its own."""
    rewritten, calls = ask(
        model, PromptCall("decompose", "rewrite", question.language, {"question": question.text}), _Rewritten
    )
    return _others([rewritten.question], question), calls


def _others(texts: Iterable[str], question: Question) -> list[str]:
    """Return the texts that are neither the question nor one of the others before them."""
    others: dict[str, str] = {}
    for text in texts:
        others.setdefault(question_key(text), plain_line(text))
    others.pop(question_key(question.text), None)
    others.pop("", None)  # without a letter or a digit it is no question
    return list(others.values())
