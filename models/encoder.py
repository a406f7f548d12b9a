"""Encoder protocol: texts → vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.models.reranker import Passage

Vectors = NDArray[np.float32]
"""``float32[n, dim]``: rows of unit length, so that an inner product is a cosine; zeros for a text without content."""


class EncoderIdentity(Protocol):
    """What tells one encoder's vectors from another's; known without loading it."""

    @property
    def settings(self) -> str:
        """All options that determine the vectors, as readable text; known without reading the index."""

    @property
    def digest(self) -> str:
        """SHA-256 of the parameters. Equal ``settings`` and ``digest`` give equal vectors.

        A model's vectors may differ in rounding, by processor and by batch: their cosine is at least 0.999.
        """

    @property
    def dimension(self) -> int:
        """The length of a vector; 0 for an encoder fit on no documents."""


class Encoder(EncoderIdentity, Protocol):
    """Encodes texts as vectors. Implementations are thread-safe.

    Queries and passages have a method each, even where a model treats them alike, so that no prefix is forgotten.
    """

    @property
    def name(self) -> str:
        """The encoder's name, as shown to users."""

    @property
    def is_model(self) -> bool:
        """Whether it has pre-trained weights; false for one that is fit on the index alone."""

    @property
    def batch_rows(self) -> int:
        """The number of passages per call that is fastest."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries: one row each, in order."""

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """Encode passages: one row each, in order.

        Other passages of the same call change a row by rounding at most.
        """
