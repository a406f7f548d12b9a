"""The protocol of a vector search, and an exact search with NumPy."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

DocidsOf = Callable[[Sequence[int]], list[str]]
"""Row numbers → document identifiers."""

Rows = NDArray[np.int64]
"""Row numbers, in ascending order."""

MARGIN = 1e-5
"""Largest difference of a single-precision inner product from the exact one."""

_BLOCK_ROWS = 16_384
_DECIMALS = 6


class VectorSearch(Protocol):
    """Exact nearest-neighbor search. Implementations are thread-safe."""

    def search(self, queries: Vectors, k: int, rows: Rows | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits for each query (a row of ``queries``), best first, ties by docid.

        A score is the cosine to six decimals. Documents that score 0 or less are no hits. If ``rows`` are given, the
        ascending numbers of documents, only these documents can be hits.
        """


class BlockSearch:
    """Implements :class:`VectorSearch` with NumPy. A call reads every vector once, and keeps none in memory."""

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf) -> None:
        self._vectors = vectors
        self._docids = docids

    def search(self, queries: Vectors, k: int, rows: Rows | None = None) -> list[list[Hit]]:
        """See :class:`VectorSearch`."""
        check_queries(queries, self._vectors.shape[1], k)
        candidates = [_TopRows(k) for _ in queries]
        for start in range(0, len(self._vectors) if rows is None else len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            block = self._vectors[part if rows is None else rows[part]].astype(np.float32)
            for top, scores in zip(candidates, queries @ block.T, strict=True):
                top.add(start, scores)
        return [
            rank_rows(self._vectors, query, top.rows if rows is None else rows[top.rows], self._docids, k)
            for query, top in zip(queries, candidates, strict=True)
        ]


def rank_rows(
    vectors: Float16Vectors, query: NDArray[np.float32], rows: NDArray[np.int64], docids: DocidsOf, k: int
) -> list[Hit]:
    """Return the best ``k`` of the candidate ``rows``, by exact scores.

    A scan's rounding depends on a row's position, so equal vectors would not tie without this second scoring.
    """

    def candidates() -> Iterator[tuple[float, str]]:
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = rows[start : start + _BLOCK_ROWS]
            scores = np.array(cosines(vectors, query, part))
            part, scores = part[scores > 0], scores[scores > 0]
            for score, docid in zip(scores.tolist(), docids(part.tolist()), strict=True):
                yield -score, docid

    return [Hit(docid, -score) for score, docid in heapq.nsmallest(k, candidates())]


InnerProducts = Callable[[Float16Vectors, NDArray[np.float32]], NDArray[np.float64]]
"""Rows and a query → the inner product of each row and the query, in double precision."""


def inner_products(rows: Float16Vectors, query: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the inner product of each row and the query by NumPy, independent of a row's position."""
    products: NDArray[np.float64] = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return products


def mean_vector(rows: Float16Vectors) -> Vectors:
    """Return the mean of the rows: ``float32[dim]``, computed in double precision so that their order has no effect."""
    mean: Vectors = rows.astype(np.float64).mean(axis=0).astype(np.float32)
    return mean


def cosines(
    vectors: Float16Vectors,
    query: NDArray[np.float32],
    rows: NDArray[np.int64] | Sequence[int],
    products: InnerProducts = inner_products,
) -> list[float]:
    """Return the cosine of the query and each of the rows, to six decimals."""
    chosen = vectors[np.asarray(rows, dtype=np.int64)]
    scores: list[float] = np.round(products(chosen, query), _DECIMALS).tolist()
    return scores


def check_queries(queries: Vectors, dimension: int, k: int) -> None:
    """Raise ``ValueError`` for queries of another dimension, or ``k`` below 1."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    if queries.ndim != 2 or queries.shape[1] != dimension:
        raise ValueError(f"Queries must be vectors of {dimension} numbers, got {queries.shape}.")


class _TopRows:
    """The rows of a scan that may be among the best ``k``."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._floor = -np.inf
        self.rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._scores: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def add(self, start: int, scores: NDArray[np.float32]) -> None:
        near = np.flatnonzero(scores >= max(self._floor, -MARGIN))
        if not len(near):
            return
        self.rows = np.concatenate([self.rows, near + start])
        self._scores = np.concatenate([self._scores, scores[near]])
        if len(self.rows) > self._k:
            self._floor = np.partition(self._scores, -self._k)[-self._k] - MARGIN
            best = self._scores >= self._floor
            self.rows, self._scores = self.rows[best], self._scores[best]
