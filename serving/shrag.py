"""Search like a human: keywords, a ladder of OR queries, one pool, a re-ranking, an answer (the SHRAG paper).

With a language model it chooses the keywords in both languages and writes the answer. Without one: keywords by Kiwi and
tf-idf, carried into the other language by the index's own glossary; the answer made of the records' sentences.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.indexing.query import Query
from shrag.serving.events import Event, Queries
from shrag.serving.keyword_step import Chosen, choose_keywords
from shrag.serving.ladder import build_carried, build_ladder, choose_carried
from shrag.serving.question import AnswerLanguage
from shrag.serving.retrieval import collect, finish, rerank
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import why_nothing

DEPTH = 10
"""Hits each query of the ladder is asked for, as in the paper; a caller who wants more records than that gets them."""


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`."""

    name = "shrag"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        watch = Stopwatch()
        chosen = yield from choose_keywords(request, resources, watch)
        told, queries = make_queries(chosen, request.question.language)
        yield told
        with watch.stage("search"):
            hits, pool = collect(queries, resources.index, max(DEPTH, request.k), complete_only=True)
        yield hits
        with watch.stage("ranking"):
            ranking = rerank(request, pool, resources.reranker, "" if pool else why_nothing(chosen.words))
        yield ranking
        yield from finish(request, chosen.words, ranking, pool, resources, watch)


def make_queries(chosen: Chosen, language: AnswerLanguage) -> tuple[Queries, list[Query]]:
    """Return the ladder, the queries in the other language than the question's, and one of the question's own words.

    The last is there where a model chose the keywords. The event says what each joins, as people read it.
    """
    carried = choose_carried(chosen.keywords, language)
    queries: list[Query] = [*build_ladder(chosen.keywords), *build_carried(carried, language)]
    shown = [tuple(word.text for word in chosen.keywords[:rung]) for rung in range(len(chosen.keywords), 0, -1)]
    shown += [tuple(dict.fromkeys(word.ways[0].text if word.ways else word.text for word in rung)) for rung in carried]
    if chosen.own:
        queries.append(build_ladder(chosen.own)[0])
        shown.append(tuple(word.text for word in chosen.own))
    return Queries(tuple(shown)), queries
