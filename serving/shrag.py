"""Search like a human: keywords, a ladder of OR queries, one pool, a re-ranking, an answer (the SHRAG paper).

Without models: keywords by Kiwi and tf-idf, both languages through the question's own words; re-ranking by BM25 and the
best sentence; the answer made of the records' sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrag.indexing.opening import OpenIndex
from shrag.models.reranker import Reranker
from shrag.serving.events import Event, Keyword, Keywords, Queries
from shrag.serving.ladder import build_ladder, choose_keywords
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
            words = question_words(request.question.text, index.analyzer, index.engine)
            keywords = choose_keywords(words)
        yield tell_keywords(words, keywords)
        yield tell_ladder(keywords)
        with watch.stage("search"):
            hits, pool = collect(build_ladder(keywords), index, max(DEPTH, request.k), complete_only=True)
        yield hits
        with watch.stage("ranking"):
            ranking = rerank(request, pool, reranker, "" if pool else why_nothing(words))
        yield ranking
        yield from finish(request, words, ranking, pool, watch)


def tell_keywords(words: Sequence[Word], keywords: Sequence[Word]) -> Keywords:
    """Return the event of having chosen ``keywords`` among a question's ``words``."""
    return Keywords(
        keywords=tuple(Keyword(word.text, word.terms, word.uses * word.idf) for word in keywords),
        unknown=tuple(word.text for word in words if not word.known),
    )


def tell_ladder(keywords: Sequence[Word]) -> Queries:
    """Return the event of having made the ladder of ``keywords``."""
    return Queries(tuple(tuple(word.text for word in keywords[:rung]) for rung in range(len(keywords), 0, -1)))
