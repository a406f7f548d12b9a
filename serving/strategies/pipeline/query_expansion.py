"""Query expansion: multiple queries, hypothetical answers and translations.

Hypothetical answers of a model are HyDE with several answers (Gao et al., *Precise zero-shot dense retrieval without
relevance labels*, ACL 2023). Without a model, pseudo-relevance feedback replaces them: a first search gives the
sentences of its best records that hold most of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import any_of
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question, is_korean
from shrag.models.language_model import LanguageModel
from shrag.serving.events import ModelCall, NodeKind
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.query_builder import reduce_translated_query
from shrag.serving.retrieval.query_terms import QueryTerm, matched_share, query_terms, rank_keywords, searchable

LONGEST_QUERY = 300
"""Characters of a query that is added to the question."""


class ExpandedQuery(NamedTuple):
    """A query as text, its index terms, joined by OR, and its words that the index has."""

    text: str
    terms: tuple[str, ...]
    words: tuple[str, ...]
    kind: NodeKind = "question"


def query_of_text(text: str, index: OpenIndex, kind: NodeKind) -> ExpandedQuery:
    """Return the query of all terms of a text."""
    analyzed = analyze_question(text, index.analyzer, index.searcher)
    known = (word.text for word in query_terms(analyzed) if word.known)
    return ExpandedQuery(text, tuple(analyzed.terms), tuple(known), kind)


def query_of_question(question: AnalyzedQuestion, words: Sequence[QueryTerm]) -> ExpandedQuery:
    """Return the query of all terms of a question, whose ``words`` are given."""
    frequencies = question.statistics.contents.document_frequencies
    known = (word.text for word in words if any(frequencies[term] for term in word.terms))
    return ExpandedQuery(question.text, tuple(question.terms), tuple(known))


def queries_of_texts(
    texts: Iterable[str], question: Question, count: int, index: OpenIndex, kind: NodeKind
) -> list[ExpandedQuery]:
    """Return at most ``count`` queries of the texts that a model wrote, without repetitions or the question."""
    lines = (plain_line(text) for text in texts)
    return distinct(query_of_text(line, index, kind) for line in lines if line and line != question.text)[:count]


def query_of_words(words: Sequence[QueryTerm], kind: NodeKind) -> ExpandedQuery:
    """Return the query of some words of a question."""
    texts = tuple(word.text for word in words)
    return ExpandedQuery(" ".join(texts), tuple(chain.from_iterable(word.terms for word in words)), texts, kind)


def translated(words: Sequence[QueryTerm], language: AnswerLanguage, kind: NodeKind) -> list[ExpandedQuery]:
    """Return the query of the best translations of a question's ``words``; none where nothing is translated.

    ``language`` is the question's. Words that both languages write alike are kept: LSTM is LSTM in both.
    """
    reduced = reduce_translated_query(searchable(words), language)
    if not reduced:
        return []
    texts: dict[str, tuple[str, ...]] = {}
    for word in reduced[0]:
        alike = language == "ko" and not is_korean(word.terms)
        # Synonyms in the question's own language are translations too, and stand first where there is no other.
        other = [each for each in word.translations if is_korean(each.terms) != (language == "ko")]
        best = (other or word.translations or (word,))[0] if not alike else word
        texts.setdefault(best.text, best.terms)
    return [_join(texts, kind)]


def _join(texts: Mapping[str, tuple[str, ...]], kind: NodeKind) -> ExpandedQuery:
    """Return the query of words, given with their terms."""
    return ExpandedQuery(" ".join(texts), tuple(chain.from_iterable(texts.values())), tuple(texts), kind)


def distinct(queries: Iterable[ExpandedQuery]) -> list[ExpandedQuery]:
    """Return the queries that have terms, one for each set of terms."""
    first: dict[tuple[str, ...], ExpandedQuery] = {}
    for query in queries:
        if query.terms:
            first.setdefault(tuple(sorted(query.terms)), query)
    return list(first.values())


_FEWEST_KEYWORDS = 3  # with fewer keywords, no query is made from a part of them

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUERY)]


class _Queries(msgspec.Struct, frozen=True):
    queries: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def augment_by_model(
    question: Question, count: int, index: OpenIndex, model: LanguageModel
) -> tuple[list[ExpandedQuery], list[ModelCall]]:
    """Return at most ``count`` queries that a model writes; raises as :func:`call_model` does."""
    values = {"question": question.text, "count": str(count)}
    reply, calls = call_model(model, PromptCall("query", "augment", question.language, values), _Queries)
    return queries_of_texts(reply.queries, question, count, index, "augmentation"), calls


def augment_by_words(
    words: Sequence[QueryTerm], language: AnswerLanguage, count: int, index: OpenIndex
) -> list[ExpandedQuery]:
    """Return at most ``count`` queries made of the question's ``words``, without repetitions.

    The queries are, in this order:

    - the question in the other language;
    - the question with synonyms, which are words that share a translation in the glossary;
    - the more important half of its keywords;
    - all keywords but the most important one;
    - the less important half of them.
    """
    whole = query_of_words(searchable(words), "augmentation")
    made = distinct([whole, *_candidates(words, language, index)])
    return [query for query in made if query is not whole][:count]


def _candidates(words: Sequence[QueryTerm], language: AnswerLanguage, index: OpenIndex) -> Iterator[ExpandedQuery]:
    yield from translated(words, language, "augmentation")
    yield from _with_synonyms(words, index)
    ranked = [word for word, _ in rank_keywords(searchable(words), "tfidf", index.searcher)]
    if len(ranked) < _FEWEST_KEYWORDS:
        return
    half = -(-len(ranked) // 2)
    for chosen in (ranked[:half], ranked[1:], ranked[half:]):
        yield query_of_words(chosen, "augmentation")


def _with_synonyms(words: Sequence[QueryTerm], index: OpenIndex) -> list[ExpandedQuery]:
    """Return the question with each keyword replaced by its best synonym; none where no keyword has one."""
    if index.glossary is None:
        return []
    keywords = searchable(words)
    texts: dict[str, tuple[str, ...]] = {}
    for word in keywords:
        back = index.glossary.look_up([word.translations[0].terms])[0] if word.translations else []
        names = [
            name
            for entry in back
            for name in ((entry.korean, entry.korean_terms), (entry.english, entry.english_terms))
            if set(name[1]).isdisjoint((*word.terms, *word.translations[0].terms))
        ]
        text, terms = names[0] if names else (word.text, word.terms)
        texts.setdefault(text, terms)
    if all(word.text in texts for word in keywords):
        return []
    return [_join(texts, "augmentation")]


FIRST_SEARCH = 10
"""Records of the first search whose sentences become queries."""

_MOST_TERMS = 64


class _Answers(msgspec.Struct, frozen=True):
    answers: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def hypotheses_by_model(
    question: Question, count: int, index: OpenIndex, model: LanguageModel
) -> tuple[list[ExpandedQuery], list[ModelCall]]:
    """Return at most ``count`` hypothetical answers that a model writes; raises as :func:`call_model` does."""
    values = {"question": question.text, "count": str(count)}
    reply, calls = call_model(model, PromptCall("hypothesis", "hypotheses", question.language, values), _Answers)
    return queries_of_texts(reply.answers, question, count, index, "hypothesis"), calls


def hypotheses_by_sentences(
    words: Sequence[QueryTerm], own: ExpandedQuery, count: int, index: OpenIndex
) -> list[ExpandedQuery]:
    """Return the ``count`` sentences, one from each record of a first search, that hold most of the question.

    ``words`` are the question's, ``own`` is its query. Ties go to the better record.
    """
    if not own.terms:
        return []
    (hits,) = index.searcher.search([any_of(own.terms)], FIRST_SEARCH)
    best: list[tuple[float, ExpandedQuery]] = []
    for analyzed in index.store.fetch([hit.docid for hit in hits]):
        if analyzed is None or not analyzed.record.complete or not analyzed.sentence_terms:
            continue
        shares = [matched_share(words, frozenset(terms)) for terms in analyzed.sentence_terms]
        position = max(range(len(shares)), key=shares.__getitem__)
        start, end = split_sentences(analyzed.record.text)[position]
        text = plain_line(analyzed.record.text[start : min(end, start + LONGEST_QUERY)])
        terms = tuple(analyzed.sentence_terms[position][:_MOST_TERMS])
        best.append((shares[position], ExpandedQuery(text, terms, (text,), "hypothesis")))
    best.sort(key=lambda sentence: -sentence[0])
    return distinct(query for share, query in best if share > 0)[:count]
