"""Choose a reranker, rerank candidates, collapse duplicate papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalysedRecord, as_passage
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.storage.vector_card import LSA
from shrag.models.encoders.catalog import find_reranker_card, read_catalog
from shrag.models.encoders.weights import is_path
from shrag.models.reranker import Passage, Reranker
from shrag.serving.errors import StrategyUnavailable, UnknownReranker
from shrag.serving.events import RankedRecord, Ranking, Reason
from shrag.serving.strategy import Request, need_vectors

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
    from shrag.models.encoders.cross_encoder import load_cross_encoder

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
    from shrag.indexing.vectors.vector_index import VectorReranker

    return VectorReranker(dense)


class PoolOrder:
    """Implements :class:`~shrag.models.reranker.Reranker`: one over the place in the pool."""

    name = "order of the pool"
    is_model = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are those of a pool, in its order."""
        return [1 / place for place in range(1, len(passages) + 1)]


def show_once(ranked: Iterable[RankedRecord], most: int | None = None) -> list[RankedRecord]:
    """Return the best record of each paper, best first, ranked anew, ``most`` at most; ``also`` names its others.

    Those are the ones that are ranked too, in their order, and the first one of the paper in the corpus, which all
    others point to. The order in which they come is the order in which they are ranked.
    """
    papers: dict[str, list[RankedRecord]] = {}
    for each in ranked:
        papers.setdefault(_paper(each.record), []).append(each)
    return [
        RankedRecord(rank, each[0].pool_rank, each[0].score, each[0].record, _others(paper, each))
        for rank, (paper, each) in enumerate(islice(papers.items(), most), 1)
    ]


def _paper(record: Record) -> str:
    return record.duplicate_of or record.docid


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    if len(ranked) == 1 and ranked[0].record.docid == paper:
        return ()
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]


def rerank(request: Request, pool: Sequence[AnalysedRecord], reranker: Reranker, reason: Reason) -> Ranking:
    """Return the pool's best ``request.k`` records by the re-ranker's scores, ties by docid, each paper once.

    What the re-ranker gives minus infinity is left out. Where the request's settings want no re-ranking, the pool stays
    in its order.
    """
    reranker = reranker if request.settings.rerank else PoolOrder()
    scores = reranker.score(request.question.text, [as_passage(analysed) for analysed in pool])
    shown = [place for place in range(len(pool)) if scores[place] > -math.inf]
    order = sorted(shown, key=lambda place: (-scores[place], pool[place].record.docid))
    ranked = [RankedRecord(rank, place + 1, scores[place], pool[place].record) for rank, place in enumerate(order, 1)]
    return Ranking(
        records=tuple(ranked[: request.k] if request.every_record else show_once(ranked, request.k)),
        reranker=reranker.name,
        reranker_is_model=reranker.is_model,
        reason=reason if reason or shown else "nothing_fits",
    )
