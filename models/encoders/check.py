"""Sanity check of an encoder's vectors when it is loaded.

A model can load without a word and compute nonsense: another rotary base, a wrong pooling, half a file. Where the
catalogue has cosines by the real weights they must come out; of any encoder, the same text must have the same vector
alone and beside longer ones, and other texts other vectors.
"""

from __future__ import annotations

import numpy as np

from shrag.models.encoder import Encoder, Vectors
from shrag.models.encoders.catalog import Golden
from shrag.models.errors import WeightsRejected
from shrag.models.reranker import Passage

GOLDEN_TOLERANCE = 0.02
"""How far a cosine may be from the golden one, which was computed in bfloat16; nonsense is farther by ten times."""

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
    """Raise :class:`WeightsRejected`, saying what is wrong, where ``encoder`` does not give vectors of its texts."""
    together = encoder.encode_queries(_TEXTS)
    alone = np.concatenate([encoder.encode_queries([text]) for text in _TEXTS])
    _check_rows(encoder, np.concatenate([together, alone]))
    same = float((together * alone).sum(axis=1).min())
    if not same >= _MIN_SAME_COSINE:
        raise _rejected(encoder, f"the same text alone and beside others has vectors with a cosine of {same:.3f}")
    cosines = together @ together.T
    other = float(cosines[~np.eye(len(_TEXTS), dtype=bool)].max())
    if other > _MAX_OTHER_COSINE:
        raise _rejected(encoder, "different texts have one and the same vector")
    if golden is not None:
        found = compute_golden_cosines(encoder, golden)
        if np.abs(found - np.array(golden.cosines)).max() > GOLDEN_TOLERANCE:
            says = ", ".join(f"{cosine:.3f}" for cosine in found)
            raise _rejected(encoder, f"“{golden.question}” has the cosines {says}, its card says {golden.cosines}")


def compute_golden_cosines(encoder: Encoder, golden: Golden) -> Vectors:
    """Return the cosine of the golden question and each golden passage: ``float32[passages]``."""
    (question,) = encoder.encode_queries([golden.question])
    cosines: Vectors = encoder.encode_passages([Passage("", text, (), ()) for text in golden.passages]) @ question
    return cosines


def _check_rows(encoder: Encoder, vectors: Vectors) -> None:
    if vectors.shape[1] != encoder.dimension or not np.isfinite(vectors).all():
        raise _rejected(encoder, f"vectors of the shape {vectors.shape} or with numbers that are not finite")
    lengths = np.linalg.norm(vectors, axis=1)
    if np.abs(lengths - 1).max() > _UNIT_TOLERANCE:
        raise _rejected(encoder, f"a vector of the length {lengths[np.abs(lengths - 1).argmax()]:.3f}")


def _rejected(encoder: Encoder, what: str) -> WeightsRejected:
    return WeightsRejected(
        f"{encoder.name} was loaded and encodes nonsense: {what}; carry its folder over again, or use another encoder."
    )
