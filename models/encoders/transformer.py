"""Transformer encoder: first-token or mean pooling, unit length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from shrag.models.encoder import Vectors
from shrag.models.encoders.check import check_encoder
from shrag.models.encoders.choice import EncoderChoice
from shrag.models.encoders.network import TorchNetwork, load_encoder_model
from shrag.models.encoders.token_workers import TokenWorkers
from shrag.models.encoders.tokenization import Tokeniser, Tokens
from shrag.models.encoders.weights import TOKENIZER
from shrag.models.reranker import Passage

_CHUNK_TEXTS = 2_048
_GPU_BATCH_ROWS = 16_384
_CPU_BATCH_ROWS = 64
_MAX_WORKERS = 8


class TransformerEncoder:
    """Implements :class:`~shrag.models.encoder.Encoder`. Made by :func:`load_encoder`.

    A row depends on the texts beside it only by how its sums are rounded: cosine 0.999 and better.
    """

    is_model = True

    def __init__(self, choice: EncoderChoice, model: TorchNetwork, tokeniser: Tokeniser) -> None:
        self._card = choice.card
        self._model = model
        self._tokeniser = tokeniser
        self._workers: TokenWorkers | None = None
        if model.on_gpu:
            self._workers = TokenWorkers(tokeniser, min(_MAX_WORKERS, max(1, len(os.sched_getaffinity(0)) - 1)))
        self.name = choice.card.name
        self.settings = choice.settings
        self.digest = choice.weights.digest
        self.dimension = choice.dimension
        self.batch_rows = _GPU_BATCH_ROWS if model.on_gpu else _CPU_BATCH_ROWS

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`; a blank text has a row of zeros."""
        return self._encode(texts, self._card.query_prefix)

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`; reads the title, a space and the text."""
        return self._encode([f"{passage.title} {passage.text}" for passage in passages], self._card.passage_prefix)

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # By characters first, so that texts of one chunk, and then of one batch, have about as many tokens.
        order = sorted((p for p, text in enumerate(texts) if text.strip()), key=lambda place: -len(texts[place]))
        chunks = [order[start : start + _CHUNK_TEXTS] for start in range(0, len(order), _CHUNK_TEXTS)]
        read = self._tokens([[prefix + texts[place].strip() for place in chunk] for chunk in chunks])
        for chunk, tokens in zip(chunks, read, strict=True):
            vectors[chunk] = self._model.rows(tokens, self.dimension, unit=True)
        return vectors

    def _tokens(self, chunks: list[list[str]]) -> Iterator[list[Tokens]]:
        if self._workers is not None and len(chunks) > 1:
            return self._workers.tokens(chunks)
        return (self._tokeniser.texts(chunk) for chunk in chunks)


def load_encoder(choice: EncoderChoice, device: str | None = None) -> TransformerEncoder:
    """Load a chosen encoder, on a GPU where there is one and no ``device`` is named, and check that it encodes.

    Raises :class:`~shrag.models.errors.WeightsRejected` and :class:`~shrag.models.errors.PackageMissing`.
    """
    card = choice.card
    model = load_encoder_model(choice.weights, card.pooling, card.dimension, device)
    tokeniser = Tokeniser(choice.weights.folder / TOKENIZER, card.max_tokens)
    whole = EncoderChoice(card, choice.weights, card.dimension)
    check_encoder(TransformerEncoder(whole, model, tokeniser), card.golden)
    return TransformerEncoder(choice, model, tokeniser)
