"""The SHRAG strategy, lexical and hybrid.

With a language model it chooses the keywords in both languages and writes the answer. Without one: keywords by Kiwi and
tf-idf, carried into the other language by the index's own glossary; the answer made of the records' sentences.

Vectors find what shares no word with the question; the ladder finds the word itself. Which of the two to trust differs
from one collection to the next (``docs/vectors.md``), so their fusion only gathers the pool, and words and cosine
decide together.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.answering.answer import finish
from shrag.serving.events import Event
from shrag.serving.retrieval.retriever import candidates_of, look_up
from shrag.serving.strategy import Candidates, Request, Resources, need_vectors
from shrag.serving.timing import Stopwatch


def climb(
    request: Request, resources: Resources, name: str, own: Candidates, cosine_weight: float = 0.0
) -> Generator[Event, None, None]:
    """Return the events of the strategy called ``name``, whose ``own`` candidates the request's settings may replace.

    With a ``cosine_weight``, what the re-ranker scores has that many times the cosine of stored vectors added to it.
    Raises :class:`StrategyUnavailable` where vectors are needed and the index has none, or not their encoder.
    """
    if cosine_weight or candidates_of(request, own) != "lexical":
        need_vectors(resources.index, f"the strategy {name}", "ask with another strategy")
    return _climb(request, resources, own, cosine_weight)


def _climb(
    request: Request, resources: Resources, own: Candidates, cosine_weight: float
) -> Generator[Event, None, None]:
    watch = Stopwatch()
    words, ranking, pool = yield from look_up(request, resources, own, watch, cosine_weight)
    yield from finish(request, words, ranking, pool, resources, watch)


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`."""

    name = "shrag"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises as :func:`~shrag.serving.strategies.shrag.climb` does."""
        return climb(request, resources, self.name, "lexical")


COSINE_WEIGHT = 2.0
"""Weight of the cosine beside the re-ranker's score, which is in units of idf; ``docs/vectors.md`` has the figures."""


class HybridStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy` over an index that was built with an encoder."""

    name = "hybrid"

    def __init__(self, cosine_weight: float = COSINE_WEIGHT) -> None:
        self._weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises as :func:`~shrag.serving.strategies.shrag.climb` does."""
        return climb(request, resources, self.name, "hybrid", self._weight)
