"""Rerank passages by their words and by the cosines of an index's vectors, on one scale for both languages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.models.reranker import Passage, Reranker

MODEL_WEIGHT = 0.5
"""Weight of a model's cosines."""

LSA_WEIGHT = 0.1
"""The same of latent semantic analysis, which ranks worse than words."""

LEAST_SPREAD = 0.01
"""Standard deviation of cosines that say something; of less, what is left of rounding would be enlarged.

The cosines of a question's candidates have 0.014 to 0.03 by multilingual-e5-small and 0.1 to 0.25 by LSA; by LSA less
than 0.0001 where a question has no word that the encoder knows well.
"""


@dataclass(frozen=True, slots=True)
class HybridReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` by another re-ranker's scores and cosines.

    ``score = s + weight · σ(s) · (c − mean(c)) / max(σ(c), LEAST_SPREAD)``: ``s`` is the score of ``words``, and ``c``
    the cosine less the mean cosine of the index's documents in the passage's language. Encoders of several languages
    place any text in the question's language nearer to it than one in another language, so only how far it is from
    their mean can be compared. The mean and the standard deviations over all candidates make both spread alike,
    whatever their units are. Where all have the same ``s``, σ(s) counts as 1, and the cosines alone decide.

    Attributes:
        words: The re-ranker by words, or a cross-encoder. What it leaves out stays left out.
        vectors: The re-ranker by cosines.
        weight: Weight of the cosines: with 1, a record that stands out by its words as much as another by its vector
            has the same score.
    """

    words: Reranker
    vectors: VectorReranker
    weight: float

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.reranker.Reranker`."""
        return f"{self.words.name} + {self.weight:g} × {self.vectors.name}"

    @property
    def is_model(self) -> bool:
        """See :class:`~shrag.models.reranker.Reranker`."""
        return self.words.is_model or self.vectors.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are all candidates of the question."""
        return self.add_cosines(question, passages, self.words.score(question, passages))

    def add_cosines(
        self, question: str, passages: Sequence[Passage], scores: Sequence[float], first: int | None = None
    ) -> list[float]:
        """Return ``scores``, which ``words`` gave the passages, with the cosines added.

        The mean and the standard deviations are those of the ``first`` passages, by default of all.
        """
        kept = [position for position, score in enumerate(scores) if score > -math.inf]
        added = list(scores)
        if kept:
            cosines = self.vectors.score(question, [passages[position] for position in kept])
            means = self.vectors.language_means(question)
            others = fmean(means.values()) if means else 0.0  # of a language so rare that no sampled document has it
            above = [
                cosine - means.get(passages[position].language, others)
                for position, cosine in zip(kept, cosines, strict=True)
            ]
            measured = sum(position < first for position in kept) if first is not None else 0
            measured = measured or len(kept)
            middle, spread = fmean(above[:measured]), max(pstdev(above[:measured]), LEAST_SPREAD)
            factor = self.weight * (pstdev([scores[position] for position in kept[:measured]]) or 1.0) / spread
            for position, value in zip(kept, above, strict=True):
                added[position] += factor * (value - middle)
        return added


def add_vectors(reranker: Reranker, vectors: VectorReranker, weight: float | None = None) -> HybridReranker:
    """Return a re-ranker that adds ``vectors`` to another one; ``weight`` None is the one that fits the vectors."""
    if weight is None:
        weight = MODEL_WEIGHT if vectors.is_model else LSA_WEIGHT
    return HybridReranker(reranker, vectors, weight)
