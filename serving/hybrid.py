"""The ladder and the index's vectors together: what either finds is one pool, re-ranked with the cosine as a feature.

Vectors find what shares no word with the question; the ladder finds the word itself. Which of the two to trust differs
from one collection to the next (``docs/vectors.md``), so their fusion only gathers the pool, and words and cosine
decide together.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from shrag.indexing.dense_index import DenseIndex
from shrag.indexing.errors import EncoderUnavailable
from shrag.models.reranker import Passage, Reranker
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event
from shrag.serving.keyword_step import choose_keywords
from shrag.serving.retrieval import DenseHits, collect, finish, rerank
from shrag.serving.shrag import DEPTH, make_queries
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import why_nothing

COSINE_WEIGHT = 2.0
"""Weight of the cosine beside the re-ranker's score, which is in units of idf; ``docs/vectors.md`` has the figures."""


class HybridStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy` over an index that was built with an encoder."""

    name = "hybrid"

    def __init__(self, cosine_weight: float = COSINE_WEIGHT) -> None:
        self._weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`.

        Raises :class:`StrategyUnavailable` without vectors, or without the encoder that made them.
        """
        index = resources.index
        if index.dense is None:
            raise StrategyUnavailable(
                f"Index {index.name} has no vectors, which the strategy {self.name} needs: build it with "
                f"`shrag index {index.name} --encoder lsa`, or ask with another strategy."
            )
        try:
            index.dense.prepare()
        except EncoderUnavailable as error:
            raise StrategyUnavailable(str(error)) from error
        return self._run(request, resources, index.dense)

    def _run(self, request: Request, resources: Resources, dense: DenseIndex) -> Generator[Event, None, None]:
        watch = Stopwatch()
        chosen = yield from choose_keywords(request, resources, watch)
        told, queries = make_queries(chosen, request.question.language)
        yield told
        depth = max(DEPTH, request.k)
        with watch.stage("vectors"):
            vector = dense.encode(request.question.text)
            near = DenseHits(dense.search(vector, depth), dense.encoder.name, dense.encoder.is_model)
        with watch.stage("search"):
            hits, pool = collect(queries, resources.index, depth, complete_only=True, dense=near)
        yield hits
        with watch.stage("ranking"):
            cosines = dense.cosines(vector, hits.pool)
            ranking = rerank(
                request,
                pool,
                _WithCosine(resources.reranker, cosines, near, self._weight),
                "" if pool else why_nothing(chosen.words),
            )
        yield ranking
        yield from finish(request, chosen.words, ranking, pool, resources, watch)


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
