"""retrieve, dense and rrf stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import any_of
from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.serving.events import Hits, ScoredDoc
from shrag.serving.retrieval.ranking import ScoredRecord, reciprocal_rank_fusion
from shrag.serving.strategies.pipeline.query_expansion import ExpandedQuery


class List(NamedTuple):
    """What one query found, best first."""

    query: ExpandedQuery
    hits: Sequence[Hit]
    by_vectors: bool


class Pool(NamedTuple):
    """The one list that all lists make: the candidates, best first, and docids left out as incomplete."""

    candidates: list[ScoredRecord]
    incomplete: list[str]


def find_by_words(queries: Sequence[ExpandedQuery], depth: int, index: OpenIndex) -> list[List]:
    """Ask the index for ``depth`` records a query, by BM25 over all terms of it; queries run side by side."""
    asked = [query for query in queries if query.terms]
    if not asked:
        return []
    found = index.searcher.search([any_of(query.terms) for query in asked], depth)
    return [List(query, hits, by_vectors=False) for query, hits in zip(asked, found, strict=True)]


def find_by_vectors(queries: Sequence[ExpandedQuery], depth: int, dense: VectorIndex) -> list[List]:
    """Ask the index for the ``depth`` records whose vectors are nearest to each query's."""
    return [List(query, dense.search(dense.encode(query.text), depth), by_vectors=True) for query in queries]


def pool_lists(lists: Sequence[List], most: int, index: OpenIndex) -> Pool:
    """Return the ``most`` best complete records of the lists, fused by reciprocal ranks where there are several."""
    if len(lists) == 1:
        scores = {hit.docid: hit.score for hit in lists[0].hits}
    else:
        scores = dict(reciprocal_rank_fusion([[hit.docid for hit in one.hits] for one in lists]))
    docids = list(scores)
    pool = Pool([], [])
    for start in range(0, len(docids), most):
        wanted = docids[start : start + most]
        for docid, record in zip(wanted, index.store.fetch(wanted), strict=True):
            if len(pool.candidates) == most:
                return pool
            if record is None or not record.record.complete:
                pool.incomplete.append(docid)
            else:
                pool.candidates.append(ScoredRecord(record, scores[docid], len(pool.candidates) + 1))
    return pool


def pool_name(lists: Sequence[List], dense: VectorIndex | None) -> str:
    """Return what the pool is ordered by, for the people who read it."""
    if len(lists) > 1:
        return f"reciprocal rank fusion of {len(lists)} lists"
    return f"{dense.encoder.name} cosine" if dense and lists and lists[0].by_vectors else "BM25"


def hits_event(lists: Sequence[List], pool: Pool, dense: VectorIndex | None) -> Hits:
    """Return what is told of the search; the vectors' hits stand among the others, one list a query."""
    return Hits(
        hits=tuple(tuple(ScoredDoc(hit.docid, hit.score) for hit in one.hits) for one in lists),
        candidates=tuple(each.record.record.docid for each in pool.candidates),
        incomplete=tuple(pool.incomplete),
        dense=next((tuple(ScoredDoc(*hit) for hit in one.hits) for one in lists if one.by_vectors), ()),
        encoder=dense.encoder.name if dense else "",
        encoder_is_model=dense.encoder.is_model if dense else False,
    )
