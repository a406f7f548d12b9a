"""Which search an index's vectors get: by how many there are, and what is installed."""

from __future__ import annotations

from pathlib import Path

from shrag.indexing.dense import BlockSearch, DenseSearch, Docids
from shrag.indexing.faiss_library import gpus, has_faiss
from shrag.indexing.vectors import HalfVectors

FAISS_FROM_ROWS = 100_000
"""From how many vectors on FAISS is worth its start, where it is installed."""

IVF_FROM_ROWS = 5_000_000
"""From how many on a processor does not read them all for one question."""

GPU_MOST_BYTES = 8 << 30
"""How much of a card may be taken for vectors, of what a language model leaves."""


def choose_search(vectors: HalfVectors, docids: Docids, derived: Path | None = None) -> DenseSearch:
    """Return the search for ``vectors``; exact unless there are very many. An inexact one is kept at ``derived``."""
    if len(vectors) < FAISS_FROM_ROWS or not has_faiss():
        return BlockSearch(vectors, docids)
    if vectors.nbytes <= GPU_MOST_BYTES and gpus():
        from shrag.indexing.gpu_dense import GpuSearch

        return GpuSearch(vectors, docids)
    if len(vectors) >= IVF_FROM_ROWS:
        from shrag.indexing.ivf_dense import IvfSearch

        return IvfSearch(vectors, docids, derived)
    from shrag.indexing.flat_dense import FlatSearch

    return FlatSearch(vectors, docids)
