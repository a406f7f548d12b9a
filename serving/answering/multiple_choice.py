"""Multiple-choice questions: show the choices in a prompt, and choose one by a language model or by words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import msgspec

from shrag.corpora.records import Record
from shrag.indexing.open_index import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.serving.events import Answer, ModelCall
from shrag.serving.llm.structured_call import PromptCall, ask, fence_records
from shrag.serving.request import LETTERS, AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import matched_share, text_terms

LONGEST_REASONING = 1_500
"""Characters a model may think in before it chooses."""

_LABEL = {"ko": "선택지", "en": "Choices"}


def choices_text(choices: Sequence[str], language: AnswerLanguage) -> str:
    r"""Return the choices as a prompt has them below a question, empty where there are none.

    >>> choices_text(["red", "blue"], "en")
    '\n\nChoices:\nA. red\nB. blue'
    """
    if not choices:
        return ""
    lines = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    return "\n".join([f"\n\n{_LABEL[language]}:", *lines])


def choose_by_words(question: Question, answer: Answer, index: OpenIndex) -> str:
    """Return the letter of the choice whose own words a sentence of ``answer`` has best, empty where none leads.

    Without a model this is all that can be said: of a sentence, the share of the question's words times the share of
    the words that the choice has and the question lacks, by idf; the best sentence counts. Where one of the choices
    has no content word of its own (yes or no), nothing can be said for or against it, and none is chosen.
    """
    sentences = [one.text for section in answer.sections if section.part != "title" for one in section.sentences]
    held = [frozenset(terms) for terms in index.analyzer.terms(sentences)] if sentences else []
    query = text_terms(question.text, index)
    known = frozenset(term for word in query for term in word.terms)
    scores: list[float] = []
    for choice in question.choices:
        own = [word for word in text_terms(choice, index) if known.isdisjoint(word.terms)]
        if not own:
            return ""
        scores.append(max((matched_share(query, terms) * matched_share(own, terms) for terms in held), default=0.0))
    best = max(scores, default=0.0)
    return LETTERS[scores.index(best)] if best > 0 and scores.count(best) == 1 else ""


def choose_by_model(
    question: Question, records: Sequence[Record], notes: str, model: LanguageModel
) -> tuple[str, list[ModelCall]]:
    """Return the letter of the choice that a model makes, which thinks first, and its calls; step 5 of RAISE.

    Args:
        question: The question with its choices. Another letter than theirs is :class:`InvalidOutput`.
        records: What the model chooses from.
        notes: What was found out before.
        model: The model.

    Raises:
        ModelError: As :func:`~shrag.serving.llm.structured_call.ask` raises it.
    """
    letters = LETTERS[: len(question.choices)]
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "worked": notes,
        "records": fence_records(records, question.language),
        "count": str(len(records)),
        "letters": ", ".join(letters),
    }
    value, calls = ask(model, PromptCall("answer", "choose", question.language, values, 768), _choice_type(letters[-1]))
    letter: str = value.choice
    return letter, calls


@cache
def _choice_type(last: str) -> type[Any]:
    """Return what a model is asked to write where the last choice is called ``last``."""
    return msgspec.defstruct(
        "Choice",
        [
            ("reasoning", Annotated[str, msgspec.Meta(max_length=LONGEST_REASONING)]),
            ("choice", Annotated[str, msgspec.Meta(pattern=f"^[A-{last}]$")]),
        ],
        frozen=True,
    )
