"""FAISS indexes of vectors: flat and IVF, written and read, and on a GPU by a substitute for FAISS.

That FAISS itself does, `test_faiss_on_gpu.py` shows where there is one.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from shrag.indexing.errors import IndexDamaged
from shrag.indexing.storage.vector_card import FaissCard
from shrag.indexing.vectors import faiss_index
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.faiss_index import (
    SCRATCH_BYTES,
    FaissIndex,
    GpuIndex,
    build_index,
    has_faiss,
    load_faiss,
    move_to_gpu,
    read_index,
    write_index,
)
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

pytestmark = pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed")

COUNT, DIMENSION, CLUSTERS = 8_000, 32, 120


def clustered(count: int, seed: int) -> Vectors:
    """Return unit rows around the same 120 directions, as texts gather around subjects."""
    centres = np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSION))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(CLUSTERS, size=count)] + rng.normal(size=(count, DIMENSION)) * 1.2
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    return clustered(COUNT, 2).astype(np.float16)


def _recall(vectors: Float16Vectors, found: np.ndarray, questions: Vectors) -> float:
    exact = BlockSearch(vectors, lambda numbers: [str(number) for number in numbers]).search(questions, 100)
    shares = [
        len({str(row) for row in rows} & {hit.docid for hit in hits}) / len(hits)
        for rows, hits in zip(found, exact, strict=True)
    ]
    return sum(shares) / len(shares)


def test_few_vectors_make_a_flat_index_that_stock_faiss_reads(vectors: Float16Vectors, tmp_path: Path) -> None:
    index, card = build_index(vectors)
    assert card == FaissCard("SQfp16", load_faiss().__version__, lists=0, probes=0, recall=1.0)
    write_index(index, tmp_path / "x.faiss")
    assert (tmp_path / "x.faiss").stat().st_size - vectors.nbytes < 1_000
    stock = load_faiss().read_index(str(tmp_path / "x.faiss"))
    questions = clustered(50, 3)
    assert _recall(vectors, stock.search(questions, 100)[1], questions) >= 0.999


@pytest.mark.slow
def test_many_vectors_make_an_ivf_index_that_finds_nearly_all_of_the_hundred_nearest(
    vectors: Float16Vectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "FLAT_MAX_ROWS", 5_000)
    index, card = build_index(vectors)
    assert (card.factory, card.lists) == ("IVF125,SQ8", 125)
    assert 0.995 <= card.recall <= 1
    write_index(index, tmp_path / "x.faiss")
    stock = load_faiss().read_index(str(tmp_path / "x.faiss"))
    assert stock.nprobe == card.probes <= 125
    questions = clustered(100, 3)
    assert _recall(vectors, stock.search(questions, 200)[1], questions) >= 0.99
    stock.nprobe = 1
    assert _recall(vectors, stock.search(questions, 200)[1], questions) < 0.8


def test_a_file_that_is_cut_or_of_other_vectors_is_damage(vectors: Float16Vectors, tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    write_index(build_index(vectors[:100])[0], path)
    assert read_index(path, (100, DIMENSION)).ntotal == 100
    with pytest.raises(IndexDamaged, match="has 100 vectors of 32 numbers instead of 101 of 32: build"):
        read_index(path, (101, DIMENSION))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(IndexDamaged, match="cannot be read by FAISS"):
        read_index(path, (100, DIMENSION))


class Resources:
    asked: ClassVar[list[int]] = []

    def setTempMemory(self, size: int) -> None:  # noqa: N802
        self.asked.append(size)


class Options:
    useFloat16 = False  # noqa: N815


class Library:
    StandardGpuResources, GpuClonerOptions = Resources, Options

    @staticmethod
    def index_cpu_to_gpu(resources: Resources, device: int, index: object, options: Options) -> object:
        assert isinstance(resources, Resources)
        assert options.useFloat16
        assert device == 0
        return index


def test_several_queries_are_compared_with_all_of_many_centroids(tmp_path: Path) -> None:
    faiss, lists, threads = load_faiss(), 16_384, 4
    rows = clustered(40_000, 2)
    index = faiss.index_factory(DIMENSION, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.quantizer.add(rows[:lists])
    index.train(rows)
    index.add(rows)
    index.nprobe = 64
    write_index(index, tmp_path / "x.faiss")
    read = read_index(tmp_path / "x.faiss", rows.shape)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        found = read.search(rows[-8:], 1)[1]
    finally:
        faiss.omp_set_num_threads(before)
    assert found.ravel().tolist() == list(range(39_992, 40_000))


def test_an_index_is_moved_to_the_first_gpu_with_little_scratch_memory(
    vectors: Float16Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    Resources.asked.clear()
    index, _ = build_index(vectors[:100])
    monkeypatch.setattr(faiss_index, "load_faiss", Library)
    moved = move_to_gpu(index)
    assert moved.index is index
    assert isinstance(moved.resources, Resources)
    assert Resources.asked == [SCRATCH_BYTES] == [268_435_456]


def test_centroids_and_the_lists_of_vectors_found_on_a_gpu_are_those_found_on_the_processor(
    vectors: Float16Vectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "FLAT_MAX_ROWS", 500)
    write_index(build_index(vectors[:1_000])[0], tmp_path / "processor")
    moved: list[int] = []

    def move(flat: FaissIndex) -> GpuIndex:
        moved.append(flat.ntotal)
        return GpuIndex(flat, None)

    monkeypatch.setattr(faiss_index, "count_gpus", lambda: 1)
    monkeypatch.setattr(faiss_index, "move_to_gpu", move)
    index, card = build_index(vectors[:1_000])
    assert (card.factory, moved) == ("IVF15,SQ8", [0, 15])
    assert index.clustering_index is None  # type: ignore[attr-defined]
    write_index(index, tmp_path / "gpu")
    assert (tmp_path / "gpu").read_bytes() == (tmp_path / "processor").read_bytes()
