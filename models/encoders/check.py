"""Sanity check of an encoder's vectors when it is loaded.

A model can load without an error and compute wrong vectors, by a wrong rotary base or pooling, or an incomplete file.
Every encoder must give one text the same vector alone and in a batch, and different texts different vectors. Where the
catalogue has golden cosines, they must be reproduced.
"""

from __future__ import annotations

import numpy as np

from shrag.models.encoder import Encoder, Vectors
from shrag.models.encoders.catalog import Golden
from shrag.models.errors import WeightsRejected
from shrag.models.reranker import Passage

GOLDEN_TOLERANCE = 0.02
"""Largest difference from a golden cosine, which was computed in bfloat16; wrong models differ by ten times as much."""

_MIN_SAME_COSINE = 0.999
_MAX_OTHER_COSINE = 0.99999
_UNIT_TOLERANCE = 1e-3
_TEXTS = (
    "그래핀 필름의 전자파 차폐 효율",
    "graphene",
    "Soil moisture of apple orchards was measured over three summers at twelve sites. " * 4,
    "1987",
)


def check_encoder(encoder: Encoder, golden: Golden | None) -> None:
    """Raise :class:`WeightsRejected`, with the reason, where ``encoder`` computes wrong vectors."""
    together = encoder.encode_queries(_TEXTS)
    alone = np.concatenate([encoder.encode_queries([text]) for text in _TEXTS])
    _check_rows(encoder, np.concatenate([together, alone]))
    same = float((together * alone).sum(axis=1).min())
    if not same >= _MIN_SAME_COSINE:
        raise _rejected(encoder, f"the vectors of one text alone and in a batch have a cosine of {same:.3f}")
    cosines = together @ together.T
    other = float(cosines[~np.eye(len(_TEXTS), dtype=bool)].max())
    if other > _MAX_OTHER_COSINE:
        raise _rejected(encoder, "different texts have the same vector")
    if golden is not None:
        found = compute_golden_cosines(encoder, golden)
        if np.abs(found - np.array(golden.cosines)).max() > GOLDEN_TOLERANCE:
            values = ", ".join(f"{cosine:.3f}" for cosine in found)
            raise _rejected(encoder, f"“{golden.question}” has the cosines {values}, its card has {golden.cosines}")


def compute_golden_cosines(encoder: Encoder, golden: Golden) -> Vectors:
    """Return the cosines of the golden question and each golden passage: ``float32[passages]``."""
    (question,) = encoder.encode_queries([golden.question])
    cosines: Vectors = encoder.encode_passages([Passage("", text, (), ()) for text in golden.passages]) @ question
    return cosines


def _check_rows(encoder: Encoder, vectors: Vectors) -> None:
    if vectors.shape[1] != encoder.dimension or not np.isfinite(vectors).all():
        raise _rejected(encoder, f"the vectors' shape is {vectors.shape}, or a number is not finite")
    lengths = np.linalg.norm(vectors, axis=1)
    if np.abs(lengths - 1).max() > _UNIT_TOLERANCE:
        raise _rejected(encoder, f"a vector has the length {lengths[np.abs(lengths - 1).argmax()]:.3f}")


def _rejected(encoder: Encoder, what: str) -> WeightsRejected:
    return WeightsRejected(
        f"{encoder.name} was loaded but encodes wrongly: {what}; copy its folder again, or use another encoder."
    )
