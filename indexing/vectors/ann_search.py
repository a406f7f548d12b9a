"""Vector search with FAISS (flat, GPU, IVF), and the choice of a search by the number of vectors.

The flat searches are exact: they rescore the candidates of a FAISS scan and scan deeper until no further row can be
among the best ``k``, given the scan's rounding. :class:`IvfSearch` is approximate. All FAISS indexes are derived from
the vector file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.errors import DependencyMissing
from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.exact_search import MARGIN, BlockSearch, DocidsOf, VectorSearch, check_queries, rank_rows
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

Faiss = Any
"""The ``faiss`` module, which has no types."""


def has_faiss() -> bool:
    """Return whether FAISS is installed, without importing it."""
    return find_spec("faiss") is not None


def load_faiss() -> Faiss:
    """Import and return FAISS; raises :class:`DependencyMissing` with the command to install it."""
    try:
        import faiss
    except ImportError as error:
        raise DependencyMissing(
            f"FAISS is not installed ({error}): `pip install -c constraints.txt shrag[cpu]`, or shrag[gpu]."
        ) from error
    return faiss


def count_gpus() -> int:
    """Return the number of GPUs that FAISS can use; 0 in its CPU build."""
    faiss = load_faiss()
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


FAISS_MIN_ROWS = 100_000
"""Fewest vectors for which FAISS is used, where installed: below, loading it takes longer than it saves."""

IVF_MIN_ROWS = 5_000_000
"""Fewest vectors for approximate search on a CPU."""

GPU_MAX_BYTES = 8 << 30
"""Most bytes of vectors to hold on a GPU, beside a language model."""


def choose_search(vectors: Float16Vectors, docids: DocidsOf, derived: Path | None = None) -> VectorSearch:
    """Return a search for vectors: exact below :data:`IVF_MIN_ROWS` or on a GPU, else approximate.

    Args:
        docids: Row numbers → document identifiers.
        derived: File that stores an approximate index, None for none.
    """
    if len(vectors) < FAISS_MIN_ROWS or not has_faiss():
        return BlockSearch(vectors, docids)
    if vectors.nbytes <= GPU_MAX_BYTES and count_gpus():
        return GpuSearch(vectors, docids)
    if len(vectors) >= IVF_MIN_ROWS:
        return IvfSearch(vectors, docids, derived)
    return FlatSearch(vectors, docids)


Scan = Callable[[Vectors, int], tuple[NDArray[np.float32], NDArray[np.int64]]]
"""Query vectors and a depth → scores and rows of each query, ``[n, depth]``, best first."""

_EXTRA_ROWS = 64
_DEPTH_FACTOR = 4


class RescoredSearch:
    """Implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch` by rescoring the candidates of a scan.

    Args:
        docids: Row numbers → document identifiers.
        scan: Search over all vectors with approximate scores.
        margin: Largest difference of the scan's scores from the exact ones.
        max_depth: The scan's largest depth, None for no limit.
    """

    def __init__(
        self, vectors: Float16Vectors, docids: DocidsOf, scan: Scan, *, margin: float, max_depth: int | None = None
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        self._scan = scan
        self._margin = margin
        self._max_depth = min(len(vectors), max_depth or len(vectors))

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        check_queries(queries, self._vectors.shape[1], k)
        if not len(queries) or not len(self._vectors):
            return [[] for _ in queries]
        depth = min(k + _EXTRA_ROWS, self._max_depth)
        scores, rows = self._scan(np.ascontiguousarray(queries), depth)
        return [self._rank(queries[n : n + 1], k, scores[n], rows[n]) for n in range(len(queries))]

    def _rank(self, query: Vectors, k: int, scores: NDArray[np.float32], rows: NDArray[np.int64]) -> list[Hit]:
        while not self._is_complete(k, scores):
            depth = min(len(scores) * _DEPTH_FACTOR, self._max_depth)
            if depth <= len(scores):
                (hits,) = BlockSearch(self._vectors, self._docids).search(query, k)
                return hits
            deeper = self._scan(query, depth)
            scores, rows = deeper[0][0], deeper[1][0]
        return rank_rows(self._vectors, query[0], np.sort(rows), self._docids, k)

    def _is_complete(self, k: int, scores: NDArray[np.float32]) -> bool:
        """Return whether no row outside the candidates can be among the best ``k`` or tie with one of them."""
        if len(scores) == len(self._vectors):
            return True
        # Rows that score 0 or less are no hits in any case.
        floor = max(float(scores[k - 1]) - 2 * self._margin, -self._margin) if k <= len(scores) else -self._margin
        return float(scores[-1]) < floor


_BLOCK_ROWS = 65_536


def _add_blocks(index: Any, vectors: Float16Vectors) -> None:  # noqa: ANN401
    """Add the vectors to a FAISS index in single precision, a block at a time."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        index.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))


class FlatSearch(RescoredSearch):
    """Exact search on the CPU with a half-precision FAISS index, as large in memory as the vector file."""

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf) -> None:
        faiss = load_faiss()
        flat = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        _add_blocks(flat, vectors)
        super().__init__(vectors, docids, flat.search, margin=MARGIN)


SCRATCH_BYTES = 256 << 20
"""Scratch memory of FAISS beside the vectors; its default is 1.5 GiB."""

GPU_MARGIN = 1e-3
"""Queries are rounded to half precision on a GPU: eleven bits of each component, so at most 5e-4 of a cosine."""

_GPU_MAX_DEPTH = 2_048


class GpuSearch(RescoredSearch):
    """Exact search with a half-precision FAISS index on a GPU, as large as the vector file.

    ``library`` replaces FAISS in tests.
    """

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf, library: Faiss | None = None) -> None:
        faiss = library or load_faiss()
        # Must live as long as the GPU index, which does not hold a reference to it.
        self._resources = faiss.StandardGpuResources()
        self._resources.setTempMemory(SCRATCH_BYTES)
        config = faiss.GpuIndexFlatConfig()
        config.useFloat16 = True
        flat = faiss.GpuIndexFlatIP(self._resources, vectors.shape[1], config)
        _add_blocks(flat, vectors)
        super().__init__(vectors, docids, flat.search, margin=GPU_MARGIN, max_depth=_GPU_MAX_DEPTH)


PROBES = 64
"""Number of lists searched for a query."""

MIN_RESCORED = 200
"""Fewest candidates to rescore; four per hit if that is more."""

_RESCORED_PER_HIT = 4
_SAMPLES_PER_LIST = 64
_LISTS_PER_ROOT = 4
_HNSW_MIN_LISTS = 16_384
_SEED = 0


class IvfSearch:
    """Approximate search with an inverted-file index (IVF): only the lists nearest to a query are searched.

    Vectors are grouped around centroids; candidates of :data:`PROBES` lists are rescored with the stored vectors. A
    record in another list is missed. Source: Jégou, Douze and Schmid, *Product quantization for nearest neighbor
    search*, TPAMI 2011.

    Args:
        docids: Row numbers → document identifiers.
        path: File that stores the index, None for none. It is reused if number and dimension of the vectors agree, so
            its name must identify the vectors. It may be deleted at any time.
        probes: Number of lists searched for a query.
    """

    def __init__(
        self, vectors: Float16Vectors, docids: DocidsOf, path: Path | None = None, probes: int = PROBES
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        if len(vectors):
            self._index = (_read(path, vectors) if path else None) or _build(vectors, path)
            load_faiss().extract_index_ivf(self._index).nprobe = probes

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each query, best first, ties by docid; scores are exact cosines."""
        check_queries(queries, self._vectors.shape[1], k)
        if not len(queries) or not len(self._vectors):
            return [[] for _ in queries]
        depth = min(max(k * _RESCORED_PER_HIT, MIN_RESCORED), len(self._vectors))
        _, rows = self._index.search(np.ascontiguousarray(queries), depth)
        return [
            rank_rows(self._vectors, query, np.sort(near[near >= 0]), self._docids, k)
            for query, near in zip(queries, rows, strict=True)
        ]


def _build(vectors: Float16Vectors, path: Path | None) -> Any:  # noqa: ANN401
    faiss = load_faiss()
    lists = 1 << max(0, round(np.log2(max(_LISTS_PER_ROOT * np.sqrt(len(vectors)), 1))))
    lists = max(1, min(lists, len(vectors) // _SAMPLES_PER_LIST))
    near = f"IVF{lists}_HNSW32" if lists >= _HNSW_MIN_LISTS else f"IVF{lists}"
    index = faiss.index_factory(vectors.shape[1], f"{near},SQ8", faiss.METRIC_INNER_PRODUCT)
    size = min(len(vectors), lists * _SAMPLES_PER_LIST)
    sample = np.sort(np.random.default_rng(_SEED).choice(len(vectors), size, replace=False))
    index.train(vectors[sample].astype(np.float32))
    _add_blocks(index, vectors)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        faiss.write_index(index, str(draft))
        draft.replace(path)
    return index


def _read(path: Path, vectors: Float16Vectors) -> Any:  # noqa: ANN401
    """Return the index stored at ``path``, None where there is none or it does not fit."""
    if not path.is_file():
        return None
    try:
        index = load_faiss().read_index(str(path))
    except RuntimeError:
        return None
    return index if (index.ntotal, index.d) == vectors.shape else None
