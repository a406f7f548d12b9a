"""Search like a human: keywords, a ladder of OR queries, one pool, a re-ranking, an answer (the SHRAG paper).

With a language model it chooses the keywords in both languages and writes the answer. Without one: keywords by Kiwi and
tf-idf, carried into the other language by the index's own glossary; the answer made of the records' sentences.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from shrag.serving.events import Event, Queries
from shrag.serving.keyword_step import choose_keywords
from shrag.serving.ladder import build_carried, build_ladder, choose_carried
from shrag.serving.retrieval import collect, finish, rerank
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word, why_nothing

DEPTH = 10
"""Hits each query of the ladder is asked for, as in the paper; a caller who wants more records than that gets them."""


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`."""

    name = "shrag"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        watch = Stopwatch()
        words, keywords = yield from choose_keywords(request, resources, watch)
        carried = choose_carried(keywords, request.question.language)
        yield tell_queries(keywords, carried)
        with watch.stage("search"):
            queries = [*build_ladder(keywords), *build_carried(carried, request.question.language)]
            hits, pool = collect(queries, resources.index, max(DEPTH, request.k), complete_only=True)
        yield hits
        with watch.stage("ranking"):
            ranking = rerank(request, pool, resources.reranker, "" if pool else why_nothing(words))
        yield ranking
        yield from finish(request, words, ranking, pool, resources, watch)


def tell_queries(keywords: Sequence[Word], carried: Sequence[Sequence[Word]]) -> Queries:
    """Return the event of having made the ladder of ``keywords`` and the queries ``carried`` to the other language."""
    ladder = (tuple(word.text for word in keywords[:rung]) for rung in range(len(keywords), 0, -1))
    other = (tuple(dict.fromkeys(word.ways[0].text if word.ways else word.text for word in rung)) for rung in carried)
    return Queries((*ladder, *other))
