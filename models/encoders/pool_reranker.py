"""PoolReranker scores each candidate by its cosine with the question, and encodes all candidates for each question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shrag.models.encoders.transformer import TransformerEncoder
from shrag.models.reranker import Passage

_DECIMALS = 6


class PoolReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` for an index without vectors, as in the SHRAG paper."""

    is_model = True

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._encoder = encoder
        self.name = f"{encoder.name} cosine"

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`."""
        if not passages:
            return []
        (query,) = self._encoder.encode_queries([question])
        rows = self._encoder.encode_passages(passages)
        scores: list[float] = np.round(self._encoder.inner_products(rows, query), _DECIMALS).tolist()
        return scores
