"""Multiple-choice questions: the choices in a prompt, and the choice by a language model or by word overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import msgspec

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.serving.events import ModelCall
from shrag.serving.llm.structured_call import PromptCall, call_model, evidence_values
from shrag.serving.request import LETTERS, AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import matched_share, text_terms

LONGEST_REASONING = 1_500
"""Largest number of characters of the reasoning that a model writes before it chooses."""

_LABEL = {"ko": "선택지", "en": "Choices"}


def choices_text(choices: Sequence[str], language: AnswerLanguage) -> str:
    r"""Return the choices as a prompt shows them, after an empty line; empty without choices.

    >>> choices_text(["red", "blue"], "en")
    '\n\nChoices:\nA. red\nB. blue'
    """
    if not choices:
        return ""
    lines = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    return "\n".join([f"\n\n{_LABEL[language]}:", *lines])


def question_values(question: Question) -> dict[str, str]:
    """Return the variables of a prompt: ``question``, its text, and ``choices`` by :func:`choices_text`."""
    return {"question": question.text, "choices": choices_text(question.choices, question.language)}


def choose_by_words(question: Question, evidence: Sequence[AnalyzedRecord], index: OpenIndex) -> str:
    """Return the letter of the choice that shares most words with a sentence of ``evidence``, or "" if none is best.

    A choice's own words are those that the question lacks. The score of a choice in a sentence is the share of the
    question's words in the sentence, times the share of the choice's own words in it; both are weighted by idf. A
    choice takes the score of its best sentence. No choice is best on a tie, if all scores are 0, or if a choice has no
    word of its own, such as yes and no.
    """
    sentence_terms = [frozenset(terms) for each in evidence for terms in each.sentence_terms]
    query = text_terms(question.text, index)
    question_terms = frozenset(term for word in query for term in word.terms)
    scores: list[float] = []
    for choice in question.choices:
        own = [word for word in text_terms(choice, index) if question_terms.isdisjoint(word.terms)]
        if not own:
            return ""
        scores.append(
            max((matched_share(query, terms) * matched_share(own, terms) for terms in sentence_terms), default=0.0)
        )
    best = max(scores, default=0.0)
    return LETTERS[scores.index(best)] if best > 0 and scores.count(best) == 1 else ""


def choose_by_model(
    question: Question, records: Sequence[Record], notes: str, model: LanguageModel
) -> tuple[str, list[ModelCall]]:
    """Let a model choose, after a few sentences of reasoning (the last step of the RAISE paper).

    Args:
        question: A question with choices.
        records: The evidence shown in the prompt.
        notes: The sub-questions answered so far, as text.
        model: The language model.

    Returns:
        The letter, and the calls that were made.

    Raises:
        ModelError: :func:`~shrag.serving.llm.structured_call.call_model` raises it.
    """
    letters = LETTERS[: len(question.choices)]
    values = evidence_values(question, records) | question_values(question)
    values |= {"worked": notes, "letters": ", ".join(letters)}
    call = PromptCall("answer", "choose", question.language, values, max_tokens=768)
    reply, calls = call_model(model, call, _choice_type(letters[-1]))
    letter: str = reply.choice.rstrip()  # the pattern lets a newline stand behind the letter
    return letter, calls


@cache
def _choice_type(last: str) -> type[Any]:
    """Return the type of a reply whose choice is a letter from A to ``last``."""
    return msgspec.defstruct(
        "Choice",
        [
            ("reasoning", Annotated[str, msgspec.Meta(max_length=LONGEST_REASONING)]),
            ("choice", Annotated[str, msgspec.Meta(pattern=f"^[A-{last}]$")]),
        ],
        frozen=True,
    )
