"""Transformer encoder: first-token or mean pooling, vectors of unit length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from shrag.models.encoder import Vectors
from shrag.models.encoders.check import check_encoder
from shrag.models.encoders.choice import EncoderChoice
from shrag.models.encoders.network import TorchNetwork, load_encoder_model
from shrag.models.encoders.tokenization import Tokeniser, Tokens
from shrag.models.encoders.tokenizer_pool import TokenizerPool
from shrag.models.encoders.weights import TOKENIZER
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

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # Sorted by characters, so that the texts of a chunk have about as many tokens and need little padding.
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
    """Load a chosen encoder and check its vectors; ``device`` None is a GPU where there is one.

    Raises :class:`WeightsRejected` where the weights do not fit their configuration or the vectors are wrong, and
    ``PackageMissing`` where torch or sentence-transformers is not installed.
    """
    card = choice.card
    model = load_encoder_model(choice.weights, card.pooling, card.dimension, device)
    tokeniser = Tokeniser(choice.weights.folder / TOKENIZER, card.max_tokens)
    uncut = EncoderChoice(card, choice.weights, card.dimension)
    check_encoder(TransformerEncoder(uncut, model, tokeniser), card.golden)
    return TransformerEncoder(choice, model, tokeniser)
