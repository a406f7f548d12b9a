"""Exact dense candidates from a scan whose scores are rounded: what all kinds of FAISS index have in common.

A scan gives more rows than are wanted. They are exact once the worst of them scores less than the best ``k`` could by
more than the rounding; until then deeper ones are asked for, and at the scan's own limit every vector is read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.dense import BlockSearch, Docids, check_questions, rank_rows
from shrag.indexing.engine import Hit
from shrag.indexing.vectors import HalfVectors
from shrag.models.encoder import Vectors

Scan = Callable[[Vectors, int], tuple[NDArray[np.float32], NDArray[np.int64]]]
"""Questions and a depth → scores and rows of each, ``[n, depth]``, best first."""

_MORE = 64
_DEEPER = 4


class ScannedSearch:
    """Implements :class:`~shrag.indexing.dense.DenseSearch` over a ``scan`` of all ``vectors``.

    ``margin`` is how far its scores may be from the exact ones; ``deepest`` the largest depth that it can be asked for.
    """

    def __init__(
        self, vectors: HalfVectors, docids: Docids, scan: Scan, *, margin: float, deepest: int | None = None
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        self._scan = scan
        self._margin = margin
        self._deepest = min(len(vectors), deepest or len(vectors))

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.dense.DenseSearch`."""
        check_questions(questions, self._vectors.shape[1], k)
        if not len(questions) or not len(self._vectors):
            return [[] for _ in questions]
        depth = min(k + _MORE, self._deepest)
        scores, rows = self._scan(np.ascontiguousarray(questions), depth)
        return [
            self._rank(questions[place : place + 1], k, scores[place], rows[place]) for place in range(len(questions))
        ]

    def _rank(self, question: Vectors, k: int, scores: NDArray[np.float32], rows: NDArray[np.int64]) -> list[Hit]:
        while not self._is_enough(k, scores):
            depth = min(len(scores) * _DEEPER, self._deepest)
            if depth <= len(scores):
                (hits,) = BlockSearch(self._vectors, self._docids).search(question, k)
                return hits
            deeper = self._scan(question, depth)
            scores, rows = deeper[0][0], deeper[1][0]
        return rank_rows(self._vectors, question[0], np.sort(rows), self._docids, k)

    def _is_enough(self, k: int, scores: NDArray[np.float32]) -> bool:
        """Say whether no row that was not given can be among the best ``k``, or tie with one of them."""
        if len(scores) == len(self._vectors):
            return True
        # What scores nothing is no hit however good the others are.
        floor = max(float(scores[k - 1]) - 2 * self._margin, -self._margin) if k <= len(scores) else -self._margin
        return float(scores[-1]) < floor
