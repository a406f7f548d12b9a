"""The stages retrieve, dense and rrf: search for each query, and fuse the lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import any_of
from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.serving.events import Hits, ScoredDoc
from shrag.serving.retrieval.ranking import ScoredRecord, reciprocal_rank_fusion
from shrag.serving.strategies.pipeline.paper_scope import MOST_CHUNKS, PaperScope
from shrag.serving.strategies.pipeline.query_expansion import ExpandedQuery


class QueryHits(NamedTuple):
    """What one query found, best first."""

    query: ExpandedQuery
    hits: Sequence[Hit]
    by_vectors: bool


class FusedHits(NamedTuple):
    """The candidates of all lists, best first, and the docids left out as incomplete."""

    candidates: list[ScoredRecord]
    incomplete: list[str]


def search_words(
    queries: Sequence[ExpandedQuery], depth: int, index: OpenIndex, scope: PaperScope | None = None
) -> list[QueryHits]:
    """Return ``depth`` hits of each query by BM25 over its terms; with a ``scope``, hits of its paper come first.

    Hits of other papers follow only if the paper has fewer than ``depth`` chunks.
    """
    asked = [query for query in queries if query.terms]
    if not asked:
        return []
    trees = [any_of(query.terms) for query in asked]
    if scope is None:
        found = index.searcher.search(trees, depth)
    else:
        inside = index.searcher.search([scope.restrict(tree) for tree in trees], MOST_CHUNKS)
        found = [[hit for hit in hits if hit.docid in scope.docids][:depth] for hits in inside]
        if len(scope.docids) < depth:
            everywhere = index.searcher.search(trees, depth + len(scope.docids))
            found = [_filled(hits, others, depth, scope) for hits, others in zip(found, everywhere, strict=True)]
    return [QueryHits(query, hits, by_vectors=False) for query, hits in zip(asked, found, strict=True)]


def search_vectors(
    queries: Sequence[ExpandedQuery], depth: int, dense: VectorIndex, scope: PaperScope | None = None
) -> list[QueryHits]:
    """Return ``depth`` hits of each query by the cosine of its vector; ``scope`` as in :func:`search_words`."""
    return [QueryHits(query, _nearest(query.text, depth, dense, scope), by_vectors=True) for query in queries]


def _nearest(text: str, depth: int, dense: VectorIndex, scope: PaperScope | None) -> list[Hit]:
    vector = dense.encode(text)
    if scope is None:
        return dense.search(vector, depth)
    docids = sorted(scope.docids)
    inside = [Hit(*pair) for pair in zip(docids, dense.cosines(vector, docids), strict=True)]
    inside.sort(key=lambda hit: (-hit.score, hit.docid))
    if len(docids) >= depth:
        return inside[:depth]
    return _filled(inside, dense.search(vector, depth + len(docids)), depth, scope)


def _filled(hits: Sequence[Hit], everywhere: Sequence[Hit], depth: int, scope: PaperScope) -> list[Hit]:
    """Return the hits of a paper and behind them those of other papers, ``depth`` hits in all."""
    return [*hits, *(hit for hit in everywhere if hit.docid not in scope.docids)][:depth]


def fuse_lists(lists: Sequence[QueryHits], most: int, index: OpenIndex) -> FusedHits:
    """Return the ``most`` best complete records of the lists; several lists are fused by reciprocal ranks."""
    if len(lists) == 1:
        scores = {hit.docid: hit.score for hit in lists[0].hits}
    else:
        scores = dict(reciprocal_rank_fusion([[hit.docid for hit in one.hits] for one in lists]))
    docids = list(scores)
    fused = FusedHits([], [])
    for start in range(0, len(docids), most):
        wanted = docids[start : start + most]
        for docid, record in zip(wanted, index.store.fetch(wanted), strict=True):
            if len(fused.candidates) == most:
                return fused
            if record is None or not record.record.complete:
                fused.incomplete.append(docid)
            else:
                fused.candidates.append(ScoredRecord(record, scores[docid], len(fused.candidates) + 1))
    return fused


def describe_order(lists: Sequence[QueryHits], dense: VectorIndex | None) -> str:
    """Return the name of what the fused list is ranked by."""
    if len(lists) > 1:
        return f"reciprocal rank fusion of {len(lists)} lists"
    return f"{dense.encoder.name} cosine" if dense and lists and lists[0].by_vectors else "BM25"


def hits_event(lists: Sequence[QueryHits], fused: FusedHits, dense: VectorIndex | None, depth: int) -> Hits:
    """Return the event of the search; its lists include those found by vectors, one for each query.

    ``depth`` is the largest number of hits that a query was asked for.
    """
    return Hits(
        hits=tuple(tuple(ScoredDoc(hit.docid, hit.score) for hit in one.hits) for one in lists),
        candidates=tuple(each.record.record.docid for each in fused.candidates),
        incomplete=tuple(fused.incomplete),
        dense=next((tuple(ScoredDoc(*hit) for hit in one.hits) for one in lists if one.by_vectors), ()),
        encoder=dense.encoder.name if dense else "",
        encoder_is_model=dense.encoder.is_model if dense else False,
        depth=depth,
    )
