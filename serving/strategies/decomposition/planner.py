"""Question decomposition and rewriting by a language model.

A plan is cut to its greatest length, questions that repeat another are dropped, and a step may need the answers of
earlier steps only, so that no plan has a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.events import ModelCall
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import Question
from shrag.serving.strategies.planning.answer_slots import remove_forward_slots
from shrag.serving.strategies.planning.subquery import question_key

MOST_PARTS, MOST_STEPS = 4, 6
"""Parts of a decomposition and steps of a chain, at most; the paper's prompt asks for three to six."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class _Parts(msgspec.Struct, frozen=True):
    questions: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_PARTS)]


class _Steps(msgspec.Struct, frozen=True):
    steps: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_STEPS)]


class _Rewritten(msgspec.Struct, frozen=True):
    question: _Text


def plan_parts(question: Question, model: LanguageModel) -> tuple[list[str], list[ModelCall]]:
    """Return the independent questions that make up ``question``, none where there is only one.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does, like the other planners.
    """
    values = {"question": question.text, "most": str(MOST_PARTS)}
    reply, calls = call_model(model, PromptCall("decompose", "decompose", question.language, values), _Parts)
    return _others(reply.questions, question)[:MOST_PARTS], calls


def plan_steps(question: Question, model: LanguageModel) -> tuple[list[str], list[ModelCall]]:
    """Return the steps to the answer of ``question`` in order, none where there is only one.

    ``[ANS_n]`` in a step stands for the answer of an earlier step; other slots are removed.
    """
    values = {"question": question.text, "most": str(MOST_STEPS)}
    reply, calls = call_model(model, PromptCall("decompose", "chain", question.language, values), _Steps)
    steps = _others(reply.steps, question)[:MOST_STEPS]
    return [remove_forward_slots(step, number) for number, step in enumerate(steps, 1)] if len(steps) > 1 else [], calls


def plan_rewrite(question: Question, model: LanguageModel) -> tuple[list[str], list[ModelCall]]:
    """Return ``question`` in simpler words, nothing where the model leaves it as it is."""
    call = PromptCall("decompose", "rewrite", question.language, {"question": question.text})
    reply, calls = call_model(model, call, _Rewritten)
    return _others([reply.question], question), calls


def _others(texts: Iterable[str], question: Question) -> list[str]:
    """Return the texts that repeat neither the question nor an earlier text."""
    others: dict[str, str] = {}
    for text in texts:
        others.setdefault(question_key(text), plain_line(text))
    others.pop(question_key(question.text), None)
    others.pop("", None)  # text without a letter or a digit
    return list(others.values())
