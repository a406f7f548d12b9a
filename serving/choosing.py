"""A language model chooses between the choices of a question, thinking first; step 5 of RAISE for multiple choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import msgspec

from shrag.corpora.records import Record
from shrag.models.language_model import LanguageModel
from shrag.serving.asking_model import Step, ask
from shrag.serving.choices import LETTERS, choices_text
from shrag.serving.events import ModelCall
from shrag.serving.evidence_text import fence_records
from shrag.serving.question import Question

LONGEST_REASONING = 1_500
"""Characters a model may think in before it chooses."""


def choose_by_model(
    question: Question, records: Sequence[Record], worked: str, model: LanguageModel
) -> tuple[str, list[ModelCall]]:
    """Return the letter of the choice that ``model`` makes from ``records`` and the notes ``worked``, and its calls.

    Only letters that the question has can be chosen: another one is :class:`InvalidOutput`. Raises as
    :func:`~shrag.serving.asking_model.ask` does.
    """
    letters = LETTERS[: len(question.choices)]
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "worked": worked,
        "records": fence_records(records, question.language),
        "count": str(len(records)),
        "letters": ", ".join(letters),
    }
    value, calls = ask(model, Step("answer", "choose", question.language, values, 768), _chosen(letters[-1]))
    letter: str = value.choice
    return letter, calls


@cache
def _chosen(last: str) -> type[Any]:
    """Return what a model is asked to write where the last choice is called ``last``."""
    return msgspec.defstruct(
        "Choice",
        [
            ("reasoning", Annotated[str, msgspec.Meta(max_length=LONGEST_REASONING)]),
            ("choice", Annotated[str, msgspec.Meta(pattern=f"^[A-{last}]$")]),
        ],
        frozen=True,
    )
