"""Choice of a vector search; FAISS searches, on a GPU with a substitute that rounds to half precision.

That FAISS itself does, `test_faiss_on_gpu.py` shows where there is one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shrag.indexing.storage.vector_card import FaissCard
from shrag.indexing.vectors import ann_search, faiss_index
from shrag.indexing.vectors.ann_search import FlatSearch, IvfSearch, choose_search
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.faiss_index import GpuIndex, build_index, count_gpus, has_faiss, write_index
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors
from tests.indexing.vectors.test_faiss_index import clustered

pytestmark = pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")


class RoundedIndex:
    """A FAISS index on a GPU: flat, questions in half precision, at most 2,048 hits."""

    def __init__(self, index: Any) -> None:  # noqa: ANN401
        self.ntotal, self.d = index.ntotal, index.d
        self._rows = index.reconstruct_n(0, index.ntotal)

    def search(self, queries: Vectors, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        assert k <= 2_048
        scores = queries.astype(np.float16).astype(np.float32) @ self._rows.T
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, rows, axis=1), rows


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let FAISS find a GPU."""
    monkeypatch.setattr(ann_search, "count_gpus", lambda: 1)
    monkeypatch.setattr(ann_search, "move_to_gpu", lambda index: GpuIndex(RoundedIndex(index), None))


def _docids(numbers: Sequence[int]) -> list[str]:
    return [f"d{number:06d}" for number in numbers]


def _vectors(count: int) -> Float16Vectors:
    rows = np.random.default_rng(8).normal(size=(count, 16))
    rows[: count // 4] = rows[0]
    unit: Float16Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return unit


def _written(vectors: Float16Vectors, folder: Path) -> tuple[Path, FaissCard]:
    index, card = build_index(vectors)
    write_index(index, folder / "x.faiss")
    return folder / "x.faiss", card


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("k", [1, 10, 1_000])
def test_hits_on_a_gpu_are_exact_although_queries_are_rounded(k: int) -> None:
    vectors = _vectors(20_000)  # 5,000 of them equal: more than the card can be asked for
    questions = np.random.default_rng(9).normal(size=(6, 16)).astype(np.float32)
    questions[0] = vectors[0]
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    found = FlatSearch(vectors, _docids, build_index(vectors)[0], on_gpu=True).search(questions, k)
    assert found == BlockSearch(vectors, _docids).search(questions, k)


def test_the_faiss_index_is_searched_where_there_is_one_of_enough_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_gpus() == 0
    vectors = _vectors(2_000)
    path, card = _written(vectors, tmp_path)
    assert isinstance(choose_search(vectors, _docids, path, card), BlockSearch)
    monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", 1_000)
    assert isinstance(choose_search(vectors, _docids, path, card), FlatSearch)
    assert isinstance(choose_search(vectors, _docids, path, None), BlockSearch)
    with monkeypatch.context() as patch:
        patch.setattr(faiss_index, "FLAT_MAX_ROWS", 1_000)
        path, card = _written(vectors, tmp_path)
    assert isinstance(choose_search(vectors, _docids, path, card), IvfSearch)
    monkeypatch.setattr(ann_search, "has_faiss", lambda: False)
    assert isinstance(choose_search(vectors, _docids, path, card), BlockSearch)


@pytest.mark.usefixtures("gpu")
def test_an_index_that_fits_is_searched_on_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", 10)
    vectors = _vectors(100)
    path, card = _written(vectors, tmp_path)
    moved: list[object] = []

    def move(index: Any) -> GpuIndex:  # noqa: ANN401
        moved.append(index)
        return GpuIndex(RoundedIndex(index), None)

    monkeypatch.setattr(ann_search, "move_to_gpu", move)
    choose_search(vectors, _docids, path, card)
    assert len(moved) == 1
    monkeypatch.setattr(ann_search, "GPU_MAX_BYTES", path.stat().st_size - 1)
    choose_search(vectors, _docids, path, card)
    assert len(moved) == 1


@pytest.mark.parametrize("flat_rows", [100, 99])
def test_threads_take_turns_on_a_gpu(flat_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = _vectors(100)
    busy = threading.Lock()

    class OneUser(RoundedIndex):
        def search(self, queries: Vectors, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
            assert busy.acquire(blocking=False), "FAISS's scratch memory has two users"
            time.sleep(0.002)
            busy.release()
            return super().search(queries, k)

    monkeypatch.setattr(faiss_index, "FLAT_MAX_ROWS", flat_rows)
    monkeypatch.setattr(ann_search, "move_to_gpu", lambda index: GpuIndex(OneUser(index), None))
    index, card = build_index(vectors)
    search = (IvfSearch if card.lists else FlatSearch)(vectors, _docids, index, on_gpu=True)
    queries = vectors[:40].astype(np.float32)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: search.search(query[None], 5)[0], queries))
    assert together == BlockSearch(vectors, _docids).search(queries, 5)


@pytest.mark.parametrize("kind", [FlatSearch, IvfSearch])
def test_an_index_that_does_not_fit_on_the_gpu_is_searched_on_the_processor(
    kind: type[FlatSearch | IvfSearch], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def move(index: object) -> GpuIndex:
        raise RuntimeError("Failed to cudaMalloc 6442450944 bytes on device 0 (error 2 out of memory)")

    monkeypatch.setattr(ann_search, "move_to_gpu", move)
    vectors = _vectors(100)
    queries = vectors[:3].astype(np.float32)
    found = kind(vectors, _docids, build_index(vectors)[0], on_gpu=True).search(queries, 5)
    assert found == BlockSearch(vectors, _docids).search(queries, 5)
    assert "searched on the processor: Failed to cudaMalloc" in caplog.text


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    return clustered(8_000, 2).astype(np.float16)


@pytest.fixture(scope="module")
def ivf(vectors: Float16Vectors) -> IvfSearch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faiss_index, "FLAT_MAX_ROWS", 5_000)
        return IvfSearch(vectors, _docids, build_index(vectors)[0])


@pytest.mark.slow
def test_ivf_finds_nearly_all_of_the_ten_and_the_hundred_best(vectors: Float16Vectors, ivf: IvfSearch) -> None:
    questions = clustered(200, 3)
    for k, least in ((10, 0.995), (100, 0.99)):
        exact, found = BlockSearch(vectors, _docids).search(questions, k), ivf.search(questions, k)
        same = sum(len(set(near) & set(best)) for near, best in zip(found, exact, strict=True))
        assert same / (k * len(questions)) >= least


def test_scores_are_exact_cosines_in_order_and_never_below_zero(vectors: Float16Vectors, ivf: IvfSearch) -> None:
    (hits,) = ivf.search(clustered(1, 4), 50)
    (exact,) = BlockSearch(vectors, _docids).search(clustered(1, 4), len(vectors))
    scores = dict(exact)
    assert [hit.score for hit in hits] == [scores[hit.docid] for hit in hits]
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))
    assert ivf.search(clustered(2, 7)[:0], 5) == []
