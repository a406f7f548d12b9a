"""Model calls of RAISE and its baselines; the prompts are our own, after appendix E of the RAISE paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answered_questions import LONGEST_EVIDENCE
from shrag.serving.answering.multiple_choice import question_values
from shrag.serving.events import ModelCall
from shrag.serving.llm.structured_call import LONGEST_TEXT, PromptCall, call_model, fence_records, remove_fence_marks
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.strategies.planning.sub_answers import RecordNumber, SubAnswer, cited_docid
from shrag.serving.strategies.stepwise.variants import QuerySource

_STEP = {"ko": "단계 {number}: {question}\n풀이: {solution}", "en": "Step {number}: {question}\nSolution: {solution}"}
_UNSOLVED = {"ko": "풀지 못했다.", "en": "not settled."}
_PRINCIPLE = {"ko": "원리: {principle}\n", "en": "Principle: {principle}\n"}


class SolvedStep(NamedTuple):
    """A step, its solution (empty if there is none), and the principle behind it, if one was asked for."""

    question: str
    solution: str
    principle: str = ""


def notes_text(solved: Sequence[SolvedStep], language: AnswerLanguage) -> str:
    r"""Return the steps, numbered from 1, as a prompt shows them; empty for none.

    >>> notes_text([SolvedStep("How heavy?", "Two tons."), SolvedStep("How fast?", "")], "en")
    'Step 1: How heavy?\nSolution: Two tons.\n\nStep 2: How fast?\nSolution: not settled.'
    """
    notes = [
        (_PRINCIPLE[language].format(principle=each.principle) if each.principle else "")
        + _STEP[language].format(number=number, question=each.question, solution=each.solution or _UNSOLVED[language])
        for number, each in enumerate(solved, 1)
    ]
    return remove_fence_marks("\n\n".join(notes))


_MOST_LISTED = 20  # a reply with more steps is invalid

NOTHING = "–"
"""The value of a prompt's variable if there is nothing to show."""

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=900)]


class SubQuestion(NamedTuple):
    """A step's question and its search query: r and q of the paper."""

    question: str
    query: str


class _Step(msgspec.Struct, frozen=True):
    question: _Line
    query: _Line


class _Steps(msgspec.Struct, frozen=True):
    steps: Annotated[list[_Step], msgspec.Meta(min_length=1, max_length=_MOST_LISTED)]


class _Explanation(msgspec.Struct, frozen=True):
    explanation: _Text


class _Principle(msgspec.Struct, frozen=True):
    principle: _Text


class _Passage(msgspec.Struct, frozen=True):
    passage: _Text


class _Solution(msgspec.Struct, frozen=True):
    solution: Annotated[str, msgspec.Meta(max_length=1_500)]
    record: RecordNumber


def plan_substeps(question: Question, most: int, model: LanguageModel) -> tuple[list[SubQuestion], list[ModelCall]]:
    """Return at most ``most`` steps to the answer of ``question`` in order, each once.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does, like the other calls.
    """
    values = question_values(question) | {"most": str(most)}
    call = PromptCall("decompose", "substeps", question.language, values, max_tokens=768)
    reply, calls = call_model(model, call, _Steps)
    steps: dict[str, SubQuestion] = {}
    for each in reply.steps:
        text = plain_line(each.question)
        if is_readable(text):
            steps.setdefault(text.casefold(), SubQuestion(text, plain_line(each.query) or text))
    return list(steps.values())[:most], calls


def write_logical_query(step: SubQuestion, question: Question, model: LanguageModel) -> tuple[str, list[ModelCall]]:
    """Return what a source that answers ``step`` would explain: the logical query q* of r and q."""
    values = {"question": step.question, "query": step.query}
    call = PromptCall("query", "logical", question.language, values, max_tokens=384)
    reply, calls = call_model(model, call, _Explanation)
    return plain_line(reply.explanation), calls


def write_principle(step: SubQuestion, question: Question, model: LanguageModel) -> tuple[str, list[ModelCall]]:
    """Return the principle behind ``step`` (step-back prompting)."""
    call = PromptCall("query", "principle", question.language, {"question": step.question}, max_tokens=384)
    reply, calls = call_model(model, call, _Principle)
    return plain_line(reply.principle), calls


def write_passage(step: SubQuestion, question: Question, model: LanguageModel) -> tuple[str, list[ModelCall]]:
    """Return a passage that might answer ``step`` (HyDE)."""
    call = PromptCall("hypothesis", "passage", question.language, {"question": step.question}, max_tokens=512)
    reply, calls = call_model(model, call, _Passage)
    return plain_line(reply.passage), calls


StepWriter = Callable[[SubQuestion, Question, LanguageModel], tuple[str, list[ModelCall]]]
"""Writes a text for a step of a question."""

QUERY_WRITERS: dict[QuerySource, StepWriter] = {
    "logical": write_logical_query,
    "principle": write_principle,
    "passage": write_passage,
}
"""The writers of a step's query, for each kind of query that is not the step's own question."""


def solve_step(
    step: str,
    principle: str,
    question: Question,
    solved: Sequence[SolvedStep],
    records: Sequence[Record],
    model: LanguageModel,
) -> tuple[SubAnswer, list[ModelCall]]:
    """Return the model's solution of ``step`` of ``question``, given the steps before it and its own ``records``."""
    values = question_values(question) | {
        "worked": notes_text(solved, question.language) or NOTHING,
        "principle": principle or NOTHING,
        "step": step,
        "records": _evidence(records, question.language) or NOTHING,
        "count": str(len(records)),
    }
    reply, calls = call_model(model, PromptCall("step", "solve", question.language, values, max_tokens=768), _Solution)
    text = plain_line(reply.solution)
    return SubAnswer(text, cited_docid(reply.record, records) if text else ""), calls


def _evidence(records: Sequence[Record], language: AnswerLanguage) -> str:
    # Ten records share the characters of five, so that a step needs no longer context than an answer.
    return fence_records(records, language, min(LONGEST_TEXT, LONGEST_EVIDENCE // max(1, len(records))))


def is_readable(text: str) -> bool:
    """Return whether ``text`` has a letter or a digit."""
    return any(character.isalnum() for character in text)
