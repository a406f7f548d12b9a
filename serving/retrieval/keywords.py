"""Keywords of a question, weighted: chosen by a language model where there is one, else by tf-idf (step 1 of SHRAG).

A model is asked for keywords in Korean and in English, each by its own prompt, in parallel. Compounds are split into
single words, since compound keywords find less (the SHRAG paper, 3.1), and a word that the index does not have is no
keyword: it would find nothing. Without a model, and where it fails, the question's own words are the keywords.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from itertools import zip_longest
from typing import Annotated, NamedTuple

import msgspec

from shrag.indexing.glossary.query_translation import AnalyzedQuestion, Translation, is_korean
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.search_engine import SearchEngine
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.concurrency import parallel_map
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import Event, Fallback, Keyword, KeywordOrder, Keywords, ModelCall
from shrag.serving.llm.request_model import fallback_events
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.query_builder import filter_languages
from shrag.serving.retrieval.query_terms import QueryTerm, join_terms, searchable, text_terms
from shrag.serving.search_settings import WordChoice
from shrag.serving.strategy import Resources
from shrag.serving.timing import StageTimer

LEAST, MOST = 2, 5
"""How many keywords a model is asked for in each language, as in the paper."""

_LONGEST = 60

_MOST_POSTINGS = 5_000
"""Documents of a term that its entropy is estimated over; a rarer term's is exact."""


class ChosenKeywords(NamedTuple):
    """The keywords to search for, the most important first, and the event that tells of them.

    ``own`` are the keywords among the question's words where a model chose others: they are searched for too, by one
    query, so that a model that mistakes the question cannot lose what it says. ``excluded`` are the phrases whose
    records are left out.
    """

    event: Keywords
    keywords: list[QueryTerm]
    own: list[QueryTerm]
    excluded: Sequence[Sequence[QueryTerm]] = ()


_Phrase = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]


class KeywordList(msgspec.Struct, frozen=True):
    """What a model is asked to write: the most important keyword first, and what the question excludes."""

    keywords: Annotated[list[_Phrase], msgspec.Meta(min_length=1, max_length=2 * MOST)]
    excluded: Annotated[list[_Phrase], msgspec.Meta(max_length=MOST)] = []


class ModelKeywords(NamedTuple):
    """Words of the index in the model's order, its answers, its calls, and the excluded phrases."""

    words: list[QueryTerm]
    answers: tuple[KeywordList, ...]
    calls: tuple[ModelCall, ...]
    excluded: list[list[QueryTerm]]


def choose_keywords(
    request: Request,
    question: AnalyzedQuestion,
    terms: Sequence[QueryTerm],
    own: Sequence[QueryTerm],
    resources: Resources,
    timer: StageTimer,
) -> Generator[Event, None, ChosenKeywords]:
    """Yield the model's calls, or what was done without it, and the keywords; return what was chosen.

    Args:
        request: The request, whose settings limit and order the keywords.
        question: Its question, analysed.
        terms: The question's own words.
        own: Those of them that can be keywords, single or joined as the settings want them.
        resources: The index, and the model where there is one.
        timer: Adds up the time of the stage ``keywords``.
    """
    index, model, settings = resources.index, resources.model, request.settings
    candidates = own
    excluded: Sequence[Sequence[QueryTerm]] = ()
    order: KeywordOrder = "tfidf" if settings.keyword_order == "model" else settings.keyword_order
    chosen_by = ""
    if model is not None and any(term.keyword for term in terms):
        try:
            with timer.stage("keywords"):
                extracted = extract_keywords(request.question, question.terms, index, model, settings.words)
        except ModelError as error:
            yield from fallback_events("keywords", error)
        else:
            yield from extracted.calls
            if extracted.words:
                candidates, order, chosen_by = extracted.words, settings.keyword_order, model.name
                excluded, own = extracted.excluded, without_terms(own, extracted.excluded)
            else:
                written = ", ".join(keyword for answer in extracted.answers for keyword in answer.keywords)
                message = f"The index has none of what {model.name} chose: {written}."
                yield Fallback("keywords", "invalid_output", message)
    with timer.stage("keywords"):
        if settings.languages != "both":
            candidates = filter_languages(candidates, settings.languages, request.question.language)
        ranked = rank_keywords(candidates, order, index.searcher)[: settings.keywords]
        beside = rank_keywords(own, "tfidf", index.searcher)[: settings.keywords] if chosen_by else []
    event = Keywords(
        keywords=tuple([keyword_of(word, weight) for word, weight in ranked]),
        unknown=tuple([term.text for term in terms if not term.known]),
        order=order,
        model=chosen_by,
    )
    yield event
    return ChosenKeywords(event, [word for word, _ in ranked], [word for word, _ in beside], excluded)


def keyword_of(word: QueryTerm, weight: float) -> Keyword:
    """Return a word as the keywords' event shows it."""
    translations = tuple([each.text for each in word.translations if each.text != word.text])
    return Keyword(word.text, word.terms, weight, translations)


def rank_keywords(
    words: Sequence[QueryTerm], order: KeywordOrder, engine: SearchEngine
) -> list[tuple[QueryTerm, float]]:
    """Return the words with their weights, largest first, ties as they came.

    Args:
        words: In the order that a language model gave them, or else in that of the question.
        order: By tf-idf, the model's own order, or log-entropy (the SHRAG paper, 3).
        engine: Has the frequencies that entropy is computed from.
    """
    if order == "model":
        return [(word, 1 / rank) for rank, word in enumerate(words, 1)]
    if order == "entropy":
        weights = [word.frequency * log_entropy(word, engine) for word in words]
    else:
        weights = [word.frequency * word.idf for word in words]
    return sorted(zip(words, weights, strict=True), key=lambda weighted: -weighted[1])


def log_entropy(word: QueryTerm, engine: SearchEngine) -> float:
    """Return how unevenly the index's documents use a word: 1 where one document has it, 0 where all do alike.

    ``g = 1 + Σ p log p / log N`` with ``p`` the share of the term's uses that a document has, and N documents. Source:
    Dumais, *Improving the retrieval of information from external sources*, Behavior Research Methods 23 (1991). Of
    several terms the most uneven one that the index has counts.
    """
    statistics = engine.statistics(word.terms).contents
    weights = [
        _log_entropy(engine.frequencies(term, _MOST_POSTINGS), documents, statistics.documents)
        for term in word.terms
        if (documents := statistics.document_frequencies[term])
    ]
    return max(weights, default=0.0)


def extract_keywords(
    question: Question,
    terms: Sequence[str],
    index: OpenIndex,
    model: LanguageModel,
    words: WordChoice = "split",
) -> ModelKeywords:
    """Ask a model for keywords in both languages.

    A keyword's position is its rank in its language's list, the question's own language first where two share a rank.

    Args:
        question: What is asked.
        terms: The question's index terms, repeated ones too.
        index: The index that must have the keywords.
        model: The model.
        words: Whether a keyword of several words is split, as in the paper, stays whole, or is both.

    Raises:
        ModelError: As :func:`~shrag.serving.llm.structured_call.call_model` raises it, for either language.
    """
    languages: tuple[Language, Language] = ("ko", "en") if question.language == "ko" else ("en", "ko")
    asked = parallel_map(lambda language: _ask(question.text, language, model), languages)
    calls = tuple(call for _, made in asked for call in made)
    answers: list[KeywordList] = []
    for answer, _ in asked:
        if isinstance(answer, UnusableOutput):
            raise UnusableOutput(str(answer), calls)
        answers.append(answer)
    own, other = (answer.keywords[:MOST] for answer in answers)
    ranked = [keyword for pair in zip_longest(own, other) for keyword in pair if keyword is not None]
    found = _known_words(ranked, question, terms, index, words)
    excluded = _known_phrases([phrase for answer in answers for phrase in answer.excluded], index)
    kept = without_terms(found, excluded)
    # A model that excludes all its keywords has misread the question.
    return ModelKeywords(kept or found, tuple(answers), calls, excluded if kept else [])


def without_terms(words: Sequence[QueryTerm], phrases: Iterable[Sequence[QueryTerm]]) -> list[QueryTerm]:
    """Return the ``words`` that share no term with the ``phrases``."""
    excluded = {term for phrase in phrases for word in phrase for term in word.terms}
    return [word for word in words if excluded.isdisjoint(word.terms)]


def _log_entropy(frequencies: Sequence[int], having: int, documents: int) -> float:
    """``frequencies`` are those of the term's first documents, which stand for all ``having`` it."""
    if documents < 2:
        return 0.0
    total = sum(frequencies)
    entropy = -sum(count / total * math.log(count / total) for count in frequencies)
    # Uses spread over the documents not read as they are over those read.
    entropy += math.log(having / len(frequencies))
    return 1 - entropy / math.log(documents)


def _ask(
    question: str, language: Language, model: LanguageModel
) -> tuple[KeywordList | UnusableOutput, Sequence[ModelCall]]:
    """Return the keywords in one language, or why what was written is none, and the calls."""
    values = {"question": question, "least": str(LEAST), "most": str(MOST)}
    try:
        return call_model(model, PromptCall("keywords", "keywords", language, values, max_tokens=1024), KeywordList)
    except UnusableOutput as error:
        return error, error.calls


def _known_words(
    keywords: Sequence[str], question: Question, terms: Sequence[str], index: OpenIndex, choice: WordChoice
) -> list[QueryTerm]:
    """Return the words of the keywords in order, each once, those that the index has."""
    found: dict[tuple[str, ...], QueryTerm] = {}
    for keyword in keywords:
        words = searchable(text_terms(keyword, index))
        single = [_in_place(_count(word, terms), question.language) for word in words]
        whole = [join_terms(single)] if len(single) > 1 and choice != "split" else []
        for word in [*whole, *(single if choice != "compound" or not whole else [])]:
            found.setdefault(word.terms, word)
    return list(found.values())


def _known_phrases(excluded: Sequence[str], index: OpenIndex) -> list[list[QueryTerm]]:
    """Return the words of each phrase, each phrase once, without phrases that the index does not have whole."""
    phrases = [text_terms(phrase, index) for phrase in excluded]
    known = [phrase for phrase in phrases if phrase and all(word.known for word in phrase)]
    return list({tuple(word.terms for word in phrase): phrase for phrase in known}.values())


def _count(word: QueryTerm, terms: Sequence[str]) -> QueryTerm:
    return word._replace(frequency=max(1, *(terms.count(term) for term in word.terms)))


def _in_place(word: QueryTerm, language: Language) -> QueryTerm:
    """Return a word of the other language as its own translation, which the translated queries are made of."""
    korean = any(is_korean([term]) for term in word.terms)
    if korean == (language == "ko"):
        return word
    return word._replace(translations=(Translation(word.text, word.terms, 1.0),))
