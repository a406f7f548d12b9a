"""Re-ranking: choose a re-ranker, score candidates with it, and show each paper once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analyzed_question import AnalyzedQuestion
from shrag.indexing.analyzed_record import AnalysedRecord, as_passage
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.storage.vector_card import LSA
from shrag.models.encoders.catalog import find_reranker_card, read_catalog
from shrag.models.encoders.weights import is_path
from shrag.models.reranker import Passage, Reranker
from shrag.serving.errors import StrategyUnavailable, UnknownReranker
from shrag.serving.events import RankedRecord
from shrag.serving.strategy import Request, require_vectors

if TYPE_CHECKING:
    from shrag.models.encoder import Encoder

AUTO = "auto"
"""By stored vectors where the index has a model's and the model is here, else by words."""

LEXICAL = "lexical"
"""BM25 and the best sentence; needs nothing."""

VECTORS = "vectors"
"""The cosine of the question and each record's stored vector, as the SHRAG paper has it; needs an index with some."""

CROSS_ENCODER = "cross-encoder"
"""The catalogue's default cross-encoder. Another is chosen by its name there, or by the path of its folder."""


class ScoredRecord(NamedTuple):
    """A record, its score, and its rank among the candidates before re-ranking, from 1."""

    record: AnalysedRecord
    score: float
    candidate_rank: int


class NoReranker:
    """Implements :class:`~shrag.models.reranker.Reranker`: leaves candidates in their order, by one over the rank."""

    name = "order of the pool"
    is_model = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are the candidates in their order."""
        return [1 / rank for rank in range(1, len(passages) + 1)]


class CosineReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` for one question's candidates, whose cosines are known.

    ``score = score of another re-ranker + weight · cosine``
    """

    def __init__(self, reranker: Reranker, cosines: Sequence[float], weight: float, encoder: Encoder) -> None:
        self._reranker = reranker
        self._cosines = cosines
        self._weight = weight
        self.name = f"{reranker.name} + {weight:g} × {encoder.name} cosine"
        self.is_model = reranker.is_model or encoder.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; ``passages`` are the candidates in their order."""
        scores = self._reranker.score(question, passages)
        return [score + self._weight * cosine for score, cosine in zip(scores, self._cosines, strict=True)]


def bind_question(reranker: Reranker, question: AnalyzedQuestion) -> Reranker:
    """Return the re-ranker for one question: a lexical one is given its analysis, others read its text themselves."""
    return reranker.bind(question) if isinstance(reranker, LexicalReranker) else reranker


def rerank(text: str, candidates: Sequence[ScoredRecord], reranker: Reranker) -> list[ScoredRecord]:
    """Return the candidates with the re-ranker's scores for ``text``, best first, ties by docid.

    What the re-ranker scores minus infinity is left out.
    """
    scores = reranker.score(text, [as_passage(each.record) for each in candidates])
    shown = [
        ScoredRecord(each.record, score, each.candidate_rank)
        for each, score in zip(candidates, scores, strict=True)
        if score > -math.inf
    ]
    return sorted(shown, key=lambda each: (-each.score, each.record.record.docid))


def rank_records(scored: Iterable[ScoredRecord], request: Request) -> tuple[RankedRecord, ...]:
    """Return records, which come best first, as the ranking shows them: each paper once, as many as are wanted."""
    ranked = [
        RankedRecord(rank, each.candidate_rank, each.score, each.record.record) for rank, each in enumerate(scored, 1)
    ]
    return tuple(ranked[: request.k] if request.every_record else collapse_duplicates(ranked, request.k))


def collapse_duplicates(ranked: Iterable[RankedRecord], most: int | None = None) -> list[RankedRecord]:
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
    """Open a re-ranker for an index.

    Args:
        choice: One of the constants above, a name of the catalogue, or a folder's path.
        index: The index.
        weights: The folder that has the weights of cross-encoders.
        threshold: The least score, from 0 to 1, that a cross-encoder's ranking shows.

    Raises:
        UnknownReranker: As :func:`check_reranker` raises it.
        StrategyUnavailable: The index has no vectors, or their encoder is not here.
        ModelError: A cross-encoder cannot be loaded.
    """
    check_reranker(choice, threshold)
    if choice == AUTO:
        return _best_available(index)
    if choice == LEXICAL:
        return open_lexical_reranker(index)
    if choice == VECTORS:
        return _open_vector_reranker(index)
    from shrag.models.encoders.cross_encoder import load_cross_encoder

    name = read_catalog().rerankers[0].name if choice == CROSS_ENCODER else choice
    return load_cross_encoder(name, weights, threshold)


def open_lexical_reranker(index: OpenIndex) -> LexicalReranker:
    """Return the index's lexical re-ranker, which needs no model."""
    return LexicalReranker(index.analyzer, index.engine, index.manifest.bm25, index.glossary)


def _best_available(index: OpenIndex) -> Reranker:
    """Rank as the SHRAG paper does where that can be; vectors that were counted, not learnt, rank worse than words."""
    card = index.manifest.vectors
    if card is not None and card.encoder != LSA:
        with suppress(StrategyUnavailable):
            return _open_vector_reranker(index)
    return open_lexical_reranker(index)


def _open_vector_reranker(index: OpenIndex) -> Reranker:
    # Opened now: that its encoder is not here is better said before the first question.
    dense = require_vectors(index, f"the re-ranker {VECTORS}", f"choose the re-ranker {LEXICAL}", encoder="gte")
    from shrag.indexing.vectors.vector_index import VectorReranker

    return VectorReranker(dense)


def _paper(record: Record) -> str:
    return record.duplicate_of or record.docid


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    if len(ranked) == 1 and ranked[0].record.docid == paper:
        return ()
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]
