"""LLM calls of RAISE and its baselines.

The prompts are our own; what each asks for is appendix E of the RAISE paper. What comes back is bounded and cleaned,
and nothing of it is trusted further than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.serving.answering.multiple_choice import choices_text
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask, fence_records, unfenced
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.strategies.stepwise.variants import Lookup

_STEP = {"ko": "단계 {number}: {question}\n풀이: {solution}", "en": "Step {number}: {question}\nSolution: {solution}"}
_UNSETTLED = {"ko": "풀지 못했다.", "en": "not settled."}
_PRINCIPLE = {"ko": "원리: {principle}\n", "en": "Principle: {principle}\n"}


class Worked(NamedTuple):
    """A step that was worked on; ``solution`` is empty where nothing came out of it."""

    question: str
    solution: str
    principle: str = ""


def notes_text(worked: Sequence[Worked], language: AnswerLanguage) -> str:
    r"""Return the steps, numbered from 1, without what could pass for a record's fence; empty for none.

    >>> notes_text([Worked("How heavy?", "Two tons."), Worked("How fast?", "")], "en")
    'Step 1: How heavy?\nSolution: Two tons.\n\nStep 2: How fast?\nSolution: not settled.'
    """
    return unfenced(
        "\n\n".join(
            (_PRINCIPLE[language].format(principle=each.principle) if each.principle else "")
            + _STEP[language].format(
                number=number, question=each.question, solution=each.solution or _UNSETTLED[language]
            )
            for number, each in enumerate(worked, 1)
        )
    )


MOST_STEPS = 5
"""Steps a question is taken apart into, at most."""

NOTHING = "–"
"""What stands in a prompt where there is nothing to show."""

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=900)]


class SubQuestion(NamedTuple):
    """A step's question and the search query that came with it, r and q of the paper."""

    question: str
    query: str


class Solution(NamedTuple):
    """What a step comes to, and the record that it rests on, by docid; either may be empty."""

    text: str
    docid: str


class _Step(msgspec.Struct, frozen=True):
    question: _Line
    query: _Line


class _Steps(msgspec.Struct, frozen=True):
    steps: Annotated[list[_Step], msgspec.Meta(min_length=1, max_length=2 * MOST_STEPS)]


class _Explanation(msgspec.Struct, frozen=True):
    explanation: _Text


class _Principle(msgspec.Struct, frozen=True):
    principle: _Text


class _Passage(msgspec.Struct, frozen=True):
    passage: _Text


class _Solution(msgspec.Struct, frozen=True):
    solution: Annotated[str, msgspec.Meta(max_length=1_500)]
    record: Annotated[int, msgspec.Meta(ge=0, le=50)]


def take_apart(question: Question, model: RationedModel) -> tuple[list[SubQuestion], list[ModelCall]]:
    """Return the steps of ``question``, in order, each once; none where nothing readable came.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does, like the others.
    """
    values = {**_asked(question), "most": str(MOST_STEPS)}
    made, calls = ask(model, PromptCall("decompose", "substeps", question.language, values, max_tokens=768), _Steps)
    steps: dict[str, SubQuestion] = {}
    for each in made.steps:
        text = plain_line(each.question)
        if readable(text):
            steps.setdefault(text.casefold(), SubQuestion(text, plain_line(each.query) or text))
    return list(steps.values())[:MOST_STEPS], calls


def say_logically(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return what a source that settles ``step`` would explain: the logical query q* of r and q."""
    values = {"question": step.question, "query": step.query}
    made, calls = ask(model, PromptCall("query", "logical", question.language, values, max_tokens=384), _Explanation)
    return plain_line(made.explanation), calls


def step_back(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return the principle behind ``step`` (step-back prompting)."""
    asked = PromptCall("query", "principle", question.language, {"question": step.question}, max_tokens=384)
    made, calls = ask(model, asked, _Principle)
    return plain_line(made.principle), calls


def suppose(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return a passage that might answer ``step`` (HyDE)."""
    asked = PromptCall("hypothesis", "passage", question.language, {"question": step.question}, max_tokens=512)
    made, calls = ask(model, asked, _Passage)
    return plain_line(made.passage), calls


Maker = Callable[[SubQuestion, Question, RationedModel], tuple[str, list[ModelCall]]]

MAKERS: dict[Lookup, Maker] = {"logical": say_logically, "principle": step_back, "passage": suppose}
"""What makes the text that a step is looked up by, where that is not its own words."""


def settle(
    step: str,
    principle: str,
    question: Question,
    worked: Sequence[Worked],
    records: Sequence[Record],
    model: RationedModel,
) -> tuple[Solution, list[ModelCall]]:
    """Return what ``step`` comes to, given the larger ``question``, the steps before it, and its own ``records``."""
    values = {
        **_asked(question),
        "worked": notes_text(worked, question.language) or NOTHING,
        "principle": principle or NOTHING,
        "step": step,
        "records": fence_records(records, question.language) or NOTHING,
        "count": str(len(records)),
    }
    made, calls = ask(model, PromptCall("step", "solve", question.language, values, max_tokens=768), _Solution)
    text = plain_line(made.solution)
    rests = records[made.record - 1].docid if text and 0 < made.record <= len(records) else ""
    return Solution(text, rests), calls


def readable(text: str) -> bool:
    """Say whether ``text`` has a letter or a digit: without one it is no question."""
    return any(character.isalnum() for character in text)


def _asked(question: Question) -> dict[str, str]:
    return {"question": question.text, "choices": choices_text(question.choices, question.language)}
