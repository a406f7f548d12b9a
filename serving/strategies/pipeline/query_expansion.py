"""Multi-query, HyDE and translated queries.

The first is HyDE's idea with more than one answer (Gao et al., *Precise zero-shot dense retrieval without relevance
labels*, ACL 2023), the second is pseudo-relevance feedback by passages: what the likeliest records say where they say
most of the question is how an answer may be worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, analyze_question
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import any_of
from shrag.serving.events import ModelCall, NodeKind
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.query_builder import reduce_translated_query
from shrag.serving.retrieval.query_terms import QueryTerm, matched_share, query_terms, rank_keywords, searchable

LONGEST_QUERY = 300
"""Characters of a text that is searched for beside the question."""


class ExpandedQuery(NamedTuple):
    """A query: its ``text``, the ``terms`` any of which is a match, and the ``words`` of it that the index has."""

    text: str
    terms: tuple[str, ...]
    words: tuple[str, ...]
    kind: NodeKind = "question"


def query_of_text(text: str, index: OpenIndex, kind: NodeKind) -> ExpandedQuery:
    """Return the query that a text is: all its terms, as a bag of words."""
    analyzed = analyze_question(text, index.analyzer, index.searcher)
    known = (word.text for word in query_terms(analyzed) if word.known)
    return ExpandedQuery(text, tuple(analyzed.terms), tuple(known), kind)


def query_of_question(question: AnalyzedQuestion, words: Sequence[QueryTerm]) -> ExpandedQuery:
    """Return the query that a question is: all its terms, as a bag of words; ``words`` are its own."""
    frequencies = question.statistics.contents.document_frequencies
    known = (word.text for word in words if any(frequencies[term] for term in word.terms))
    return ExpandedQuery(question.text, tuple(question.terms), tuple(known))


def queries_of_texts(
    texts: Iterable[str], question: Question, count: int, index: OpenIndex, kind: NodeKind
) -> list[ExpandedQuery]:
    """Return at most ``count`` queries that a model wrote for ``question``, without those that say nothing new."""
    lines = (plain_line(text) for text in texts)
    return distinct(query_of_text(line, index, kind) for line in lines if line and line != question.text)[:count]


def query_of_words(words: Sequence[QueryTerm], kind: NodeKind) -> ExpandedQuery:
    """Return the query that some words of a question are."""
    texts = tuple(word.text for word in words)
    return ExpandedQuery(" ".join(texts), tuple(chain.from_iterable(word.terms for word in words)), texts, kind)


def translated(words: Sequence[QueryTerm], language: AnswerLanguage, kind: NodeKind) -> list[ExpandedQuery]:
    """Return the query that the surest translations of a question's ``words`` are, none where there are none.

    ``language`` is the question's. Words that both languages write alike go along: LSTM is LSTM in both.
    """
    carried = reduce_translated_query(searchable(words), language)
    if not carried:
        return []
    texts: dict[str, tuple[str, ...]] = {}
    for word in carried[0]:
        way = word.translations[0] if word.translations else word
        texts.setdefault(way.text, way.terms)
    return [ExpandedQuery(" ".join(texts), tuple(chain.from_iterable(texts.values())), tuple(texts), kind)]


def distinct(queries: Iterable[ExpandedQuery]) -> list[ExpandedQuery]:
    """Return the queries that have terms, each once: two of the same terms find the same."""
    first: dict[tuple[str, ...], ExpandedQuery] = {}
    for query in queries:
        if query.terms:
            first.setdefault(tuple(sorted(query.terms)), query)
    return list(first.values())


_FEWEST = 3  # keywords of which a part is another query

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUERY)]


class _Queries(msgspec.Struct, frozen=True):
    queries: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def augment_by_model(
    question: Question, count: int, index: OpenIndex, model: RationedModel
) -> tuple[list[ExpandedQuery], list[ModelCall]]:
    """Return at most ``count`` queries that a model writes, none that says nothing; raises as :func:`ask` does."""
    values = {"question": question.text, "count": str(count)}
    written, calls = ask(model, PromptCall("query", "augment", question.language, values), _Queries)
    return queries_of_texts(written.queries, question, count, index, "augmentation"), calls


def augment_by_words(
    words: Sequence[QueryTerm], language: AnswerLanguage, count: int, index: OpenIndex
) -> list[ExpandedQuery]:
    """Return at most ``count`` queries made of the question's ``words``, the likeliest to find something else first.

    They are: the question in the other language; its words by their other names, which the glossary has where two words
    share a translation; the more important half of its keywords; all but the most important one; the other half. There
    are fewer where a question has few keywords, and none twice.
    """
    whole = query_of_words(searchable(words), "augmentation")
    made = distinct([whole, *_candidates(words, language, index)])
    return [query for query in made if query is not whole][:count]


def _candidates(words: Sequence[QueryTerm], language: AnswerLanguage, index: OpenIndex) -> Iterator[ExpandedQuery]:
    yield from translated(words, language, "augmentation")
    yield from _in_other_words(words, index)
    ranked = [word for word, _ in rank_keywords(searchable(words), "tfidf", index.searcher)]
    if len(ranked) < _FEWEST:
        return
    half = -(-len(ranked) // 2)
    for chosen in (ranked[:half], ranked[1:], ranked[half:]):
        yield query_of_words(chosen, "augmentation")


def _in_other_words(words: Sequence[QueryTerm], index: OpenIndex) -> list[ExpandedQuery]:
    """Return the question with each keyword replaced by its surest other name, none where no keyword has one."""
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
    joined = tuple(term for terms in texts.values() for term in terms)
    return [ExpandedQuery(" ".join(texts), joined, tuple(texts), "augmentation")]


FIRST_SEARCH = 10
"""Records of the first search whose sentences are supposed to answer."""

_MOST_TERMS = 64


class _Answers(msgspec.Struct, frozen=True):
    answers: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def suppose_by_model(
    question: Question, count: int, index: OpenIndex, model: RationedModel
) -> tuple[list[ExpandedQuery], list[ModelCall]]:
    """Return at most ``count`` answers that a model supposes, as queries; raises as :func:`ask` does."""
    values = {"question": question.text, "count": str(count)}
    written, calls = ask(model, PromptCall("hypothesis", "hypotheses", question.language, values), _Answers)
    return queries_of_texts(written.answers, question, count, index, "hypothesis"), calls


def suppose_by_sentences(
    words: Sequence[QueryTerm], asked: ExpandedQuery, count: int, index: OpenIndex
) -> list[ExpandedQuery]:
    """Return the best sentence of each of the ``count`` records whose sentences hold most of the question, as queries.

    ``words`` are the question's, ``asked`` is the question as a query. Records are those of a first search; ties go to
    the better record. Of a text without full stops the first :data:`_MOST_TERMS` terms are its sentence.
    """
    if not asked.terms:
        return []
    (hits,) = index.searcher.search([any_of(asked.terms)], FIRST_SEARCH)
    best: list[tuple[float, ExpandedQuery]] = []
    for analysed in index.store.fetch([hit.docid for hit in hits]):
        if analysed is None or not analysed.record.complete or not analysed.sentence_terms:
            continue
        shares = [matched_share(words, frozenset(terms)) for terms in analysed.sentence_terms]
        place = max(range(len(shares)), key=shares.__getitem__)
        start, end = split_sentences(analysed.record.text)[place]
        text = plain_line(analysed.record.text[start : min(end, start + LONGEST_QUERY)])
        terms = tuple(analysed.sentence_terms[place][:_MOST_TERMS])
        best.append((shares[place], ExpandedQuery(text, terms, (text,), "hypothesis")))
    best.sort(key=lambda sentence: -sentence[0])
    return distinct(query for share, query in best if share > 0)[:count]
