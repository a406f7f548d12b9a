"""What a language model does in RAISE and its baselines: take apart, say what to look up, settle a step.

The prompts are our own; what each asks for is appendix E of the RAISE paper. What comes back is bounded and cleaned,
and nothing of it is trusted further than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.clean import plain_line
from shrag.corpora.records import Record
from shrag.serving.asking_model import Step, ask
from shrag.serving.choices import choices_text
from shrag.serving.events import ModelCall
from shrag.serving.evidence_text import fence_records
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import Question
from shrag.serving.stepwise.notes import Worked, notes_text
from shrag.serving.stepwise.ways import Lookup

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

    Raises as :func:`~shrag.serving.asking_model.ask` does, like the others.
    """
    values = {**_asked(question), "most": str(MOST_STEPS)}
    made, calls = ask(model, Step("decompose", "substeps", question.language, values, max_tokens=768), _Steps)
    steps: dict[str, SubQuestion] = {}
    for each in made.steps:
        text = plain_line(each.question)
        if readable(text):
            steps.setdefault(text.casefold(), SubQuestion(text, plain_line(each.query) or text))
    return list(steps.values())[:MOST_STEPS], calls


def say_logically(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return what a source that settles ``step`` would explain: the logical query q* of r and q."""
    values = {"question": step.question, "query": step.query}
    made, calls = ask(model, Step("query", "logical", question.language, values, max_tokens=384), _Explanation)
    return plain_line(made.explanation), calls


def step_back(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return the principle behind ``step`` (step-back prompting)."""
    asked = Step("query", "principle", question.language, {"question": step.question}, max_tokens=384)
    made, calls = ask(model, asked, _Principle)
    return plain_line(made.principle), calls


def suppose(step: SubQuestion, question: Question, model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return a passage that might answer ``step`` (HyDE)."""
    asked = Step("hypothesis", "passage", question.language, {"question": step.question}, max_tokens=512)
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
    made, calls = ask(model, Step("step", "solve", question.language, values, max_tokens=768), _Solution)
    text = plain_line(made.solution)
    rests = records[made.record - 1].docid if text and 0 < made.record <= len(records) else ""
    return Solution(text, rests), calls


def readable(text: str) -> bool:
    """Say whether ``text`` has a letter or a digit: without one it is no question."""
    return any(character.isalnum() for character in text)


def _asked(question: Question) -> dict[str, str]:
    return {"question": question.text, "choices": choices_text(question.choices, question.language)}
