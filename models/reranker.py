"""The protocol of re-rankers, which score passages for a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Passage(NamedTuple):
    """A document as encoders and re-rankers read it.

    Attributes:
        title: The title.
        text: The text without the title.
        title_terms: The index terms of the title.
        sentence_terms: The index terms of each sentence of the text.
        docid: The docid; empty for a passage that is not from an index.
        language: ``ko``, ``en`` or ``und``; empty if not known.
    """

    title: str
    text: str
    title_terms: Sequence[str]
    sentence_terms: Sequence[Sequence[str]]
    docid: str = ""
    language: str = ""


class Reranker(Protocol):
    """Scores passages for a question; implementations are thread-safe."""

    @property
    def name(self) -> str:
        """The re-ranker's name as users see it."""

    @property
    def is_model(self) -> bool:
        """Whether a trained model computes the scores."""

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """Score passages for a question; scores of different questions are not comparable.

        Returns:
            One score for each passage, in their order; larger is better. The caller drops a passage whose score is
            ``-math.inf`` from the ranking.

        Raises:
            ModelError: A model cannot be loaded or fails.
        """
