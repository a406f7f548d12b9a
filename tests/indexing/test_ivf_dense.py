"""Inverted lists: how much of an exact search they find, and that they can be thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shrag.indexing.dense import BlockSearch
from shrag.indexing.faiss_library import has_faiss
from shrag.indexing.ivf_dense import IvfSearch
from shrag.indexing.vectors import HalfVectors
from shrag.models.encoder import Vectors

pytestmark = pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")

COUNT, DIMENSION, CLUSTERS = 8_000, 32, 120


def _docids(numbers: Sequence[int]) -> list[str]:
    return [f"d{number:06d}" for number in numbers]


def _clustered(count: int, seed: int) -> Vectors:
    """Return unit rows around the same 120 directions, as texts gather around subjects."""
    centres = np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSION))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(CLUSTERS, size=count)] + rng.normal(size=(count, DIMENSION)) * 1.2
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture(scope="module")
def vectors() -> HalfVectors:
    return _clustered(COUNT, 2).astype(np.float16)


def _recall(vectors: HalfVectors, search: IvfSearch, questions: Vectors, k: int = 10) -> float:
    exact = BlockSearch(vectors, _docids).search(questions, k)
    found = search.search(questions, k)
    return sum(len(set(near) & set(best)) for near, best in zip(found, exact, strict=True)) / (k * len(questions))


def test_nearly_all_of_the_ten_best_are_found_and_more_lists_find_more(vectors: HalfVectors) -> None:
    questions = _clustered(200, 3)
    recalls = [_recall(vectors, IvfSearch(vectors, _docids, probes=probes), questions) for probes in (1, 16, 64)]
    assert recalls[0] < recalls[1] <= recalls[2]
    assert recalls[0] < 0.8
    assert recalls[1] >= 0.94
    assert recalls[2] >= 0.995


def test_scores_are_exact_cosines_in_order_and_never_below_zero(vectors: HalfVectors) -> None:
    (hits,) = IvfSearch(vectors, _docids).search(_clustered(1, 4), 50)
    (exact,) = BlockSearch(vectors, _docids).search(_clustered(1, 4), COUNT)
    scores = dict(exact)
    assert [hit.score for hit in hits] == [scores[hit.docid] for hit in hits]
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))


def test_a_kept_index_is_opened_again_and_one_that_does_not_fit_is_made_anew(
    vectors: HalfVectors, tmp_path: Path
) -> None:
    path = tmp_path / "derived" / "x.ivf"
    questions = _clustered(20, 5)
    expected = IvfSearch(vectors, _docids, path).search(questions, 10)
    written = path.stat().st_mtime_ns
    assert IvfSearch(vectors, _docids, path).search(questions, 10) == expected
    assert path.stat().st_mtime_ns == written
    for broken in (path.read_bytes()[:1000], b""):
        path.write_bytes(broken)
        assert IvfSearch(vectors, _docids, path).search(questions, 10) == expected
    fewer = vectors[:4_000]
    assert IvfSearch(fewer, _docids, path).search(questions, 10) == IvfSearch(fewer, _docids).search(questions, 10)
    assert [each.name for each in path.parent.iterdir()] == ["x.ivf"]


@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_few_vectors_or_none_are_all_found(count: int) -> None:
    vectors = _clustered(count, 6).astype(np.float16).reshape(count, DIMENSION)
    questions = _clustered(2, 7)
    assert IvfSearch(vectors, _docids).search(questions, 5) == BlockSearch(vectors, _docids).search(questions, 5)
    assert IvfSearch(vectors, _docids).search(questions[:0], 5) == []
