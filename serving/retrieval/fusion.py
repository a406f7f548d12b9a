"""Candidate pooling and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Query
from shrag.indexing.search_engine import Hit
from shrag.serving.events import Found, Hits

CONSTANT = 60
"""How slowly a place loses weight; the value of the paper."""


def reciprocal_ranks(rankings: Sequence[Sequence[str]], constant: int = CONSTANT) -> list[tuple[str, float]]:
    """Return every document of the rankings with the sum of ``1 / (constant + rank)`` over them, best first.

    Ranks count from 1. A document twice in one ranking counts where it first stands, and those after it move up; ties
    go by docid. Source: Cormack, Clarke and Büttcher, *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009.

    >>> [docid for docid, _ in reciprocal_ranks([["a", "b", "b", "c"], ["c", "d"]])]
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(dict.fromkeys(ranking), 1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))


class DenseHits(NamedTuple):
    """What vectors found, best first, and by which encoder."""

    hits: Sequence[Hit]
    encoder: str
    is_model: bool


def collect(
    queries: Sequence[Query], index: OpenIndex, depth: int, *, complete_only: bool, dense: DenseHits | None = None
) -> tuple[Hits, list[AnalysedRecord]]:
    """Run the queries, ``depth`` hits each; return what they found, and the pool's records in the pool's order.

    The pool is the union of all hits, in the order in which the queries first found them, each record once; where
    there are ``dense`` hits, that order and theirs are fused by reciprocal ranks. With ``complete_only``, records that
    cannot support an answer (a scholarly one without title or abstract) are left out of it, by name.
    """
    found = index.engine.search(queries, depth) if queries else []
    docids = list(dict.fromkeys(hit.docid for hits in found for hit in hits))
    near = dense.hits if dense else []
    if near:
        docids = [docid for docid, _ in reciprocal_ranks([docids, [hit.docid for hit in near]])]
    records = [analysed for analysed in index.store.fetch(docids) if analysed is not None]
    pool = [analysed for analysed in records if analysed.record.complete or not complete_only]
    kept = {analysed.record.docid: None for analysed in pool}
    hits = Hits(
        hits=tuple(tuple(Found(hit.docid, hit.score) for hit in hits) for hits in found),
        pool=tuple(kept),
        left_out=tuple(docid for docid in docids if docid not in kept),
        dense=tuple(Found(hit.docid, hit.score) for hit in near),
        encoder=dense.encoder if dense else "",
        encoder_is_model=dense.is_model if dense else False,
    )
    return hits, pool
