"""What a language model says next: the question it would ask itself, or the thought it goes on with.

The prompts are our own, after self-ask (Press et al. 2023) and IRCoT (Trivedi et al. 2023), two baselines of the
Tree-of-Question paper. What comes back is bounded and cleaned, and nothing of it is trusted further than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.clean import plain_line
from shrag.corpora.records import Record
from shrag.serving.asking_model import Step, ask
from shrag.serving.choices import choices_text
from shrag.serving.events import ModelCall
from shrag.serving.evidence_text import fence_records, unfenced
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import Question
from shrag.serving.stepwise.model_steps import NOTHING
from shrag.serving.stepwise.notes import Worked, notes_text


class Thought(NamedTuple):
    """The next sentence of a chain of thought; ``done`` says that it holds the answer."""

    text: str
    done: bool


class _FollowUp(msgspec.Struct, frozen=True):
    follow_up: Annotated[str, msgspec.Meta(max_length=300)]


class _Thought(msgspec.Struct, frozen=True):
    thought: Annotated[str, msgspec.Meta(max_length=600)]
    done: bool


def follow_up(question: Question, worked: Sequence[Worked], model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return the question that has to be answered next, empty where what was worked out is enough.

    Raises as :func:`~shrag.serving.asking_model.ask` does, like :func:`think`.
    """
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "worked": notes_text(worked, question.language) or NOTHING,
    }
    made, calls = ask(model, Step("query", "followup", question.language, values, max_tokens=192), _FollowUp)
    return plain_line(made.follow_up), calls


def think(
    question: Question, thoughts: Sequence[str], records: Sequence[Record], model: RationedModel
) -> tuple[Thought, list[ModelCall]]:
    """Return the thought that comes after ``thoughts``, given the ``records`` that the last of them found."""
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "thoughts": unfenced("\n".join(thoughts)) or NOTHING,
        "records": fence_records(records, question.language) or NOTHING,
        "count": str(len(records)),
    }
    made, calls = ask(model, Step("step", "thought", question.language, values, max_tokens=384), _Thought)
    return Thought(plain_line(made.thought), made.done), calls
