"""Which re-ranker an engine has: by words, by stored vectors, or by a cross-encoder that reads each pair."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from shrag.indexing.lexical_reranker import LexicalReranker
from shrag.indexing.opening import OpenIndex
from shrag.indexing.vector_card import LSA
from shrag.models.catalog import find_reranker_card, read_catalog
from shrag.models.reranker import Reranker
from shrag.models.weights import is_path
from shrag.serving.climb import need_vectors
from shrag.serving.errors import StrategyUnavailable, UnknownReranker

AUTO = "auto"
"""By stored vectors where the index has a model's and the model is here, else by words."""

LEXICAL = "lexical"
"""BM25 and the best sentence; needs nothing."""

VECTORS = "vectors"
"""The cosine of the question and each record's stored vector, as the SHRAG paper has it; needs an index with some."""

CROSS_ENCODER = "cross-encoder"
"""The catalogue's default cross-encoder. Another is chosen by its name there, or by the path of its folder."""


def check_reranker(choice: str, threshold: float | None = None) -> None:
    """Raise :class:`UnknownReranker` for a choice there is not, or a threshold where scores have no fixed scale."""
    if (
        choice not in {AUTO, LEXICAL, VECTORS, CROSS_ENCODER}
        and not is_path(choice)
        and find_reranker_card(choice) is None
    ):
        names = [AUTO, LEXICAL, VECTORS, CROSS_ENCODER, *(card.name for card in read_catalog().rerankers)]
        raise UnknownReranker(f"There is no re-ranker {choice!r}: use one of {', '.join(names)}, or a folder's path.")
    if threshold is not None and choice in {AUTO, LEXICAL, VECTORS}:
        raise UnknownReranker(
            f"Scores of the re-ranker {choice} have no scale that a least score of {threshold:g} could be on: leave it "
            f"out, or choose {CROSS_ENCODER}."
        )
    if threshold is not None and not 0 <= threshold <= 1:
        raise UnknownReranker(f"A least score must be from 0 to 1, got {threshold:g}.")


def open_reranker(choice: str, index: OpenIndex, weights: Path, threshold: float | None = None) -> Reranker:
    """Open the re-ranker of that ``choice`` for an index; a cross-encoder's weights are under the folder ``weights``.

    With a ``threshold``, from 0 to 1, a cross-encoder leaves out what it scores lower. Raises as
    :func:`check_reranker` does, :class:`StrategyUnavailable` where the index has no vectors or not their encoder, and
    :class:`~shrag.models.errors.ModelError` where a cross-encoder cannot be had.
    """
    check_reranker(choice, threshold)
    if choice == AUTO:
        return _by_what_is_here(index)
    if choice == LEXICAL:
        return LexicalReranker(index.analyzer, index.engine, index.manifest.bm25, index.glossary)
    if choice == VECTORS:
        return _by_vectors(index)
    from shrag.models.cross_encoder import load_cross_encoder

    name = read_catalog().rerankers[0].name if choice == CROSS_ENCODER else choice
    return load_cross_encoder(name, weights, threshold)


def _by_what_is_here(index: OpenIndex) -> Reranker:
    """Rank as the SHRAG paper does where that can be; vectors that were counted, not learnt, rank worse than words."""
    card = index.manifest.vectors
    if card is not None and card.encoder != LSA:
        with suppress(StrategyUnavailable):
            return _by_vectors(index)
    return LexicalReranker(index.analyzer, index.engine, index.manifest.bm25, index.glossary)


def _by_vectors(index: OpenIndex) -> Reranker:
    # Opened now: that its encoder is not here is better said before the first question.
    dense = need_vectors(index, f"the re-ranker {VECTORS}", f"choose the re-ranker {LEXICAL}", encoder="gte")
    from shrag.indexing.vector_reranker import VectorReranker

    return VectorReranker(dense)
