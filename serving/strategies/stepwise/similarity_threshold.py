"""Similarity functions and the learnt relevance threshold.

RAISE drops what scores below T, 0.84 or 0.80 by its encoder's cosine. T belongs to that encoder: another one gives
unrelated texts 0.2 or 0.8. So an index is asked how similar texts of its own are that have nothing to do with each
other, a record's first sentences and another record, and T is what all but two in a thousand of those pairs stay below.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
from cachetools import FIFOCache, cachedmethod

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
    """Compares passages of an index with a text. Safe to share between threads."""

    @property
    def name(self) -> str:
        """What compares: a threshold belongs to it and to nothing else."""

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        """Return one similarity a passage, in order; those of different texts compare."""


class CosineSimilarity:
    """Implements :class:`Similarity` by an index's vectors, as the RAISE paper does: from -1 to 1."""

    def __init__(self, dense: VectorIndex) -> None:
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


def model_vectors(index: OpenIndex) -> VectorIndex | None:
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


SAMPLE = 64
"""Records that are compared with each other: 4,032 pairs, fewer where some have no text."""

QUANTILE = 0.998
"""Share of unrelated pairs that stay below the threshold."""

_QUERY_SENTENCES = 2  # a logical query has two or three
_KEPT = 32


def learn_threshold(sample: Sequence[AnalyzedRecord], similarity: Similarity, quantile: float = QUANTILE) -> float:
    """Return the ``quantile`` of the similarities of each record's first two sentences and every other record.

    Between two pairs it is interpolated. Without a pair there is nothing to go by, and it is minus infinity: nothing
    is dropped.
    """
    passages = [to_passage(analysed) for analysed in sample]
    values: list[float] = []
    for place, analysed in enumerate(sample):
        text = analysed.record.text
        spans = split_sentences(text)[:_QUERY_SENTENCES]
        if spans:
            others = passages[:place] + passages[place + 1 :]
            values.extend(similarity.of(text[spans[0].start : spans[-1].end], others))
    return float(np.quantile(values, quantile)) if values else float("-inf")


class LearntThresholds:
    """Thresholds of indexes, each learnt once for a content and a similarity. Safe to share between threads."""

    def __init__(self, sample: int = SAMPLE, quantile: float = QUANTILE) -> None:
        self._sample = sample
        self._quantile = quantile
        self._learnt = FIFOCache[tuple[str, str], float](_KEPT)
        self._learning = threading.Condition()

    @cachedmethod(
        lambda self: self._learnt,
        key=lambda _, index, similarity: (manifest_digest(index.manifest), similarity.name),
        condition=lambda self: self._learning,
    )
    def of(self, index: OpenIndex, similarity: Similarity) -> float:
        """Return the threshold of ``index`` by ``similarity``; the first to ask waits for it to be learnt."""
        return learn_threshold(index.store.sample(self._sample), similarity, self._quantile)
