"""Search like a human: keywords, a ladder of OR queries, one pool, a re-ranking, an answer (the SHRAG paper).

Without models: keywords by Kiwi and tf-idf, carried into the other language by the index's own glossary; re-ranking by
BM25 and the best sentence; the answer made of the records' sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrag.indexing.opening import OpenIndex
from shrag.models.reranker import Reranker
from shrag.serving.events import Event, Keyword, Keywords, Queries
from shrag.serving.ladder import build_carried, build_ladder, choose_carried, choose_keywords
from shrag.serving.retrieval import collect, finish, rerank
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request
from shrag.serving.words import Word, question_words, why_nothing

DEPTH = 10
"""Hits each query of the ladder is asked for, as in the paper; a caller who wants more records than that gets them."""


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`."""

    name = "shrag"

    def run(self, request: Request, index: OpenIndex, reranker: Reranker) -> Iterator[Event]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        watch = Stopwatch()
        with watch.stage("keywords"):
            words = question_words(request.question.text, index.analyzer, index.engine, index.glossary)
            keywords = choose_keywords(words)
        yield tell_keywords(words, keywords)
        carried = choose_carried(keywords)
        yield tell_queries(keywords, carried)
        with watch.stage("search"):
            queries = [*build_ladder(keywords), *build_carried(keywords, carried)]
            hits, pool = collect(queries, index, max(DEPTH, request.k), complete_only=True)
        yield hits
        with watch.stage("ranking"):
            ranking = rerank(request, pool, reranker, "" if pool else why_nothing(words))
        yield ranking
        yield from finish(request, words, ranking, pool, watch)


def tell_keywords(words: Sequence[Word], keywords: Sequence[Word]) -> Keywords:
    """Return the event of having chosen ``keywords`` among a question's ``words``."""
    return Keywords(
        keywords=tuple(
            Keyword(word.text, word.terms, word.uses * word.idf, tuple(way.text for way in word.ways))
            for word in keywords
        ),
        unknown=tuple(word.text for word in words if not word.known),
    )


def tell_queries(keywords: Sequence[Word], carried: Sequence[Sequence[Word]]) -> Queries:
    """Return the event of having made the ladder of ``keywords`` and the queries ``carried`` to the other language."""
    ladder = (tuple(word.text for word in keywords[:rung]) for rung in range(len(keywords), 0, -1))
    other = (tuple(dict.fromkeys(word.ways[0].text if word.ways else word.text for word in rung)) for rung in carried)
    return Queries((*ladder, *other))
