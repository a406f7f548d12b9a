"""Table of RAISE variants and baselines.

Of the RAISE paper's baselines (appendix B.2) each is a row: what is worked out, by what each step is looked up, and
whether a step is told the principle behind it. ``raise-direct`` is the ablation of its section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Lookup = Literal["nothing", "question", "logical", "principle", "passage"]
"""What a step is looked up by: nothing at all; its own words; what a source that settles it would explain (RAISE); the
principle behind it (step-back); a passage that might answer it (HyDE)."""

LEARNT: Final = "learnt"
"""The threshold that an index gives itself; see :mod:`shrag.serving.strategies.stepwise.similarity_threshold`."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to work a question out.

    In ``parts`` a question is taken apart into steps, else it is its own only step. With ``principle`` a step is told
    what lies behind it. ``threshold`` is the least similarity of a step's records; None keeps all.
    """

    name: str
    parts: bool
    lookup: Lookup
    principle: bool = False
    threshold: float | Literal["learnt"] | None = None

    @property
    def looks_up(self) -> bool:
        """Whether records are looked for at all."""
        return self.lookup != "nothing"


WAYS = (
    Way("raise", parts=True, lookup="logical", threshold=LEARNT),
    Way("raise-0.84", parts=True, lookup="logical", threshold=0.84),
    Way("raise-0.80", parts=True, lookup="logical", threshold=0.80),
    Way("raise-direct", parts=False, lookup="logical", threshold=LEARNT),
    Way("cot", parts=False, lookup="nothing"),
    Way("cot-rag", parts=False, lookup="question"),
    Way("least-to-most", parts=True, lookup="nothing"),
    Way("least-to-most-rag", parts=True, lookup="question"),
    Way("step-back", parts=True, lookup="nothing", principle=True),
    Way("step-back-rag", parts=True, lookup="principle"),
    Way("hyde", parts=True, lookup="passage"),
)
"""``raise-0.84`` and ``raise-0.80`` have the paper's T (appendix B.3), the lower one for its easier questions."""
