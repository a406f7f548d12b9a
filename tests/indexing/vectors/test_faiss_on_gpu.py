"""FAISS on a real GPU: what it finds is what the processor finds. Skipped where FAISS sees no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shrag.indexing.vectors import faiss_index
from shrag.indexing.vectors.ann_search import FlatSearch, IvfSearch, choose_search
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.faiss_index import build_index, count_gpus, has_faiss, write_index
from shrag.indexing.vectors.store import Float16Vectors
from tests.indexing.vectors.test_faiss_index import clustered

pytestmark = pytest.mark.skipif(not has_faiss() or count_gpus() == 0, reason="FAISS sees no GPU")


def _docids(numbers: Sequence[int]) -> list[str]:
    return [f"d{number:06d}" for number in numbers]


@pytest.fixture(scope="module")
def vectors() -> Float16Vectors:
    rows = clustered(30_000, 2).astype(np.float16)
    rows[:6_000] = rows[0]  # more equal ones than a GPU can be asked for
    return rows


@pytest.mark.parametrize("k", [1, 10, 1_000])
def test_a_flat_index_on_a_gpu_gives_the_exact_hits_and_ties(vectors: Float16Vectors, k: int) -> None:
    questions = clustered(40, 3)
    questions[0] = vectors[0]
    search = FlatSearch(vectors, _docids, build_index(vectors)[0], on_gpu=True)
    assert search.search(questions, k) == BlockSearch(vectors, _docids).search(questions, k)
    rows = np.arange(1, 30_000, 7)
    assert search.search(questions, k, rows) == BlockSearch(vectors, _docids).search(questions, k, rows)


def test_inverted_lists_on_a_gpu_find_what_they_find_on_the_processor(
    vectors: Float16Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "FLAT_MAX_ROWS", 5_000)
    index, _ = build_index(vectors[6_000:])
    questions = clustered(200, 3)
    exact = BlockSearch(vectors[6_000:], _docids).search(questions, 100)
    here, there = (
        IvfSearch(vectors[6_000:], _docids, index, on_gpu=on_gpu).search(questions, 100) for on_gpu in (False, True)
    )
    for found in (here, there):
        same = sum(len(set(one) & set(other)) for one, other in zip(exact, found, strict=True))
        assert same / (100 * len(questions)) >= 0.99


def test_a_written_index_is_searched_on_the_gpu(vectors: Float16Vectors, tmp_path: Path) -> None:
    index, card = build_index(vectors)
    write_index(index, tmp_path / "x.faiss")
    search = choose_search(vectors, _docids, tmp_path / "x.faiss", card)
    assert isinstance(search, FlatSearch)
    assert search._moved is not None
