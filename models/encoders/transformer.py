"""A transformer encoder with first-token or mean pooling and vectors of unit length; loading it checks its vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shrag.messages.text import Text
from shrag.models.encoder import Encoder, Vectors
from shrag.models.encoders.catalog import Golden
from shrag.models.encoders.choice import EncoderChoice
from shrag.models.encoders.network import TorchNetwork, load_encoder_model
from shrag.models.encoders.tokenization import Tokeniser, Tokens
from shrag.models.encoders.tokenizer_pool import TokenizerPool
from shrag.models.encoders.weights import TOKENIZER
from shrag.models.errors import WeightsRejected
from shrag.models.reranker import Passage

_CHUNK_TEXTS = 2_048
_GPU_BATCH_ROWS = 16_384
_CPU_BATCH_ROWS = 64
_MAX_WORKERS = 8


class TransformerEncoder:
    """Implements :class:`~shrag.models.encoder.Encoder`; made by :func:`load_encoder`."""

    is_model = True

    def __init__(self, choice: EncoderChoice, model: TorchNetwork, tokeniser: Tokeniser) -> None:
        self._card = choice.card
        self._model = model
        self._tokeniser = tokeniser
        self._pool: TokenizerPool | None = None
        if model.on_gpu:
            self._pool = TokenizerPool(tokeniser, min(_MAX_WORKERS, max(1, len(os.sched_getaffinity(0)) - 1)))
        self.name = choice.card.name
        self.settings = choice.settings
        self.digest = choice.weights.digest
        self.dimension = choice.dimension
        self.batch_rows = _GPU_BATCH_ROWS if model.on_gpu else _CPU_BATCH_ROWS

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`; the row of a blank text is zero."""
        return self._encode(texts, self._card.query_prefix)

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`; a passage is its title, a space and its text."""
        return self._encode([f"{passage.title} {passage.text}" for passage in passages], self._card.passage_prefix)

    @property
    def on_gpu(self) -> bool:
        """Whether the encoder runs on a GPU."""
        return self._model.on_gpu

    def inner_products(self, rows: NDArray[np.floating[Any]], query: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the inner product of a query and each row, by one product on the encoder's device."""
        return self._model.inner_products(rows, query)

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # Texts are sorted by characters, so those of a chunk have similar numbers of tokens and need little padding.
        order = sorted((n for n, text in enumerate(texts) if text.strip()), key=lambda index: -len(texts[index]))
        chunks = [order[start : start + _CHUNK_TEXTS] for start in range(0, len(order), _CHUNK_TEXTS)]
        tokenized = self._tokens([[prefix + texts[index].strip() for index in chunk] for chunk in chunks])
        for chunk, tokens in zip(chunks, tokenized, strict=True):
            vectors[chunk] = self._model.run(tokens, self.dimension, unit=True)
        return vectors

    def _tokens(self, chunks: list[list[str]]) -> Iterator[list[Tokens]]:
        if self._pool is not None and len(chunks) > 1:
            return self._pool.tokens(chunks)
        return (self._tokeniser.texts(chunk) for chunk in chunks)


def load_encoder(choice: EncoderChoice, device: str | None = None) -> TransformerEncoder:
    """Load a chosen encoder and check its vectors; with ``device`` None, it runs on a GPU if there is one.

    Raises :class:`WeightsRejected` if the weights do not fit their configuration or the vectors are wrong, and
    ``PackageMissing`` if torch or sentence-transformers is not installed.
    """
    card = choice.card
    model = load_encoder_model(choice.weights, card.pooling, card.dimension, device)
    tokeniser = Tokeniser(choice.weights.folder / TOKENIZER, card.max_tokens)
    uncut = EncoderChoice(card, choice.weights, card.dimension)
    check_encoder(TransformerEncoder(uncut, model, tokeniser), card.golden)
    return TransformerEncoder(choice, model, tokeniser)


GOLDEN_TOLERANCE = 0.02
"""The largest accepted difference from a golden cosine.

Golden cosines were computed in bfloat16; wrong models differ by ten times as much.
"""

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
    """Raise :class:`WeightsRejected` with the reason if ``encoder`` computes wrong vectors.

    A model can load without an error and still compute wrong vectors, because of a wrong rotary base, a wrong pooling
    or an incomplete file. Every encoder must give a text the same vector alone and in a batch, and give different texts
    different vectors. If the catalog has golden cosines, the encoder must reproduce them.
    """
    together = encoder.encode_queries(_TEXTS)
    alone = np.concatenate([encoder.encode_queries([text]) for text in _TEXTS])
    _check_rows(encoder, np.concatenate([together, alone]))
    same = float((together * alone).sum(axis=1).min())
    if not same >= _MIN_SAME_COSINE:
        raise _rejected(
            encoder, Text("the vectors of one text alone and in a batch have a cosine of {cosine:.3f}", cosine=same)
        )
    cosines = together @ together.T
    other = float(cosines[~np.eye(len(_TEXTS), dtype=bool)].max())
    if other > _MAX_OTHER_COSINE:
        raise _rejected(encoder, Text("different texts have the same vector"))
    if golden is not None:
        found = compute_golden_cosines(encoder, golden)
        if np.abs(found - np.array(golden.cosines)).max() > GOLDEN_TOLERANCE:
            values = ", ".join(f"{cosine:.3f}" for cosine in found)
            raise _rejected(
                encoder,
                Text(
                    "“{question}” has the cosines {values}, its model card says {cosines}",
                    question=golden.question,
                    values=values,
                    cosines=golden.cosines,
                ),
            )


def compute_golden_cosines(encoder: Encoder, golden: Golden) -> Vectors:
    """Return the cosine of the golden question with each golden passage: ``float32[passages]``."""
    (question,) = encoder.encode_queries([golden.question])
    cosines: Vectors = encoder.encode_passages([Passage("", text, (), ()) for text in golden.passages]) @ question
    return cosines


def _check_rows(encoder: Encoder, vectors: Vectors) -> None:
    if vectors.shape[1] != encoder.dimension or not np.isfinite(vectors).all():
        raise _rejected(encoder, Text("the vectors' shape is {shape}, or a number is not finite", shape=vectors.shape))
    lengths = np.linalg.norm(vectors, axis=1)
    if np.abs(lengths - 1).max() > _UNIT_TOLERANCE:
        raise _rejected(
            encoder, Text("a vector has the length {length:.3f}", length=lengths[np.abs(lengths - 1).argmax()])
        )


def _rejected(encoder: Encoder, what: str) -> WeightsRejected:
    return WeightsRejected(
        Text(
            "{name} was loaded but encodes wrongly: {problem}; copy its folder again, or use another encoder.",
            name=encoder.name,
            problem=what,
        )
    )
