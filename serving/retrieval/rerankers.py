"""Choose and open the re-ranker of an index; also the re-rankers that need no model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from shrag.corpora.near_names import did_you_mean
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.storage.vector_card import LSA
from shrag.indexing.vectors.hybrid_reranker import add_vectors
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.messages.text import Text
from shrag.models.encoders.catalog import find_reranker_card, read_catalog
from shrag.models.encoders.installed import installed_encoders
from shrag.models.encoders.weights import is_path
from shrag.models.reranker import Passage, Reranker
from shrag.serving.errors import StrategyUnavailable, UnknownReranker
from shrag.serving.strategy import require_vectors

_log = logging.getLogger("shrag.serving.rerankers")

AUTO = "auto"
"""Rank by words, and also by stored vectors if an embedding model that is installed made them."""

LEXICAL = "lexical"
"""Rank by BM25 and the best sentence."""

VECTORS = "vectors"
"""Rank by the cosine of the question and each record's stored vector, as in the SHRAG paper."""

ENCODER = "encoder"
"""Rank by the cosine of the question and each candidate, for an index without vectors.

Candidates are encoded when the question is asked. The encoder is the only one with weights, or the one named after a
colon: ``encoder:gte``, ``encoder:PATH``.
"""

CROSS_ENCODER = "cross-encoder"
"""Rank by the catalog's default cross-encoder. The name of another one, or its folder's path, chooses that one."""


class NoReranker:
    """Implements :class:`~shrag.models.reranker.Reranker`: keeps candidates in their order, with the score 1 / rank."""

    name = "order of the candidates"
    is_model = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are the candidates in their order."""
        return [1 / rank for rank in range(1, len(passages) + 1)]


class WordsAlone(LexicalReranker):
    """Ranks an index with vectors by words alone; ``problem`` says why its vectors cannot be used."""

    def __init__(self, index: OpenIndex, problem: str) -> None:
        super().__init__(index.analyzer, index.searcher, index.manifest.bm25, index.glossary)
        self.problem = problem


def check_reranker(choice: str, threshold: float | None = None) -> None:
    """Raise :class:`UnknownReranker` for an unknown choice, or a threshold that does not fit the choice's scores."""
    by_encoder = _encoder_of(choice) is not None
    if (
        choice not in {AUTO, LEXICAL, VECTORS, CROSS_ENCODER}
        and not by_encoder
        and not is_path(choice)
        and find_reranker_card(choice) is None
    ):
        names = [AUTO, LEXICAL, VECTORS, ENCODER, CROSS_ENCODER, *(card.name for card in read_catalog().rerankers)]
        raise UnknownReranker(
            Text(
                "There is no re-ranker {choice!r}: use one of {names}, or a folder's path.{hint}",
                choice=choice,
                names=", ".join(names),
                hint=did_you_mean(choice, names),
            )
        )
    if threshold is not None and (by_encoder or choice in {AUTO, LEXICAL, VECTORS}):
        raise UnknownReranker(
            Text(
                "The scores of the re-ranker {choice} have no fixed scale, so that a minimum score of {threshold:g} "
                "has no meaning: leave it out, or choose {cross_encoder}.",
                choice=choice,
                threshold=threshold,
                cross_encoder=CROSS_ENCODER,
            )
        )
    if threshold is not None and not 0 <= threshold <= 1:
        raise UnknownReranker(Text("The minimum score must be from 0 to 1, got {threshold:g}.", threshold=threshold))


def open_reranker(choice: str, index: OpenIndex, weights: Path, threshold: float | None = None) -> Reranker:
    """Open a re-ranker for an index.

    Args:
        choice: One of the constants above, a name of the catalog, or a folder's path.
        index: The index.
        weights: The folder that has the weights of cross-encoders.
        threshold: The least score, from 0 to 1, that a cross-encoder's ranking shows.

    Raises:
        UnknownReranker: :func:`check_reranker` raises it.
        StrategyUnavailable: The index has no vectors, or their encoder is not installed.
        ModelError: A cross-encoder cannot be loaded.
    """
    check_reranker(choice, threshold)
    if choice == AUTO:
        return _best_available(index)
    if choice == LEXICAL:
        return open_lexical_reranker(index)
    if choice == VECTORS:
        return _open_vector_reranker(index)
    model = model_of_reranker(choice, weights)
    if _encoder_of(choice) is not None:
        from shrag.models.encoders.choice import choose_encoder
        from shrag.models.encoders.pool_reranker import PoolReranker
        from shrag.models.encoders.transformer import load_encoder

        return PoolReranker(load_encoder(choose_encoder(model, weights)))
    from shrag.models.encoders.cross_encoder import load_cross_encoder

    return load_cross_encoder(model, weights, threshold)


def model_of_reranker(choice: str, weights: Path) -> str:
    """Return the name or folder of the model that a re-ranker loads beside the index's own encoder; empty if none.

    Raises :class:`UnknownReranker` if the choice names no encoder and not exactly one has weights.
    """
    if choice in {AUTO, LEXICAL, VECTORS}:
        return ""
    encoder = _encoder_of(choice)
    if encoder is None:
        return read_catalog().rerankers[0].name if choice == CROSS_ENCODER else choice
    return encoder or _only_encoder(weights)


def _encoder_of(choice: str) -> str | None:
    """Return the encoder that ``encoder:NAME`` names, empty for ``encoder`` alone, None for any other re-ranker."""
    kind, _, name = choice.partition(":")
    return name if kind == ENCODER else None


def open_lexical_reranker(index: OpenIndex) -> LexicalReranker:
    """Return the index's lexical re-ranker, which needs no model."""
    return LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25, index.glossary)


def _best_available(index: OpenIndex) -> Reranker:
    """Rank by words, and also by vectors if a model made them; vectors of LSA are not worth the time of a search."""
    words = open_lexical_reranker(index)
    card = index.manifest.vectors
    if card is None or card.encoder == LSA:
        return words
    try:
        vectors = _open_vector_reranker(index)
    except StrategyUnavailable as error:
        _log.warning("Index %s is ranked by words alone. %s", index.name, error)
        return WordsAlone(index, str(error))
    vectors.prepare_means()
    return add_vectors(words, vectors)


def _only_encoder(weights: Path) -> str:
    installed = installed_encoders(weights)
    if len(installed) != 1:
        several = Text("there are several ({names})", names=", ".join(installed))
        there = several if installed else Text("there is none")
        raise UnknownReranker(
            Text(
                "The re-ranker {encoder} takes the only encoder with weights under {weights}, and {problem}: "
                "name one, as `{encoder}:gte` or `{encoder}:PATH`.",
                encoder=ENCODER,
                weights=weights,
                problem=there,
            )
        )
    return installed[0]


def _open_vector_reranker(index: OpenIndex) -> VectorReranker:
    # Loaded now, so that a missing encoder is reported before the first question.
    dense = require_vectors(
        index,
        Text("the re-ranker {name}", name=VECTORS),
        Text("choose the re-ranker {name}", name=LEXICAL),
        encoder="gte",
    )
    return VectorReranker(dense)
