"""Re-ranking by stored vectors: the cosine of the question and each passage, of which only the question is encoded."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.indexing.dense_index import DenseIndex
from shrag.models.reranker import Passage


class VectorReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` over one index's vectors; step 4 of the SHRAG paper."""

    def __init__(self, dense: DenseIndex) -> None:
        self._dense = dense

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.reranker.Reranker`."""
        return f"{self._dense.encoder.name} cosine"

    @property
    def is_model(self) -> bool:
        """See :class:`~shrag.models.reranker.Reranker`."""
        return self._dense.encoder.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage that is not of the index scores 0."""
        if not passages:
            return []
        return self._dense.cosines(self._dense.encode(question), [passage.docid for passage in passages])
