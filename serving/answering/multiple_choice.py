"""Multiple-choice questions: parse options, choose one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.open_index import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.serving.errors import QuestionError
from shrag.serving.events import Answer, ModelCall
from shrag.serving.llm.structured_call import Step, ask, fence_records
from shrag.serving.question import AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import matched_share, question_words

LETTERS = "ABCDEFGHIJ"
"""What choices are called by, in their order; there are no more choices than letters."""

LONGEST_CHOICE = 500
"""Characters a choice may have."""

_LABEL = {"ko": "선택지", "en": "Choices"}


def read_choices(raw: Sequence[str]) -> tuple[str, ...]:
    """Return the choices in ``raw`` as plain lines, none for none.

    Raises :class:`QuestionError` for a single one, too many, an empty or too long one, or two that are the same.
    """
    choices = tuple(plain_line(text) for text in raw)
    if choices and not 2 <= len(choices) <= len(LETTERS):
        raise _wrong(f"A question has from 2 to {len(LETTERS)} choices or none, got {len(choices)}.")
    for letter, choice in zip(LETTERS, choices, strict=False):
        if not choice:
            raise _wrong(f"Choice {letter} is empty: write it, or leave it out.")
        if len(choice) > LONGEST_CHOICE:
            raise _wrong(f"Choice {letter} has {len(choice)} characters, at most {LONGEST_CHOICE} are: shorten it.")
        if choices.index(choice) != LETTERS.index(letter):
            raise _wrong(f"Choice {letter} is choice {LETTERS[choices.index(choice)]} again: leave one of them out.")
    return choices


def choices_text(choices: Sequence[str], language: AnswerLanguage) -> str:
    r"""Return the choices as they stand under a question in a prompt, empty where there are none.

    >>> choices_text(["red", "blue"], "en")
    '\n\nChoices:\nA. red\nB. blue'
    """
    if not choices:
        return ""
    lines = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    return "\n".join([f"\n\n{_LABEL[language]}:", *lines])


def choose_by_words(question: str, choices: Sequence[str], answer: Answer, index: OpenIndex) -> str:
    """Return the letter of the choice whose own words a sentence of ``answer`` holds best, empty where none leads.

    Without a model this is all that can be said: of a sentence, the share of the question's words times the share of
    the words that the choice has and the question lacks, by idf; the best sentence counts. Where one of the choices
    has no content word of its own (yes or no), nothing can be said for or against it, and none is chosen.
    """
    analyzer = index.analyzer
    sentences = [one.text for section in answer.sections if section.part != "title" for one in section.sentences]
    held = [frozenset(terms) for terms in analyzer.terms(sentences)] if sentences else []
    asked = question_words(question, analyzer, index.engine, index.glossary)
    known = frozenset(term for word in asked for term in word.terms)
    scores: list[float] = []
    for choice in choices:
        words = question_words(choice, analyzer, index.engine, index.glossary)
        own = [word for word in words if known.isdisjoint(word.terms)]
        if not own:
            return ""
        scores.append(max((matched_share(asked, terms) * matched_share(own, terms) for terms in held), default=0.0))
    best = max(scores, default=0.0)
    return LETTERS[scores.index(best)] if best > 0 and scores.count(best) == 1 else ""


def _wrong(message: str) -> QuestionError:
    return QuestionError("choices_invalid", message)


LONGEST_REASONING = 1_500
"""Characters a model may think in before it chooses."""


def choose_by_model(
    question: Question, records: Sequence[Record], worked: str, model: LanguageModel
) -> tuple[str, list[ModelCall]]:
    """Return the letter of the choice that ``model`` makes from ``records`` and the notes ``worked``, and its calls.

    Only letters that the question has can be chosen: another one is :class:`InvalidOutput`. Raises as
    :func:`~shrag.serving.llm.structured_call.ask` does.
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
