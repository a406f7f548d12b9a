"""The re-ranker seam: one question × passages → scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Passage(NamedTuple):
    """What a re-ranker reads of a document: its words, or the terms the index has of its title and its sentences.

    ``docid`` is empty for a passage of no index.
    """

    title: str
    text: str
    title_terms: Sequence[str]
    sentence_terms: Sequence[Sequence[str]]
    docid: str = ""


class Reranker(Protocol):
    """Scores passages for a question. Safe to share between threads."""

    @property
    def name(self) -> str:
        """What ranked, for the people who read the ranking; a model's name, or what stands in for one."""

    @property
    def is_model(self) -> bool:
        """Whether a learnt model scores."""

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """Return one score a passage, in order; larger is better, and scores of two questions do not compare.

        A score of minus infinity says that the passage is not to be shown at all.
        """
