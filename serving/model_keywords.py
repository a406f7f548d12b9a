"""Step 1 of SHRAG with a language model: keywords in Korean and in English, each asked for in its own language.

The two prompts are answered side by side. Compounds are split into single words, since compound keywords find less (the
SHRAG paper, 3.1), and a word that the index does not have is no keyword: it would find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, NamedTuple

import msgspec

from shrag.indexing.carrying import Way, is_korean
from shrag.indexing.opening import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.asking_model import Step, ask
from shrag.serving.compounds import join_words
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall
from shrag.serving.question import Question
from shrag.serving.search_settings import WordChoice
from shrag.serving.side_by_side import side_by_side
from shrag.serving.words import Word, question_words, searchable

LEAST, MOST = 2, 5
"""How many keywords are asked for in each language, as in the paper."""

_LONGEST = 60


class KeywordList(msgspec.Struct, frozen=True):
    """What a model is asked to write: the most important keyword first."""

    keywords: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]],
        msgspec.Meta(min_length=1, max_length=2 * MOST),
    ]


class ModelKeywords(NamedTuple):
    """Words of the index in the model's order, what it answered, and the calls that took."""

    words: list[Word]
    answers: tuple[KeywordList, ...]
    calls: tuple[ModelCall, ...]


def extract_keywords(
    question: Question, index: OpenIndex, model: LanguageModel, words: WordChoice = "split"
) -> ModelKeywords:
    """Ask ``model`` for keywords in both languages; raises as :func:`ask` does, for either.

    A keyword's place is its rank in its language's list, the question's own language first where two share a rank.
    ``words`` says whether one of several words is split, as in the paper, stays whole, or is both.
    """
    languages: tuple[Language, Language] = ("ko", "en") if question.language == "ko" else ("en", "ko")
    asked = side_by_side(lambda language: _ask(question.text, language, model), languages)
    calls = tuple(call for _, told in asked for call in told)
    answers: list[KeywordList] = []
    for answer, _ in asked:
        if isinstance(answer, UnusableOutput):
            raise UnusableOutput(str(answer), calls)
        answers.append(answer)
    own, other = (answer.keywords[:MOST] for answer in answers)
    ranked = [keyword for pair in zip_longest(own, other) for keyword in pair if keyword is not None]
    return ModelKeywords(_words(ranked, question, index, words), tuple(answers), calls)


def _ask(
    question: str, language: Language, model: LanguageModel
) -> tuple[KeywordList | UnusableOutput, Sequence[ModelCall]]:
    """Return the keywords in one language, or why what was written is none, and the calls."""
    values = {"question": question, "least": str(LEAST), "most": str(MOST)}
    try:
        return ask(model, Step("keywords", "keywords", language, values, max_tokens=1024), KeywordList)
    except UnusableOutput as error:
        return error, error.calls


def _words(keywords: Sequence[str], question: Question, index: OpenIndex, choice: WordChoice) -> list[Word]:
    """Return the words of the keywords in order, each once, those that the index has."""
    (asked,) = index.analyzer.terms([question.text])
    found: dict[tuple[str, ...], Word] = {}
    for keyword in keywords:
        words = searchable(question_words(keyword, index.analyzer, index.engine, index.glossary))
        single = [_in_place(_count_uses(word, asked), question.language) for word in words]
        whole = [join_words(single)] if len(single) > 1 and choice != "split" else []
        for word in [*whole, *(single if choice != "compound" or not whole else [])]:
            found.setdefault(word.terms, word)
    return list(found.values())


def _count_uses(word: Word, asked: Sequence[str]) -> Word:
    return word._replace(uses=max(1, *(asked.count(term) for term in word.terms)))


def _in_place(word: Word, language: Language) -> Word:
    """Return a word of the other language as its own way to be said there, which the carried queries are made of."""
    korean = any(is_korean([term]) for term in word.terms)
    if korean == (language == "ko"):
        return word
    return word._replace(ways=(Way(word.text, word.terms, 1.0),))
