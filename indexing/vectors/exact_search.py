"""VectorSearch protocol and exact block search."""

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
"""Row numbers → the documents' identifiers."""

MARGIN = 1e-5
"""How far a scan's single-precision product may be from the exact one; candidates are taken this much deeper."""

_BLOCK_ROWS = 16_384
_DECIMALS = 6


class VectorSearch(Protocol):
    """Finds the documents whose vectors are nearest. Exact; safe to share between threads."""

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each row, best first, ties by docid.

        A score is the cosine to six decimals. What scores 0 or less has nothing in common and is no hit.
        """


class BlockSearch:
    """Implements :class:`VectorSearch` with numpy: every vector is read once a batch, and none is kept."""

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf) -> None:
        self._vectors = vectors
        self._docids = docids

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`VectorSearch`."""
        check_queries(questions, self._vectors.shape[1], k)
        pools = [_TopRows(k) for _ in questions]
        for start in range(0, len(self._vectors), _BLOCK_ROWS):
            block = self._vectors[start : start + _BLOCK_ROWS].astype(np.float32)
            for pool, scores in zip(pools, questions @ block.T, strict=True):
                pool.add(start, scores)
        return [
            rank_rows(self._vectors, question, pool.rows, self._docids, k)
            for question, pool in zip(questions, pools, strict=True)
        ]


def rank_rows(
    vectors: Float16Vectors, question: NDArray[np.float32], rows: NDArray[np.int64], docids: DocidsOf, k: int
) -> list[Hit]:
    """Return the best ``k`` of the candidate ``rows``.

    They are scored anew: did a score depend on a row's place in a scan, equal vectors would not tie.
    """

    def candidates() -> Iterator[tuple[float, str]]:
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = rows[start : start + _BLOCK_ROWS]
            scores = np.array(cosines(vectors, question, part))
            part, scores = part[scores > 0], scores[scores > 0]
            for score, docid in zip(scores.tolist(), docids(part.tolist()), strict=True):
                yield -score, docid

    return [Hit(docid, -score) for score, docid in heapq.nsmallest(k, candidates())]


def cosines(
    vectors: Float16Vectors, question: NDArray[np.float32], rows: NDArray[np.int64] | Sequence[int]
) -> list[float]:
    """Return the cosine of the question and each of the rows, to six decimals, the same wherever a row stands."""
    chosen = vectors[np.asarray(rows, dtype=np.int64)].astype(np.float64)
    scores: list[float] = np.round((chosen * question.astype(np.float64)).sum(axis=1), _DECIMALS).tolist()
    return scores


def check_queries(questions: Vectors, dimension: int, k: int) -> None:
    """Raise ``ValueError`` for questions of another dimension, or ``k`` below 1."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    if questions.ndim != 2 or questions.shape[1] != dimension:
        raise ValueError(f"Questions must be vectors of {dimension} numbers, got {questions.shape}.")


class _TopRows:
    """The rows that may be among the best ``k``, as a scan goes on."""

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
            kept = self._scores >= self._floor
            self.rows, self._scores = self.rows[kept], self._scores[kept]
