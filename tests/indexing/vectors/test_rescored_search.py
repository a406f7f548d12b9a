"""Exact hits from an approximate scan: rounding, ties, and a depth limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from shrag.indexing.vectors.ann_search import RescoredSearch
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

MARGIN = 1e-3


class NoisyScan:
    """A scan whose scores have a random error up to ``MARGIN`` per row; records the depths."""

    def __init__(self, vectors: Float16Vectors) -> None:
        self._vectors = vectors.astype(np.float32)
        self._error = np.random.default_rng(5).uniform(-MARGIN, MARGIN, len(vectors)).astype(np.float32)
        self.depths: list[int] = []

    def __call__(self, questions: Vectors, depth: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        self.depths.append(depth)
        scores = questions @ self._vectors.T + self._error
        rows = np.argsort(-scores, axis=1)[:, :depth]
        return np.take_along_axis(scores, rows, axis=1), rows


def _docids(numbers: Sequence[int]) -> list[str]:
    return [f"d{number * 7919 % 100_003:06d}" for number in numbers]


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    """Return 5,000 rows: 1,600 within a margin of each other, 400 equal, some zero."""
    rows = np.random.default_rng(3).normal(size=(5_000, 8))
    rows[:400] = rows[0]
    rows[400:2_000] = rows[400] + np.random.default_rng(4).normal(size=(1_600, 8)) * 1e-3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[::1000] = 0
    return rows.astype(np.float16)


def _questions(vectors: Float16Vectors) -> Vectors:
    rows = np.concatenate([vectors[[1, 401, 3_001]], np.random.default_rng(6).normal(size=(5, 8))]).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


@pytest.mark.parametrize("k", [1, 10, 300, 5_000, 9_999])
@pytest.mark.parametrize("max_depth", [None, 256])
def test_hits_equal_those_of_an_exact_search(vectors: Float16Vectors, k: int, max_depth: int | None) -> None:
    questions = _questions(vectors)
    search = RescoredSearch(vectors, _docids, NoisyScan(vectors), margin=MARGIN, max_depth=max_depth)
    assert search.search(questions, k) == BlockSearch(vectors, _docids).search(questions, k)


def test_the_scan_goes_deeper_only_where_more_rows_could_tie(vectors: Float16Vectors) -> None:
    questions = _questions(vectors)
    scan = NoisyScan(vectors)
    search = RescoredSearch(vectors, _docids, scan, margin=MARGIN)
    search.search(questions[2:3], 3)
    assert scan.depths == [67]
    scan.depths.clear()
    search.search(questions[:1], 3)
    assert scan.depths == [67, 268, 1_072]


def test_a_margin_below_the_rounding_loses_hits(vectors: Float16Vectors) -> None:
    questions = _questions(vectors)
    careless = RescoredSearch(vectors, _docids, NoisyScan(vectors), margin=0.0)
    assert careless.search(questions, 10) != BlockSearch(vectors, _docids).search(questions, 10)
