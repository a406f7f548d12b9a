"""Re-ranker protocol: one question × passages → scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Passage(NamedTuple):
    """A document as encoders and re-rankers read it: its text, and its terms by title and sentence.

    ``docid`` is empty for a passage that is not from an index.
    """

    title: str
    text: str
    title_terms: Sequence[str]
    sentence_terms: Sequence[Sequence[str]]
    docid: str = ""


class Reranker(Protocol):
    """Scores passages for a question. Implementations are thread-safe."""

    @property
    def name(self) -> str:
        """The re-ranker's name, as shown to users."""

    @property
    def is_model(self) -> bool:
        """Whether a trained model computes the scores."""

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """Score each passage for the question, in order; larger is better, minus infinity must not be shown.

        Scores of different questions are not comparable.
        """
