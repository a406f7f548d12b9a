"""Keywords → queries → candidates → ranking, as events."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.indexing.query import And, Not, Or, Query, Term, any_of
from shrag.models.reranker import Passage, Reranker
from shrag.serving.events import Event, Queries, Ranking
from shrag.serving.question import AnswerLanguage
from shrag.serving.retrieval.fusion import DenseHits, collect
from shrag.serving.retrieval.keywords import Chosen, choose_keywords
from shrag.serving.retrieval.query_builder import (
    build_carried,
    build_ladder,
    choose_carried,
    climb_down,
    show_rung,
    shown_carried,
)
from shrag.serving.retrieval.query_terms import Word, why_nothing
from shrag.serving.retrieval.reranking import rerank
from shrag.serving.strategy import PRODUCT, Candidates, Request, Resources, SearchSettings
from shrag.serving.timing import Stopwatch

DEPTH = 10
"""Hits each query of the ladder is asked for, as in the paper; a caller who wants more records than that gets them."""


class Climbed(NamedTuple):
    """What came of it: the question's own words, the ranking, and the records it was made of, in the pool's order."""

    words: list[Word]
    ranking: Ranking
    pool: list[AnalysedRecord]


def look_up(
    request: Request, resources: Resources, own: Candidates, watch: Stopwatch, cosine_weight: float = 0.0
) -> Generator[Event, None, Climbed]:
    """Yield the keywords, the queries, the hits and the ranking; return what came of them.

    Whoever wants vectors has seen to it by :func:`need_vectors` that the index has them.
    """
    index, reranker = resources.index, resources.reranker
    candidates = candidates_of(request, own)
    dense = index.dense if cosine_weight or candidates != "lexical" else None
    chosen = yield from choose_keywords(request, resources, watch)
    told, queries = make_queries(chosen, request.question.language, request.settings)
    if candidates == "dense":
        told, queries = Queries(()), []
    yield told
    depth = request.settings.depth or max(DEPTH, request.k)
    near = None
    if dense is not None:
        with watch.stage("vectors"):
            vector = dense.encode(request.question.text)
            near = DenseHits(dense.search(vector, depth), dense.encoder.name, dense.encoder.is_model)
    with watch.stage("search"):
        found_by_vectors = near if candidates != "lexical" else None
        hits, pool = collect(queries, index, depth, complete_only=True, dense=found_by_vectors)
    yield hits
    with watch.stage("ranking"):
        if dense is not None and near is not None and cosine_weight:
            reranker = _WithCosine(reranker, dense.cosines(vector, hits.pool), near, cosine_weight)
        ranking = rerank(request, pool, reranker, "" if pool else why_nothing(chosen.words))
    yield ranking
    return Climbed(chosen.words, ranking, pool)


def candidates_of(request: Request, own: Candidates) -> Candidates:
    """Return what a search looks at: what the settings say, or where they leave it to the strategy, its ``own``."""
    return own if request.settings.candidates == "strategy" else request.settings.candidates


def make_queries(
    chosen: Chosen, language: AnswerLanguage, settings: SearchSettings = PRODUCT
) -> tuple[Queries, list[Query]]:
    """Return the ladder, the queries in the other language than the question's, and one of the question's own words.

    The last is there where a model chose the keywords. What is excluded is left out of each. The event says
    what each joins, as people read it.
    """
    asked: list[tuple[list[str], Query]] = []
    if settings.languages in {"both", language}:
        rungs = climb_down(chosen.keywords, settings)
        asked += zip(map(_texts, rungs), build_ladder(chosen.keywords, settings), strict=True)
    if settings.languages != language:
        carried = choose_carried(chosen.keywords, language, settings)
        shown = [[shown_carried(word) for word in rung] for rung in carried]
        asked += zip(shown, build_carried(carried, language, settings), strict=True)
    if chosen.own and settings.languages in {"both", language}:
        asked.append((_texts(chosen.own), build_ladder(chosen.own, settings)[0]))
    told = tuple((*show_rung(words, settings), *_excluded(chosen)) for words, _ in asked)
    return Queries(told), [leave_out(query, chosen.excluded) for _, query in asked]


def leave_out(query: Query, phrases: Sequence[Sequence[Word]]) -> Query:
    """Return ``query`` without the documents that hold all words of one of the ``phrases``, in either language."""
    if not phrases:
        return query
    return Not(query, Or(tuple(And(tuple(_in_any_language(word) for word in phrase)) for phrase in phrases)))


def _in_any_language(word: Word) -> Query:
    return Or((any_of(word.terms), *(And(tuple(map(Term, way.terms))) for way in word.ways)))


def _excluded(chosen: Chosen) -> list[str]:
    return [f"− {' '.join(word.text for word in phrase)}" for phrase in chosen.excluded]


def _texts(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words]


class _WithCosine:
    """Implements :class:`~shrag.models.reranker.Reranker` for one pool, whose cosines are known."""

    def __init__(self, reranker: Reranker, cosines: Sequence[float], near: DenseHits, weight: float) -> None:
        self._reranker = reranker
        self._cosines = cosines
        self._weight = weight
        self.name = f"{reranker.name} + {weight:g} × {near.encoder} cosine"
        self.is_model = reranker.is_model or near.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are those of the pool, in its order."""
        scores = self._reranker.score(question, passages)
        return [score + self._weight * cosine for score, cosine in zip(scores, self._cosines, strict=True)]
