"""Choice of a vector search; FAISS searches, on a GPU with a substitute for FAISS that rounds to half precision.

The substitute does not show that FAISS itself behaves alike on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from shrag.indexing.vectors import ann_search
from shrag.indexing.vectors.ann_search import SCRATCH_BYTES, GpuSearch, IvfSearch, choose_search, count_gpus, has_faiss
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

needs_faiss = pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")


class Resources:
    asked: ClassVar[list[int]] = []

    def setTempMemory(self, size: int) -> None:  # noqa: N802
        self.asked.append(size)


class Config:
    useFloat16 = False  # noqa: N815


class Flat:
    def __init__(self, resources: Resources, dimension: int, config: Config) -> None:
        assert config.useFloat16
        self._rows = np.empty((0, dimension), np.float16)

    def add(self, rows: Vectors) -> None:
        self._rows = np.concatenate([self._rows, rows.astype(np.float16)])

    def search(self, questions: Vectors, depth: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        assert depth <= 2_048
        scores = questions.astype(np.float16).astype(np.float32) @ self._rows.astype(np.float32).T
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        return np.take_along_axis(scores, rows, axis=1), rows


class Library:
    StandardGpuResources, GpuIndexFlatConfig, GpuIndexFlatIP = Resources, Config, Flat


def _docids(numbers: Sequence[int]) -> list[str]:
    return [f"d{number:06d}" for number in numbers]


def _vectors(count: int) -> Float16Vectors:
    rows = np.random.default_rng(8).normal(size=(count, 16))
    rows[: count // 4] = rows[0]
    unit: Float16Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return unit


@pytest.mark.parametrize("k", [1, 10, 1_000])
def test_hits_are_exact_although_queries_are_rounded(k: int) -> None:
    vectors = _vectors(20_000)  # 5,000 of them equal: more than the card can be asked for
    questions = np.random.default_rng(9).normal(size=(6, 16)).astype(np.float32)
    questions[0] = vectors[0]
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    found = GpuSearch(vectors, _docids, Library()).search(questions, k)
    assert found == BlockSearch(vectors, _docids).search(questions, k)


def test_little_scratch_memory_is_reserved_on_the_gpu() -> None:
    Resources.asked.clear()
    GpuSearch(_vectors(100), _docids, Library())
    assert Resources.asked == [SCRATCH_BYTES] == [268_435_456]


@needs_faiss
def test_without_a_gpu_the_number_of_vectors_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_gpus() == 0
    vectors = _vectors(2_000)
    assert isinstance(choose_search(vectors, _docids), BlockSearch)
    monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", 1_000)
    assert type(choose_search(vectors, _docids)).__name__ == "FlatSearch"
    monkeypatch.setattr(ann_search, "IVF_MIN_ROWS", 2_000)
    assert isinstance(choose_search(vectors, _docids), IvfSearch)
    monkeypatch.setattr(ann_search, "has_faiss", lambda: False)
    assert isinstance(choose_search(vectors, _docids), BlockSearch)


@needs_faiss
def test_vectors_that_fit_are_searched_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann_search, "count_gpus", lambda: 1)
    monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", 10)
    vectors = _vectors(100)
    with monkeypatch.context() as patch:
        patch.setattr(ann_search, "load_faiss", Library)
        assert isinstance(choose_search(vectors, _docids), GpuSearch)
    monkeypatch.setattr(ann_search, "GPU_MAX_BYTES", vectors.nbytes - 1)
    assert type(choose_search(vectors, _docids)).__name__ == "FlatSearch"


pytestmark = pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")

COUNT, DIMENSION, CLUSTERS = 8_000, 32, 120


def _clustered(count: int, seed: int) -> Vectors:
    """Return unit rows around the same 120 directions, as texts gather around subjects."""
    centres = np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSION))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(CLUSTERS, size=count)] + rng.normal(size=(count, DIMENSION)) * 1.2
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    return _clustered(COUNT, 2).astype(np.float16)


def _recall(vectors: Float16Vectors, search: IvfSearch, questions: Vectors, k: int = 10) -> float:
    exact = BlockSearch(vectors, _docids).search(questions, k)
    found = search.search(questions, k)
    return sum(len(set(near) & set(best)) for near, best in zip(found, exact, strict=True)) / (k * len(questions))


@pytest.mark.slow
def test_nearly_all_of_the_ten_best_are_found_and_more_lists_find_more(vectors: Float16Vectors) -> None:
    questions = _clustered(200, 3)
    recalls = [_recall(vectors, IvfSearch(vectors, _docids, probes=probes), questions) for probes in (1, 16, 64)]
    assert recalls[0] < recalls[1] <= recalls[2]
    assert recalls[0] < 0.8
    assert recalls[1] >= 0.94
    assert recalls[2] >= 0.995


def test_scores_are_exact_cosines_in_order_and_never_below_zero(vectors: Float16Vectors) -> None:
    (hits,) = IvfSearch(vectors, _docids).search(_clustered(1, 4), 50)
    (exact,) = BlockSearch(vectors, _docids).search(_clustered(1, 4), COUNT)
    scores = dict(exact)
    assert [hit.score for hit in hits] == [scores[hit.docid] for hit in hits]
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))


@pytest.mark.slow
def test_a_stored_index_is_reused_and_one_that_does_not_fit_is_rebuilt(vectors: Float16Vectors, tmp_path: Path) -> None:
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
