"""The encoder seam: text → vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.models.reranker import Passage

Vectors = NDArray[np.float32]
"""``float32[n, dim]``, every row of unit length, so that an inner product is a cosine; a row of zeros where a text has
nothing to encode."""


class Encoder(Protocol):
    """Turns text into vectors. Safe to share between threads.

    Questions and passages are different verbs even where a model treats them alike: a prefix cannot be forgotten. A
    passage comes with its words and with the terms the index has of it: an encoder reads what it was made for.
    """

    @property
    def name(self) -> str:
        """What encodes, for the people who read a ranking."""

    @property
    def is_model(self) -> bool:
        """Whether it brings weights learnt elsewhere; false where all it knows was counted in the index."""

    @property
    def settings(self) -> str:
        """Everything chosen that decides the vectors, readable: known before an index is read."""

    @property
    def digest(self) -> str:
        """SHA-256 over the numbers it encodes with. Equal settings and digest give equal vectors.

        A model's may differ in how they are rounded, by the processor and by the texts encoded together: a cosine of
        0.999 and better between them.
        """

    @property
    def batch_rows(self) -> int:
        """How many passages it is best given at once."""

    @property
    def dimension(self) -> int:
        """The length of a vector; 0 where there was nothing to learn from."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row a question, in order."""

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """Return one row a passage, in order; a row depends on the rows beside it in its rounding at most."""
