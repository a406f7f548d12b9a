"""Keywords of a question, chosen by a language model (step 1 of SHRAG).

The model is asked for keywords in Korean and in English, each by its own prompt, in parallel. Compounds are split at
blanks, since compound keywords find less (the SHRAG paper, 3.1). A word that the index does not have is left out, since
it would find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.translation.query_translation import Translation, analyze_question, is_korean
from shrag.messages.text import message_of
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.concurrency import parallel_map
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import Event, Fallback, ModelCall
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import Question
from shrag.serving.retrieval.known_phrases import join_known_phrases
from shrag.serving.retrieval.query_terms import (
    QueryTerm,
    join_terms,
    query_terms,
    searchable,
    text_terms,
    without_terms,
)
from shrag.serving.search_settings import Languages, WordChoice

LEAST, MOST = 2, 5
"""How many keywords a model is asked for in each language, as in the paper."""

_LONGEST = 60

_Phrase = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]


class KeywordList(msgspec.Struct, frozen=True):
    """What a model is asked to write: the most important keyword first, and what the question excludes."""

    keywords: Annotated[list[_Phrase], msgspec.Meta(min_length=1, max_length=2 * MOST)]
    excluded: Annotated[list[_Phrase], msgspec.Meta(max_length=MOST)] = []


class ModelKeywords(NamedTuple):
    """Keywords that the index has, in the model's order, and the phrases that the question excludes."""

    keywords: list[QueryTerm]
    excluded: list[list[QueryTerm]]

    def written_in(self, languages: Languages) -> list[QueryTerm]:
        """Return the keywords in one language, or in both."""
        return [word for word in self.keywords if languages in {"both", _language(word)}]


def extract_keywords(
    question: Question, terms: Sequence[str], index: OpenIndex, model: LanguageModel, words: WordChoice
) -> tuple[ModelKeywords | None, list[Event]]:
    """Return a model's keywords, None if it gives none of use, and its calls and fallbacks as events.

    Keywords are ordered by their rank in the list of their language; on a tie, the question's language comes first.

    Args:
        question: What is asked.
        terms: The question's index terms, including repeated ones.
        index: The index that must have the keywords.
        model: The model.
        words: How a keyword of several words is split: at ``blanks``, as in the paper; into ``morphemes``; into phrases
            that are ``known`` to the index; not at all (``compound``); or not at all and also into morphemes
            (``both``).
    """
    languages: tuple[Language, Language] = ("ko", "en") if question.language == "ko" else ("en", "ko")
    answers, events = attempt("keywords", model, partial(_ask_in_both, question.text, languages))
    if answers is None:
        return None, events
    lists = (map(plain_line, answer.keywords[:MOST]) for answer in answers)
    ranked = [keyword for pair in zip_longest(*lists) for keyword in pair if keyword is not None]
    found = _known_words(ranked, question, terms, index, words)
    if not found:
        written = ", ".join(plain_line(keyword) for answer in answers for keyword in answer.keywords)
        message = f"The index has none of what {model.name} chose: {written}."
        return None, [*events, Fallback("keywords", "invalid_output", message)]
    excluded = _known_phrases([phrase for answer in answers for phrase in answer.excluded], index)
    kept = without_terms(found, excluded)
    # A model that excludes all its keywords has misread the question.
    return (ModelKeywords(kept, excluded) if kept else ModelKeywords(found, [])), events


def _ask_in_both(
    question: str, languages: Sequence[Language], model: LanguageModel
) -> tuple[list[KeywordList], list[ModelCall]]:
    """Return the keywords in each language and all calls; raise :class:`ModelError` if a reply is not usable."""
    asked = parallel_map(lambda language: _ask(question, language, model), languages)
    calls = [call for _, made in asked for call in made]
    answers: list[KeywordList] = []
    for answer, _ in asked:
        if isinstance(answer, UnusableOutput):
            raise UnusableOutput(message_of(answer), calls)
        answers.append(answer)
    return answers, calls


def _ask(
    question: str, language: Language, model: LanguageModel
) -> tuple[KeywordList | UnusableOutput, Sequence[ModelCall]]:
    """Return the keywords in one language, or the error of an unusable reply, and the calls."""
    values = {"question": question, "least": str(LEAST), "most": str(MOST)}
    call = PromptCall("keywords", "keywords", language, values, max_tokens=1024, urgent=True)
    try:
        return call_model(model, call, KeywordList)
    except UnusableOutput as error:
        return error, error.calls


def _known_words(
    keywords: Sequence[str], question: Question, terms: Sequence[str], index: OpenIndex, choice: WordChoice
) -> list[QueryTerm]:
    """Return the words of the keywords that the index has, in order, each once."""
    found: dict[tuple[str, ...], QueryTerm] = {}
    for keyword in keywords:
        for word in _split(keyword, index, choice):
            counted = _in_place(_count(word, terms), question.language)
            found.setdefault(counted.terms, counted)
    return list(found.values())


def _split(keyword: str, index: OpenIndex, choice: WordChoice) -> list[QueryTerm]:
    """Return the searchable words that a model's keyword is split into."""
    if choice == "blanks":
        return [join_terms(words, piece) for piece in keyword.split() if (words := _known_phrases_of(piece, index))]
    if choice == "known":
        return _known_phrases_of(keyword, index)
    words = searchable(text_terms(keyword, index))
    whole = [join_terms(words)] if len(words) > 1 and choice in {"both", "compound"} else []
    return [*whole, *(words if choice != "compound" or not whole else [])]


def _known_phrases_of(text: str, index: OpenIndex) -> list[QueryTerm]:
    question = analyze_question(text, index.analyzer, index.searcher, index.glossary)
    return join_known_phrases(question, searchable(query_terms(question)), index.searcher)


def _known_phrases(excluded: Sequence[str], index: OpenIndex) -> list[list[QueryTerm]]:
    """Return the words of each phrase, each phrase once, without phrases of which the index lacks a word."""
    phrases = [text_terms(phrase, index) for phrase in excluded]
    known = [phrase for phrase in phrases if phrase and all(word.known for word in phrase)]
    return list({tuple(word.terms for word in phrase): phrase for phrase in known}.values())


def _count(word: QueryTerm, terms: Sequence[str]) -> QueryTerm:
    """Return the word with its frequency in the question, at least 1; a phrase has that of its rarest part."""
    if word.parts:
        parts = tuple(_count(part, terms) for part in word.parts)
        return word._replace(parts=parts, frequency=min(part.frequency for part in parts))
    return word._replace(frequency=max(1, *(terms.count(term) for term in word.terms)))


def _in_place(word: QueryTerm, language: Language) -> QueryTerm:
    """Return a word; one of the other language becomes its own translation, for the translated queries."""
    if word.parts:
        return word._replace(parts=tuple(_in_place(part, language) for part in word.parts))
    if _language(word) == language:
        return word
    return word._replace(translations=(Translation(word.text, word.terms, 1.0),))


def _language(word: QueryTerm) -> Language:
    return "ko" if any(is_korean([term]) for term in word.terms) else "en"
