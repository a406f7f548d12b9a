"""Encoders with wrong vectors are rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from shrag.models.encoder import Vectors
from shrag.models.encoders.catalog import Golden
from shrag.models.encoders.transformer import check_encoder
from shrag.models.errors import WeightsRejected
from shrag.models.reranker import Passage


class HashEncoder:
    """A text points where its hash does; ``spoil`` is done to the rows of each call."""

    name, settings, digest, is_model, dimension, batch_rows = "hash", "hash 1", "0" * 64, True, 8, 4

    def __init__(self, spoil: Callable[[Vectors], Vectors] = lambda rows: rows) -> None:
        self._spoil = spoil

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([np.frombuffer(hashlib.sha256(t.encode()).digest()[:8], np.uint8) for t in texts], np.float32)
        rows -= 127.5
        return self._spoil(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        return self.encode_queries([passage.text for passage in passages])


def _constant(rows: Vectors) -> Vectors:
    return np.full_like(rows, 8**-0.5)


def _by_place(rows: Vectors) -> Vectors:
    """Give every text but the first of a batch another vector than it has alone."""
    turned = rows.copy()
    turned[1:] = np.roll(rows[1:], 1, axis=1)
    return turned


def _infinite(rows: Vectors) -> Vectors:
    return rows * np.float32(np.inf)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_constant, "different texts have the same vector"),
        (_by_place, "one text alone and in a batch"),
        (_infinite, "not finite"),
        (lambda rows: rows * 0, r"a vector has the length 0\.000"),
        (lambda rows: rows * 2, r"a vector has the length 2\.000"),
        (lambda rows: rows[:, :4], "the vectors' shape is"),
    ],
)
def test_wrong_vectors_are_rejected_with_the_reason(spoil: Callable[[Vectors], Vectors], says: str) -> None:
    with pytest.raises(WeightsRejected, match=f"hash was loaded but encodes wrongly: .*{says}"):
        check_encoder(HashEncoder(spoil), None)


def test_a_correct_encoder_passes_with_its_own_golden_cosines_only() -> None:
    encoder = HashEncoder()
    check_encoder(encoder, None)
    passages = ("Mars", "Venus")
    (question,) = encoder.encode_queries(["planet"])
    cosines = tuple(float(cosine) for cosine in encoder.encode_queries(passages) @ question)
    check_encoder(encoder, Golden("planet", passages, cosines))
    with pytest.raises(WeightsRejected, match="“planet” has the cosines"):
        check_encoder(encoder, Golden("planet", passages, (cosines[0] + 0.03, cosines[1])))
