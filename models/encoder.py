"""The protocol of encoders, which turn texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.models.reranker import Passage

Vectors = NDArray[np.float32]
"""``float32[n, dim]`` with rows of unit length, so an inner product is a cosine; zeros for a text without content."""


class EncoderIdentity(Protocol):
    """The properties that distinguish one encoder's vectors from another's; known without loading the encoder."""

    @property
    def settings(self) -> str:
        """All options that determine the vectors, as readable text; known without reading the index."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the parameters; equal ``settings`` and ``digest`` give equal vectors.

        A model's vectors may differ in rounding by processor and by batch; their cosine is at least 0.999.
        """

    @property
    def dimension(self) -> int:
        """The length of a vector; 0 for an encoder that was fit on no documents."""


class Encoder(EncoderIdentity, Protocol):
    """Encodes texts as vectors; implementations are thread-safe.

    Queries and passages have separate methods, even if a model treats them alike, so no caller forgets a prefix.
    """

    @property
    def name(self) -> str:
        """The encoder's name as users see it."""

    @property
    def is_model(self) -> bool:
        """Whether the encoder has pre-trained weights; false for an encoder that is fit on the index alone."""

    @property
    def batch_rows(self) -> int:
        """The number of passages per call with the highest speed."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries; return one row for each, in order."""

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """Encode passages; return one row for each, in order.

        The other passages of a call change a row by rounding at most.
        """
