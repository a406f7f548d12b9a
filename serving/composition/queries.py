"""What a composition searches by: the question, and texts made from it, each as a bag of the index's own terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from shrag.corpora.clean import plain_line
from shrag.indexing.opening import OpenIndex
from shrag.serving.events import NodeKind
from shrag.serving.ladder import choose_carried
from shrag.serving.question import AnswerLanguage, Question
from shrag.serving.words import Word, question_words, searchable

LONGEST_QUERY = 300
"""Characters of a text that is searched for beside the question."""


class SearchQuery(NamedTuple):
    """A query: its ``text``, the ``terms`` any of which is a match, and the ``words`` of it that the index has."""

    text: str
    terms: tuple[str, ...]
    words: tuple[str, ...]
    kind: NodeKind = "question"


def query_of_text(text: str, index: OpenIndex, kind: NodeKind) -> SearchQuery:
    """Return the query that a text is: all its terms, as a bag of words."""
    (terms,) = index.analyzer.terms([text])
    known = (word.text for word in question_words(text, index.analyzer, index.engine) if word.known)
    return SearchQuery(text, tuple(terms), tuple(known), kind)


def queries_of_texts(
    texts: Iterable[str], question: Question, count: int, index: OpenIndex, kind: NodeKind
) -> list[SearchQuery]:
    """Return at most ``count`` queries that a model wrote for ``question``, without those that say nothing new."""
    lines = (plain_line(text) for text in texts)
    return distinct(query_of_text(line, index, kind) for line in lines if line and line != question.text)[:count]


def query_of_words(words: Sequence[Word], kind: NodeKind) -> SearchQuery:
    """Return the query that some words of a question are."""
    texts = tuple(word.text for word in words)
    return SearchQuery(" ".join(texts), tuple(chain.from_iterable(word.terms for word in words)), texts, kind)


def translated(words: Sequence[Word], language: AnswerLanguage, kind: NodeKind) -> list[SearchQuery]:
    """Return the query that the surest translations of a question's ``words`` are, none where there are none.

    ``language`` is the question's. Words that both languages write alike go along: LSTM is LSTM in both.
    """
    carried = choose_carried(searchable(words), language)
    if not carried:
        return []
    texts: dict[str, tuple[str, ...]] = {}
    for word in carried[0]:
        way = word.ways[0] if word.ways else word
        texts.setdefault(way.text, way.terms)
    return [SearchQuery(" ".join(texts), tuple(chain.from_iterable(texts.values())), tuple(texts), kind)]


def distinct(queries: Iterable[SearchQuery]) -> list[SearchQuery]:
    """Return the queries that have terms, each once: two of the same terms find the same."""
    first: dict[tuple[str, ...], SearchQuery] = {}
    for query in queries:
        if query.terms:
            first.setdefault(tuple(sorted(query.terms)), query)
    return list(first.values())
