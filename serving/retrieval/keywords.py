"""Keyword extraction (LLM or tf-idf) and keyword weighting.

The two prompts are answered side by side. Compounds are split into single words, since compound keywords find less (the
SHRAG paper, 3.1), and a word that the index does not have is no keyword: it would find nothing.

Without a model, and where it fails, the question's own words are the keywords, carried into the other language by the
index's glossary.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from itertools import zip_longest
from typing import Annotated, NamedTuple

import msgspec

from shrag.indexing.glossary.query_translation import Way, is_korean
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.search_engine import SearchEngine
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.concurrency import side_by_side
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import Event, Fallback, Keyword, KeywordOrder, Keywords, ModelCall
from shrag.serving.llm.request_model import fallen_back
from shrag.serving.llm.structured_call import Step, ask
from shrag.serving.question import Question
from shrag.serving.retrieval.query_builder import in_languages
from shrag.serving.retrieval.query_terms import Word, choose_words, join_words, question_words, searchable
from shrag.serving.strategy import Request, Resources, WordChoice
from shrag.serving.timing import Stopwatch

LEAST, MOST = 2, 5
"""How many keywords are asked for in each language, as in the paper."""

_LONGEST = 60


_Phrase = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]


class KeywordList(msgspec.Struct, frozen=True):
    """What a model is asked to write: the most important keyword first, and what the question excludes."""

    keywords: Annotated[list[_Phrase], msgspec.Meta(min_length=1, max_length=2 * MOST)]
    excluded: Annotated[list[_Phrase], msgspec.Meta(max_length=MOST)] = []


class ModelKeywords(NamedTuple):
    """Words of the index in the model's order, what it answered, the calls that took, and the excluded phrases."""

    words: list[Word]
    answers: tuple[KeywordList, ...]
    calls: tuple[ModelCall, ...]
    excluded: list[list[Word]]


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
    found = _words(ranked, question, index, words)
    excluded = _excluded_phrases([phrase for answer in answers for phrase in answer.excluded], index)
    kept = without_terms(found, excluded)
    # A model that excludes all its keywords has mistaken the question.
    return ModelKeywords(kept or found, tuple(answers), calls, excluded if kept else [])


def without_terms(words: Sequence[Word], phrases: Iterable[Sequence[Word]]) -> list[Word]:
    """Return the ``words`` that share no term with the ``phrases``."""
    excluded = {term for phrase in phrases for word in phrase for term in word.terms}
    return [word for word in words if excluded.isdisjoint(word.terms)]


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


def _excluded_phrases(excluded: Sequence[str], index: OpenIndex) -> list[list[Word]]:
    """Return the words of each phrase, each phrase once, without those that the index does not have as a whole."""
    phrases = [question_words(phrase, index.analyzer, index.engine, index.glossary) for phrase in excluded]
    known = [phrase for phrase in phrases if phrase and all(word.known for word in phrase)]
    return list({tuple(word.terms for word in phrase): phrase for phrase in known}.values())


def _count_uses(word: Word, asked: Sequence[str]) -> Word:
    return word._replace(uses=max(1, *(asked.count(term) for term in word.terms)))


def _in_place(word: Word, language: Language) -> Word:
    """Return a word of the other language as its own way to be said there, which the carried queries are made of."""
    korean = any(is_korean([term]) for term in word.terms)
    if korean == (language == "ko"):
        return word
    return word._replace(ways=(Way(word.text, word.terms, 1.0),))


_MOST_POSTINGS = 5_000
"""Documents of a term that its entropy is estimated over; a rarer term's is exact."""


def rank_keywords(words: Sequence[Word], order: KeywordOrder, engine: SearchEngine) -> list[tuple[Word, float]]:
    """Return the words with their weights, largest first, ties as they came.

    ``words`` come in the order a language model gave them, or else in that of the question.
    """
    if order == "model":
        return [(word, 1 / place) for place, word in enumerate(words, 1)]
    if order == "entropy":
        weights = [word.uses * log_entropy(word, engine) for word in words]
    else:
        weights = [word.uses * word.idf for word in words]
    return sorted(zip(words, weights, strict=True), key=lambda weighed: -weighed[1])


def log_entropy(word: Word, engine: SearchEngine) -> float:
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


def _log_entropy(frequencies: Sequence[int], having: int, documents: int) -> float:
    """``frequencies`` are those of the term's first documents, which stand for all ``having`` it."""
    if documents < 2:
        return 0.0
    total = sum(frequencies)
    entropy = -sum(count / total * math.log(count / total) for count in frequencies)
    # Uses spread over the documents not read as they are over those read.
    entropy += math.log(having / len(frequencies))
    return 1 - entropy / math.log(documents)


class Chosen(NamedTuple):
    """The question's own ``words``, and the ``keywords`` to search for, most important first.

    ``own`` are the keywords among the question's words where a model chose others: they are searched for too, by one
    query, so that a model that mistakes the question cannot lose what it says. Records that hold all words of one of
    the ``excluded`` phrases are left out.
    """

    words: list[Word]
    keywords: list[Word]
    own: list[Word]
    excluded: Sequence[Sequence[Word]] = ()


def choose_keywords(request: Request, resources: Resources, watch: Stopwatch) -> Generator[Event, None, Chosen]:
    """Yield the model's calls, or what was done without it, then the keywords; return what was chosen."""
    index, model, settings, question = resources.index, resources.model, request.settings, request.question
    with watch.stage("keywords"):
        words = question_words(question.text, index.analyzer, index.engine, index.glossary)
    candidates = own = choose_words(searchable(words), question.text, settings.words)
    excluded: Sequence[Sequence[Word]] = ()
    order: KeywordOrder = "tfidf" if settings.keyword_order == "model" else settings.keyword_order
    asked = ""
    if model is not None and any(word.keyword for word in words):
        try:
            with watch.stage("keywords"):
                extracted = extract_keywords(question, index, model, settings.words)
        except ModelError as error:
            yield from fallen_back("keywords", error)
        else:
            yield from extracted.calls
            if extracted.words:
                candidates, order, asked = extracted.words, settings.keyword_order, model.name
                excluded, own = extracted.excluded, without_terms(own, extracted.excluded)
            else:
                chosen = ", ".join(keyword for answer in extracted.answers for keyword in answer.keywords)
                message = f"The index has none of what {model.name} chose: {chosen}."
                yield Fallback("keywords", "invalid_output", message)
    with watch.stage("keywords"):
        candidates = in_languages(candidates, settings.languages, question.language)
        ranked = rank_keywords(candidates, order, index.engine)[: settings.keywords]
    yield Keywords(
        keywords=tuple(_keyword(word, weight) for word, weight in ranked),
        unknown=tuple(word.text for word in words if not word.known),
        order=order,
        model=asked,
    )
    beside = rank_keywords(own, "tfidf", index.engine)[: settings.keywords] if asked else []
    return Chosen(words, [word for word, _ in ranked], [word for word, _ in beside], excluded)


def _keyword(word: Word, weight: float) -> Keyword:
    carried = tuple(way.text for way in word.ways if way.text != word.text)
    return Keyword(word.text, word.terms, weight, carried)
