"""The ladder and the index's vectors together: what either finds is one pool, re-ranked with the cosine as a feature.

Vectors find what shares no word with the question; the ladder finds the word itself. Which of the two to trust differs
from one collection to the next (``docs/vectors.md``), so their fusion only gathers the pool, and words and cosine
decide together.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.climb import climb
from shrag.serving.events import Event
from shrag.serving.strategy import Request, Resources

COSINE_WEIGHT = 2.0
"""Weight of the cosine beside the re-ranker's score, which is in units of idf; ``docs/vectors.md`` has the figures."""


class HybridStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy` over an index that was built with an encoder."""

    name = "hybrid"

    def __init__(self, cosine_weight: float = COSINE_WEIGHT) -> None:
        self._weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises as :func:`~shrag.serving.climb.climb` does."""
        return climb(request, resources, self.name, "hybrid", self._weight)
