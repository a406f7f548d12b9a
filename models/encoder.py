"""The encoder seam: text → vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""``float32[n, dim]``, every row of unit length, so that an inner product is a cosine."""


class Encoder(Protocol):
    """Questions and passages are different verbs even where a model treats them alike: a prefix cannot be forgotten."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row a question, in order."""

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row a passage, in order."""
