"""Rerank passages by their words and by the cosines of an index's vectors, on one scale for all languages."""

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
"""Weight of the cosines of latent semantic analysis, which ranks worse than words."""

LEAST_SPREAD = 0.01
"""Least standard deviation of cosines that carry information. Division by a smaller one would enlarge rounding errors.

Measured standard deviations of the cosines of a question's candidates:
multilingual-e5-small: 0.014 to 0.03; LSA: 0.1 to 0.25; LSA, if it knows none of the question's words well: below 0.0001
"""


@dataclass(frozen=True, slots=True)
class HybridReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` by the sum of another re-ranker's scores and cosines.

    ``score = s + weight · σ(s) · (c − mean(c)) / max(σ(c), LEAST_SPREAD)``

    ``s`` is the score of ``words``. ``c`` is the cosine minus the mean cosine of the index's documents in the passage's
    language. A multilingual encoder places any text in the question's language nearer to the question than a text in
    another language, so only the differences from the language's mean can be compared. The mean and the standard
    deviations are those of all candidates. They give both parts the same spread, whatever their units are. If all
    candidates have the same ``s``, σ(s) counts as 1, and the cosines alone decide.

    Attributes:
        words: The re-ranker by words, or a cross-encoder. A passage that it leaves out stays left out.
        vectors: The re-ranker by cosines.
        weight: Weight of the cosines. With 1, a record that stands out by its words has the same score as another that
            stands out as much by its vector.
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

        The mean and the standard deviations are those of the ``first`` passages, by default of all passages.
        """
        kept = [position for position, score in enumerate(scores) if score > -math.inf]
        added = list(scores)
        if kept:
            cosines = self.vectors.score(question, [passages[position] for position in kept])
            means = self.vectors.language_means(question)
            others = fmean(means.values()) if means else 0.0  # for a language that no sampled document has
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
    """Return a re-ranker that adds ``vectors`` to another one; ``weight`` None takes the default for these vectors."""
    if weight is None:
        weight = MODEL_WEIGHT if vectors.is_model else LSA_WEIGHT
    return HybridReranker(reranker, vectors, weight)
