"""No re-ranking: the pool as it was found, which is what re-ranking is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.models.reranker import Passage


class PoolOrder:
    """Implements :class:`~shrag.models.reranker.Reranker`: one over the place in the pool."""

    name = "order of the pool"
    is_model = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are those of a pool, in its order."""
        return [1 / place for place in range(1, len(passages) + 1)]
