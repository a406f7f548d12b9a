"""Table of the variants of RAISE and the baselines of its paper (appendix B.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

QuerySource = Literal["nothing", "question", "logical", "principle", "passage"]
"""The query of a step, in the order of the values: none, without a search; the step's own question; what a source
that answers it would explain (RAISE); the principle behind it (step-back); a passage that might answer it (HyDE)."""

LEARNT: Final = "learnt"
"""A threshold learned from the index; see :mod:`shrag.serving.strategies.stepwise.similarity_threshold`."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A stepwise strategy.

    Attributes:
        name: Its name.
        decomposes: Whether the question is decomposed into steps; otherwise the question itself is the only step.
        query: The kind of query by which each step is searched.
        principle: Whether a step is solved with the principle behind it.
        threshold: Least similarity of a step's records to its query; None keeps all.
    """

    name: str
    decomposes: bool
    query: QuerySource
    principle: bool = False
    threshold: float | Literal["learnt"] | None = None

    @property
    def searches(self) -> bool:
        """Whether records are searched for at all."""
        return self.query != "nothing"


VARIANTS = (
    Variant("raise", decomposes=True, query="logical", threshold=LEARNT),
    Variant("raise-0.84", decomposes=True, query="logical", threshold=0.84),
    Variant("raise-0.80", decomposes=True, query="logical", threshold=0.80),
    Variant("raise-direct", decomposes=False, query="logical", threshold=LEARNT),
    Variant("cot", decomposes=False, query="nothing"),
    Variant("cot-rag", decomposes=False, query="question"),
    Variant("least-to-most", decomposes=True, query="nothing"),
    Variant("least-to-most-rag", decomposes=True, query="question"),
    Variant("step-back", decomposes=True, query="nothing", principle=True),
    Variant("step-back-rag", decomposes=True, query="principle"),
    Variant("hyde", decomposes=True, query="passage"),
)
"""``raise-0.84`` and ``raise-0.80`` have the paper's thresholds T (appendix B.3), the lower one for its easier
questions; ``raise-direct`` is the ablation of its section 5."""
