"""How near a passage is to what it was looked up by, on a scale that a threshold can be set on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from shrag.corpora.sentences import split_sentences
from shrag.indexing.analysis import Analyzer
from shrag.indexing.dense_index import DenseIndex
from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.opening import OpenIndex
from shrag.indexing.vector_card import LSA
from shrag.models.reranker import Passage, Reranker


class Similarity(Protocol):
    """Compares passages of an index with a text. Safe to share between threads."""

    @property
    def name(self) -> str:
        """What compares: a threshold belongs to it and to nothing else."""

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """Return one similarity a passage, in order; those of different texts compare."""


class CosineSimilarity:
    """Implements :class:`Similarity` by an index's vectors, as the RAISE paper does: from -1 to 1."""

    def __init__(self, dense: DenseIndex) -> None:
        self._dense = dense

    @property
    def name(self) -> str:
        """See :class:`Similarity`."""
        return f"{self._dense.encoder.name} cosine"

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`Similarity`."""
        if not passages:
            return []
        return self._dense.cosines(self._dense.encode(text), [passage.docid for passage in passages])


class ShareOfBest:
    """Implements :class:`Similarity` by a re-ranker: a passage's score over what the text itself would score.

    A re-ranker's scores of two texts do not compare: a longer one scores more. Over the score of a passage that is the
    text, word for word, they do: 0 shares nothing, and about 1 all of it. Where that scores nothing, as with
    re-rankers that know the passages of an index alone, scores stay as they are.
    """

    def __init__(self, reranker: Reranker, analyzer: Analyzer) -> None:
        self._reranker = reranker
        self._analyzer = analyzer

    @property
    def name(self) -> str:
        """See :class:`Similarity`."""
        return f"{self._reranker.name}, share of the text's own"

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`Similarity`."""
        if not passages:
            return []
        sentences = [text[start:end] for start, end in split_sentences(text)]
        itself = Passage("", text, [], self._analyzer.terms(sentences))
        best, *scores = self._reranker.score(text, [itself, *passages])
        return [score / best for score in scores] if best > 0 else scores


def open_similarity(index: OpenIndex, reranker: Reranker) -> Similarity:
    """Return the cosine of a model's vectors where the index has some and the model is here, else the re-ranker's."""
    dense = model_vectors(index)
    return CosineSimilarity(dense) if dense is not None else ShareOfBest(reranker, index.analyzer)


def model_vectors(index: OpenIndex) -> DenseIndex | None:
    """Return the vectors of ``index`` that a model made and can compare with a text, None where there are none.

    Those that were counted from the index itself (LSA) are no model's.
    """
    card = index.manifest.vectors
    if index.dense is None or card is None or card.encoder == LSA:
        return None
    with suppress(EncoderUnavailable):
        index.dense.prepare()
        return index.dense
    return None
