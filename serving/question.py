"""Validate and normalise the question text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import detect_language
from shrag.serving.errors import QuestionError

LONGEST_QUESTION = 2_000
"""Characters a question may have."""

AnswerLanguage = Literal["ko", "en"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question fit to be searched for; ``language`` is the one it is answered in.

    ``choices`` are what it is to be answered by one of, as
    :func:`~shrag.serving.answering.multiple_choice.read_choices` gives them.
    """

    text: str
    language: AnswerLanguage
    choices: tuple[str, ...] = ()


def read_question(raw: str) -> Question:
    """Return the question in ``raw``; raises :class:`QuestionError` for an empty or too long one."""
    if len(raw) > LONGEST_QUESTION:
        raise QuestionError(
            "question_too_long",
            f"The question has {len(raw)} characters, at most {LONGEST_QUESTION} are read: shorten it.",
        )
    text = plain_line(raw)
    if not text:
        raise QuestionError("question_empty", "The question is empty: write one.")
    return Question(text, "ko" if detect_language(text) == "ko" else "en")
