"""Vector index of an open index, loaded on first use, and a re-ranker by its cosines."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.search_engine import Hit
from shrag.indexing.storage.vector_card import VectorCard
from shrag.models.reranker import Passage

if TYPE_CHECKING:
    from shrag.indexing.vectors.exact_search import VectorSearch
    from shrag.indexing.vectors.store import Float16Vectors, StoredDocuments
    from shrag.models.encoder import Encoder, Vectors


class VectorIndex:
    """Encodes questions and searches the vectors of one index. Thread-safe; opens encoder and vectors on first use.

    Args:
        index: Name of the index, for error messages.
        card: The manifest's description of the vectors.
        folder: Folder of the vectors.
        analyzer: The index's analyzer.
        rows: Row numbers of documents.
        weights: Folder of the weights of named models.
        derived: File that stores an approximate index, None for none.
    """

    def __init__(
        self,
        index: str,
        card: VectorCard,
        folder: Path,
        analyzer: Analyzer,
        rows: StoredDocuments,
        weights: Path,
        derived: Path | None = None,
    ) -> None:
        self._index = index
        self._card = card
        self._folder = folder
        self._analyzer = analyzer
        self._rows = rows
        self._weights = weights
        self._derived = derived
        self._opening = threading.Lock()
        self._opened: _Parts | None = None

    @property
    def encoder(self) -> Encoder:
        """The encoder; this and all methods raise as :func:`~shrag.indexing.vectors.encoders.open_encoder`."""
        return self._open().encoder

    def prepare(self) -> None:
        """Open encoder and vectors now; else the first question waits for it."""
        self._open()

    def encode(self, question: str) -> Vectors:
        """Return the question's vector: ``float32[1, dim]``, zeros where it has no content for the encoder."""
        return self._open().encoder.encode_queries([question])

    def search(self, question: Vectors, k: int) -> list[Hit]:
        """Search with an encoded question; see :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        (hits,) = self._open().search.search(question, k)
        return hits

    def cosines(self, question: Vectors, docids: Sequence[str]) -> list[float]:
        """Return the cosine of an encoded question and each document, equal to a search's; 0 for unknown documents."""
        from shrag.indexing.vectors.exact_search import cosines

        numbers = self._rows.numbers(docids)
        found = [number for number in numbers if number is not None]
        values = dict(zip(found, cosines(self._open().vectors, question[0], found), strict=True))
        return [0.0 if number is None else values[number] for number in numbers]

    def _open(self) -> _Parts:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_parts()
            return self._opened

    def _open_parts(self) -> _Parts:
        from shrag.indexing.vectors.ann_search import choose_search
        from shrag.indexing.vectors.encoders import open_encoder
        from shrag.indexing.vectors.store import open_vectors

        encoder = open_encoder(self._index, self._card, self._folder, self._analyzer, self._weights)
        vectors = open_vectors(self._folder, self._card)
        return _Parts(encoder, vectors, choose_search(vectors, self._rows.docids, self._derived))


class _Parts(NamedTuple):
    encoder: Encoder
    vectors: Float16Vectors
    search: VectorSearch


class VectorReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` with one index's vectors: step 4 of the SHRAG paper."""

    def __init__(self, dense: VectorIndex) -> None:
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
        """See :class:`~shrag.models.reranker.Reranker`; a passage that is not in the index scores 0."""
        if not passages:
            return []
        return self._dense.cosines(self._dense.encode(question), [passage.docid for passage in passages])
