"""The similarity of texts and records, and a threshold that is learned from an index.

RAISE drops records whose cosine is below T (0.84 or 0.80). T fits only one encoder: other encoders give unrelated texts
0.2 or 0.8. So T is learned from pairs of unrelated texts of the index: the first sentences of a record, and another
record. All but two in a thousand of these pairs are below it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
from cachetools import FIFOCache, cached

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.storage.manifest import manifest_digest
from shrag.indexing.storage.vector_card import LSA
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.models.reranker import Passage, Reranker


class Similarity(Protocol):
    """Similarity of the passages of an index to a text. Implementations are safe to share between threads."""

    @property
    def name(self) -> str:
        """Its name; a threshold holds for one name only."""

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """Return the similarity of each passage to ``text``; values for different texts are comparable."""


class CosineSimilarity:
    """Implements :class:`Similarity` by the cosine of an index's vectors, from -1 to 1, as the RAISE paper does."""

    def __init__(self, dense: VectorIndex) -> None:
        self.name = f"{dense.encoder.name} cosine"
        self._dense = dense

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`Similarity`."""
        if not passages:
            return []
        return self._dense.cosines(self._dense.encode(text), [passage.docid for passage in passages])


class ShareOfBest:
    """Implements :class:`Similarity` by a re-ranker: a passage's score divided by the score of the text itself.

    A re-ranker's scores for different texts cannot be compared, since longer texts score higher. The quotients can: 0
    stands for nothing in common, about 1 for everything. If the text itself scores 0, as with re-rankers that know only
    the passages of an index, the scores stay as they are.
    """

    def __init__(self, reranker: Reranker, analyzer: Analyzer) -> None:
        self.name = f"{reranker.name}, share of the text's own"
        self._reranker = reranker
        self._analyzer = analyzer

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`Similarity`."""
        if not passages:
            return []
        sentences = [text[start:end] for start, end in split_sentences(text)]
        itself = Passage("", text, [], self._analyzer.terms(sentences))
        best, *scores = self._reranker.score(text, [itself, *passages])
        return [score / best for score in scores] if best > 0 else scores


def open_similarity(index: OpenIndex, reranker: Reranker) -> Similarity:
    """Return the cosine if :func:`model_vectors` gives vectors, else the share of the best by the re-ranker."""
    dense = model_vectors(index)
    return CosineSimilarity(dense) if dense is not None else ShareOfBest(reranker, index.analyzer)


def model_vectors(index: OpenIndex) -> VectorIndex | None:
    """Return the index's vectors if a model made them and can be loaded, else None; LSA is no model."""
    card = index.manifest.vectors
    if index.dense is None or card is None or card.encoder == LSA:
        return None
    with suppress(EncoderUnavailable):
        index.dense.prepare()
        return index.dense
    return None


SAMPLE = 64
"""Records that are compared with each other: 4,032 pairs, or fewer where some have no text."""

QUANTILE = 0.998
"""Share of unrelated pairs that stay below the threshold."""

_QUERY_SENTENCES = 2  # a logical query has two or three
_MOST_CACHED = 32


def learn_threshold(sample: Sequence[AnalyzedRecord], similarity: Similarity, quantile: float = QUANTILE) -> float:
    """Return the ``quantile`` of the similarities of each record's first two sentences to every other record.

    The quantile is interpolated. Without any pair it is minus infinity, so that nothing is dropped.
    """
    passages = [to_passage(analyzed) for analyzed in sample]
    values: list[float] = []
    for position, analyzed in enumerate(sample):
        text = analyzed.record.text
        spans = split_sentences(text)[:_QUERY_SENTENCES]
        if spans:
            others = passages[:position] + passages[position + 1 :]
            values.extend(similarity.of(text[spans[0].start : spans[-1].end], others))
    return float(np.quantile(values, quantile)) if values else float("-inf")


@cached(
    FIFOCache[tuple[str, str, bool], float](_MOST_CACHED),
    key=lambda index, similarity: (manifest_digest(index.manifest), similarity.name, index.glossary is None),
    condition=threading.Condition(),
)
def learnt_threshold(index: OpenIndex, similarity: Similarity) -> float:
    """Return the threshold of an index, with or without its glossary, by a similarity.

    It is cached; a concurrent call for the same one waits.
    """
    return learn_threshold(index.store.sample(SAMPLE), similarity)
