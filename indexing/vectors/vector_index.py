"""Lazy vector index; cosine reranker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.search_engine import Hit
from shrag.indexing.storage.vector_card import VectorCard
from shrag.models.reranker import Passage

if TYPE_CHECKING:
    from shrag.indexing.vectors.exact_search import VectorSearch
    from shrag.indexing.vectors.store import Float16Vectors
    from shrag.models.encoder import Encoder, Vectors


class DocumentNumbers(Protocol):
    """The rows of an index's documents, both ways."""

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """Return the identifier of each."""

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """Return the number of each, None where there is no such document."""


class VectorIndex:
    """Encodes questions and finds documents near them. Safe to share between threads.

    ``weights`` is the folder of models that are chosen by name; what takes long to derive from the vectors is kept in
    the file ``derived``.
    """

    def __init__(
        self,
        index: str,
        card: VectorCard,
        folder: Path,
        analyzer: Analyzer,
        rows: DocumentNumbers,
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
        """The index's encoder; raises as :func:`~shrag.indexing.vectors.encoders.open_encoder` does, as all methods do."""
        return self._open().encoder

    def prepare(self) -> None:
        """Open what a question needs, which the first one would else wait for; raises as :attr:`encoder` does."""
        self._open()

    def encode(self, question: str) -> Vectors:
        """Return the question's vector: ``float32[1, dim]``, zeros where the encoder has nothing to say of it."""
        return self._open().encoder.encode_queries([question])

    def search(self, question: Vectors, k: int) -> list[Hit]:
        """Return at most ``k`` hits for an encoded question; see :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        (hits,) = self._open().search.search(question, k)
        return hits

    def cosines(self, question: Vectors, docids: Sequence[str]) -> list[float]:
        """Return the cosine of an encoded question and each document, as a search has it; 0 for one not indexed."""
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
    """Implements :class:`~shrag.models.reranker.Reranker` over one index's vectors; step 4 of the SHRAG paper."""

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
        """See :class:`~shrag.models.reranker.Reranker`; a passage that is not of the index scores 0."""
        if not passages:
            return []
        return self._dense.cosines(self._dense.encode(question), [passage.docid for passage in passages])
