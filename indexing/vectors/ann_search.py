"""Vector search with a FAISS index, flat or IVF, on a CPU or a GPU, and the choice of a search.

:class:`FlatSearch` is exact. It rescores the candidates of a FAISS scan, and scans deeper until the scan's rounding
cannot hide any row of the best ``k``. :class:`IvfSearch` is approximate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.search_engine import Hit
from shrag.indexing.storage.vector_card import FaissCard
from shrag.indexing.vectors.exact_search import (
    MARGIN,
    BlockSearch,
    DocidsOf,
    Rows,
    VectorSearch,
    check_queries,
    rank_rows,
)
from shrag.indexing.vectors.faiss_index import (
    GPU_MAX_BYTES,
    FaissIndex,
    GpuIndex,
    count_gpus,
    has_faiss,
    move_to_gpu,
    read_index,
    search_rows,
)
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

_log = logging.getLogger("shrag.indexing.vectors")

FAISS_MIN_ROWS = 20_000
"""Fewest vectors for which FAISS is used. For fewer, loading FAISS takes longer than it saves."""


def choose_search(
    vectors: Float16Vectors, docids: DocidsOf, path: Path | None = None, card: FaissCard | None = None
) -> VectorSearch:
    """Return a search for vectors: with their FAISS index, on a GPU if there is one, or else exact with NumPy.

    Args:
        vectors: The vectors.
        docids: Row numbers → document identifiers.
        path: The file of the FAISS index, None for none.
        card: Its parameters, None for none.

    Raises:
        IndexDamaged: The file is not the FAISS index of the vectors.
    """
    if path is None or card is None or len(vectors) < FAISS_MIN_ROWS or not has_faiss():
        return BlockSearch(vectors, docids)
    index = read_index(path, vectors.shape)
    on_gpu = path.stat().st_size <= GPU_MAX_BYTES and count_gpus() > 0
    return (IvfSearch if card.lists else FlatSearch)(vectors, docids, index, on_gpu=on_gpu)


Scan = Callable[[Vectors, int], tuple[NDArray[np.float32], NDArray[np.int64]]]
"""Query vectors and a depth → scores and rows of each query, ``[n, depth]``, best first."""

_EXTRA_ROWS = 64
_DEPTH_FACTOR = 4


class RescoredSearch:
    """Exact search by rescoring the candidates of a scan.

    Args:
        docids: Row numbers → document identifiers.
        scan: Search over all vectors, or over ``rows``, with approximate scores.
        margin: Largest difference of the scan's scores from the exact ones.
        max_depth: The scan's largest depth, None for no limit.
        rows: The rows that the scan searches, None for all.
    """

    def __init__(
        self,
        vectors: Float16Vectors,
        docids: DocidsOf,
        scan: Scan,
        *,
        margin: float,
        max_depth: int | None = None,
        rows: Rows | None = None,
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        self._scan = scan
        self._margin = margin
        self._rows = rows
        self._count = len(vectors) if rows is None else len(rows)
        self._max_depth = min(self._count, max_depth or self._count)

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        check_queries(queries, self._vectors.shape[1], k)
        if not len(queries) or not self._count:
            return [[] for _ in queries]
        depth = min(k + _EXTRA_ROWS, self._max_depth)
        scores, rows = self._scan(np.ascontiguousarray(queries), depth)
        return [self._rank(queries[n : n + 1], k, scores[n], rows[n]) for n in range(len(queries))]

    def _rank(self, query: Vectors, k: int, scores: NDArray[np.float32], rows: NDArray[np.int64]) -> list[Hit]:
        while not self._is_complete(k, scores):
            depth = min(len(scores) * _DEPTH_FACTOR, self._max_depth)
            if depth <= len(scores):
                (hits,) = BlockSearch(self._vectors, self._docids).search(query, k, self._rows)
                return hits
            deeper = self._scan(query, depth)
            scores, rows = deeper[0][0], deeper[1][0]
        return rank_rows(self._vectors, query[0], np.sort(rows), self._docids, k)

    def _is_complete(self, k: int, scores: NDArray[np.float32]) -> bool:
        """Return whether no row outside the candidates can be among the best ``k`` or tie with one of them."""
        if len(scores) == self._count:
            return True
        # Rows that score 0 or less are never hits.
        floor = max(float(scores[k - 1]) - 2 * self._margin, -self._margin) if k <= len(scores) else -self._margin
        return float(scores[-1]) < floor


GPU_MARGIN = 1e-3
"""Largest difference of a GPU's scores from the exact ones. A GPU rounds queries to half precision: eleven bits of each
component, so at most 5e-4 of a cosine.
"""

_GPU_MAX_DEPTH = 2_048


def _copy_to_gpu(index: FaissIndex) -> GpuIndex | None:
    """Copy an index to the GPU, or return None if it does not fit, as two generations during a swap may not."""
    try:
        return move_to_gpu(index)
    except RuntimeError as error:  # FAISS raises nothing else
        _log.warning("The vectors are searched on the processor: %s", error)
        return None


def _is_compared(rows: Rows, moved: GpuIndex | None) -> bool:
    """Return whether the vectors of ``rows`` are compared with a query one by one, without the FAISS index.

    This is as fast for few rows, and needed for an index on a GPU, which cannot leave rows out.
    """
    return moved is not None or len(rows) < FAISS_MIN_ROWS


class FlatSearch:
    """Exact search with a flat FAISS index in half precision, which takes as much memory as the vector file.

    Implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch`.
    """

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf, index: FaissIndex, *, on_gpu: bool = False) -> None:
        self._vectors = vectors
        self._docids = docids
        self._index = index
        self._moved = _copy_to_gpu(index) if on_gpu else None
        if self._moved:
            scan, margin, max_depth = self._moved.search, GPU_MARGIN, _GPU_MAX_DEPTH
            self._all = RescoredSearch(vectors, docids, scan, margin=margin, max_depth=max_depth)
        else:
            self._all = RescoredSearch(vectors, docids, index.search, margin=MARGIN)

    def search(self, queries: Vectors, k: int, rows: Rows | None = None) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        if rows is None:
            return self._all.search(queries, k)
        if _is_compared(rows, self._moved):
            return BlockSearch(self._vectors, self._docids).search(queries, k, rows)
        scan = partial(search_rows, self._index, rows)
        return RescoredSearch(self._vectors, self._docids, scan, margin=MARGIN, rows=rows).search(queries, k)


MIN_RESCORED = 200
"""Fewest candidates to rescore. Four per hit are rescored if that is more."""

_RESCORED_PER_HIT = 4


class IvfSearch:
    """Approximate search with an inverted-file index: only the lists nearest to a query are searched.

    It implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch`, except that it misses records in the other
    lists. The candidates are rescored with the stored vectors.
    """

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf, index: FaissIndex, *, on_gpu: bool = False) -> None:
        self._vectors = vectors
        self._docids = docids
        self._index = index
        self._moved = _copy_to_gpu(index) if on_gpu else None
        self._max_depth = min(len(vectors), _GPU_MAX_DEPTH if self._moved else len(vectors))

    def search(self, queries: Vectors, k: int, rows: Rows | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits for each query, best first, ties by docid; scores are exact cosines."""
        check_queries(queries, self._vectors.shape[1], k)
        if not len(queries) or not len(self._vectors):
            return [[] for _ in queries]
        if rows is not None and _is_compared(rows, self._moved):
            return BlockSearch(self._vectors, self._docids).search(queries, k, rows)
        depth = min(max(k * _RESCORED_PER_HIT, MIN_RESCORED), self._max_depth)
        scan: Scan = (self._moved or self._index).search if rows is None else partial(search_rows, self._index, rows)
        _, found = scan(np.ascontiguousarray(queries), depth)
        return [
            rank_rows(self._vectors, query, np.sort(near[near >= 0]), self._docids, k)
            for query, near in zip(queries, found, strict=True)
        ]
