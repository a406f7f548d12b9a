"""Contract of vector searches: exact hits in an exact order, ties included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest

from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.ann_search import FlatSearch
from shrag.indexing.vectors.exact_search import BlockSearch, DocidsOf, VectorSearch
from shrag.indexing.vectors.faiss_index import build_index, has_faiss
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

Open: TypeAlias = Callable[[Float16Vectors], VectorSearch]


def _flat_search(vectors: Float16Vectors, docids: DocidsOf) -> FlatSearch:
    return FlatSearch(vectors, docids, build_index(vectors)[0])


SEARCHES = [
    BlockSearch,
    pytest.param(_flat_search, marks=pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")),
]

DIMENSION = 16


def docids(numbers: Sequence[int]) -> list[str]:
    """Name rows so that their order is not that of their numbers."""
    return [f"d{number * 7919 % 100_003:06d}" for number in numbers]


@pytest.fixture(params=SEARCHES)
def open_search(request: pytest.FixtureRequest) -> Open:
    """Return each way to search."""
    return lambda vectors: request.param(vectors, docids)


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    """Return 40,000 unit rows over several blocks; every hundredth is one and the same, every thousandth is nothing."""
    rows = np.random.default_rng(7).normal(size=(40_000, DIMENSION))
    rows[::100] = rows[100]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[::1000] = 0
    return rows.astype(np.float16)


def _questions(count: int) -> Vectors:
    rows = np.random.default_rng(11).normal(size=(count, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _reference(vectors: Float16Vectors, question: np.ndarray[tuple[int], np.dtype[np.float32]], k: int) -> list[Hit]:
    scores = [round(score, 6) for score in (vectors.astype(np.float64) @ question.astype(np.float64)).tolist()]
    hits = [Hit(docid, score) for docid, score in zip(docids(range(len(vectors))), scores, strict=True) if score > 0]
    return sorted(hits, key=lambda hit: (-hit.score, hit.docid))[:k]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_hits_are_those_of_sorting_every_cosine(open_search: Open, vectors: Float16Vectors, k: int) -> None:
    questions = _questions(5)
    for hits, question in zip(open_search(vectors).search(questions, k), questions, strict=True):
        expected = _reference(vectors, question, k)
        assert [hit.docid for hit in hits] == [hit.docid for hit in expected]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1.1e-6)


def test_hundreds_of_equal_vectors_come_by_docid(open_search: Open, vectors: Float16Vectors) -> None:
    question = vectors[100:101].astype(np.float32)
    same = [number for number in range(0, len(vectors), 100) if number % 1000]
    (hits,) = open_search(vectors).search(question, 50)
    assert [hit.docid for hit in hits] == sorted(docids(same))[:50]
    assert len({hit.score for hit in hits}) == 1


def test_a_question_is_answered_alike_alone_and_in_a_batch(open_search: Open, vectors: Float16Vectors) -> None:
    search, questions = open_search(vectors), _questions(9)
    assert search.search(questions, 20) == [search.search(question[None], 20)[0] for question in questions]


def test_zeros_find_nothing_and_opposites_are_not_found(open_search: Open) -> None:
    rows = np.array([[1, 0], [-1, 0], [0, 0], [0, 1]], dtype=np.float16)
    search = open_search(rows)
    assert search.search(np.zeros((1, 2), dtype=np.float32), 4) == [[]]
    assert search.search(np.array([[1, 0]], dtype=np.float32), 4) == [[Hit(docids([0])[0], 1.0)]]


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
def test_no_vectors_or_no_dimensions_find_nothing(open_search: Open, shape: tuple[int, int]) -> None:
    search = open_search(np.zeros(shape, dtype=np.float16))
    assert search.search(np.zeros((2, shape[1]), dtype=np.float32), 3) == [[], []]
    assert search.search(np.zeros((0, shape[1]), dtype=np.float32), 3) == []


def test_k_below_one_and_a_question_of_another_dimension_are_refused(
    open_search: Open, vectors: Float16Vectors
) -> None:
    search = open_search(vectors[:10])
    with pytest.raises(ValueError, match="at least 1, got 0"):
        search.search(_questions(1), 0)
    with pytest.raises(ValueError, match=r"vectors of 16 numbers, got \(1, 3\)"):
        search.search(np.zeros((1, 3), dtype=np.float32), 1)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.1, 0.6])
def test_of_some_rows_the_hits_are_those_of_all_with_the_others_taken_out(
    open_search: Open, vectors: Float16Vectors, share: float
) -> None:
    rows = np.flatnonzero(np.random.default_rng(3).random(len(vectors)) < share)
    there = set(docids(rows.tolist()))
    questions, search = _questions(3), open_search(vectors)
    everything = search.search(questions, len(vectors))
    for k in (1, 10, 30_000):
        by_hand = [[hit for hit in hits if hit.docid in there][:k] for hits in everything]
        assert search.search(questions, k, rows) == by_hand
    assert search.search(questions, 5, rows[:0]) == [[], [], []]
