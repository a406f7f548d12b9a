"""FAISS searches (flat, GPU, IVF) and the choice between them.

A scan gives more rows than are wanted. They are exact once the worst of them scores less than the best ``k`` could by
more than the rounding; until then deeper ones are asked for, and at the scan's own limit every vector is read.

What FAISS holds is derived from the vector file, lives in memory, and is thrown away with the process.

What the card holds is derived from the vector file and thrown away with the process.

Vectors are gathered around centroids, and candidates are taken from the lists nearest to a question only (Jégou, Douze
and Schmid, *Product quantization for nearest neighbor search*, TPAMI 2011). They are scored anew by the vectors
themselves, read from the mapped file. Not exact: :data:`PROBES` and :data:`MIN_RESCORED` decide how near to it.

The index is derived: it may be deleted at any time and is made again when it is missing or does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.errors import PartMissing
from shrag.indexing.search_engine import Hit
from shrag.indexing.vectors.exact_search import MARGIN, BlockSearch, DocidsOf, VectorSearch, check_queries, rank_rows
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors

Faiss = Any
"""The library's module; it has no types to offer."""


def has_faiss() -> bool:
    """Return whether FAISS is installed, without importing it."""
    return find_spec("faiss") is not None


def load_faiss() -> Faiss:
    """Return the library; raises :class:`PartMissing` with how to install it."""
    try:
        import faiss
    except ImportError as error:
        raise PartMissing(
            f"FAISS is not installed ({error}): `pip install -c constraints.txt shrag[cpu]`, or shrag[gpu]."
        ) from error
    return faiss


def count_gpus() -> int:
    """Return how many GPUs FAISS sees; none in the build for processors."""
    faiss = load_faiss()
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


FAISS_MIN_ROWS = 100_000
"""From how many vectors on FAISS is worth its start, where it is installed."""

IVF_MIN_ROWS = 5_000_000
"""From how many on a processor does not read them all for one question."""

GPU_MAX_BYTES = 8 << 30
"""How much of a card may be taken for vectors, of what a language model leaves."""


def choose_search(vectors: Float16Vectors, docids: DocidsOf, derived: Path | None = None) -> VectorSearch:
    """Return the search for ``vectors``; exact unless there are very many. An inexact one is kept at ``derived``."""
    if len(vectors) < FAISS_MIN_ROWS or not has_faiss():
        return BlockSearch(vectors, docids)
    if vectors.nbytes <= GPU_MAX_BYTES and count_gpus():
        return GpuSearch(vectors, docids)
    if len(vectors) >= IVF_MIN_ROWS:
        return IvfSearch(vectors, docids, derived)

    return FlatSearch(vectors, docids)


Scan = Callable[[Vectors, int], tuple[NDArray[np.float32], NDArray[np.int64]]]
"""Questions and a depth → scores and rows of each, ``[n, depth]``, best first."""

_EXTRA_ROWS = 64
_DEPTH_FACTOR = 4


class RescoredSearch:
    """Implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch` over a ``scan`` of all ``vectors``.

    ``margin`` is how far its scores may be from the exact ones; ``deepest`` the largest depth that it can be asked for.
    """

    def __init__(
        self, vectors: Float16Vectors, docids: DocidsOf, scan: Scan, *, margin: float, max_depth: int | None = None
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        self._scan = scan
        self._margin = margin
        self._max_depth = min(len(vectors), max_depth or len(vectors))

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.vectors.exact_search.VectorSearch`."""
        check_queries(questions, self._vectors.shape[1], k)
        if not len(questions) or not len(self._vectors):
            return [[] for _ in questions]
        depth = min(k + _EXTRA_ROWS, self._max_depth)
        scores, rows = self._scan(np.ascontiguousarray(questions), depth)
        return [
            self._rank(questions[place : place + 1], k, scores[place], rows[place]) for place in range(len(questions))
        ]

    def _rank(self, question: Vectors, k: int, scores: NDArray[np.float32], rows: NDArray[np.int64]) -> list[Hit]:
        while not self._is_complete(k, scores):
            depth = min(len(scores) * _DEPTH_FACTOR, self._max_depth)
            if depth <= len(scores):
                (hits,) = BlockSearch(self._vectors, self._docids).search(question, k)
                return hits
            deeper = self._scan(question, depth)
            scores, rows = deeper[0][0], deeper[1][0]
        return rank_rows(self._vectors, question[0], np.sort(rows), self._docids, k)

    def _is_complete(self, k: int, scores: NDArray[np.float32]) -> bool:
        """Say whether no row that was not given can be among the best ``k``, or tie with one of them."""
        if len(scores) == len(self._vectors):
            return True
        # What scores nothing is no hit however good the others are.
        floor = max(float(scores[k - 1]) - 2 * self._margin, -self._margin) if k <= len(scores) else -self._margin
        return float(scores[-1]) < floor


_BLOCK_ROWS = 16_384


class FlatSearch(RescoredSearch):
    """Implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch`; takes as much memory as the vector file has bytes."""

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf) -> None:
        faiss = load_faiss()
        flat = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        for start in range(0, len(vectors), _BLOCK_ROWS):
            flat.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))
        super().__init__(vectors, docids, flat.search, margin=MARGIN)


SCRATCH_BYTES = 256 << 20
"""What FAISS may use beside the vectors; by default it takes 1.5 GiB at once."""

GPU_MARGIN = 1e-3
"""Questions are rounded to half precision there: eleven bits of each component, so 5e-4 of a cosine at most."""

_GPU_MAX_DEPTH = 2_048
_GPU_BLOCK_ROWS = 65_536


class GpuSearch(RescoredSearch):
    """Implements :class:`~shrag.indexing.vectors.exact_search.VectorSearch`; takes as much of the card as the vector file has bytes.

    ``library`` is FAISS, another in tests. Written for ``GpuIndexFlatIP`` with half-precision storage.
    """

    def __init__(self, vectors: Float16Vectors, docids: DocidsOf, library: Faiss | None = None) -> None:
        faiss = library or load_faiss()
        # Kept as long as the index on the card, which does not keep it.
        self._resources = faiss.StandardGpuResources()
        self._resources.setTempMemory(SCRATCH_BYTES)
        config = faiss.GpuIndexFlatConfig()
        config.useFloat16 = True
        flat = faiss.GpuIndexFlatIP(self._resources, vectors.shape[1], config)
        for start in range(0, len(vectors), _GPU_BLOCK_ROWS):
            flat.add(vectors[start : start + _GPU_BLOCK_ROWS].astype(np.float32))
        super().__init__(vectors, docids, flat.search, margin=GPU_MARGIN, max_depth=_GPU_MAX_DEPTH)


PROBES = 64
"""How many lists a question looks into."""

MIN_RESCORED = 200
"""How many candidates are scored anew at least; four for each hit wanted if that is more."""

_RESCORED_PER_HIT = 4
_SAMPLES_PER_LIST = 64
_LISTS_PER_ROOT = 4
_HNSW_MIN_LISTS = 16_384
_IVF_BLOCK_ROWS = 65_536
_SEED = 0


class IvfSearch:
    """Searches as :class:`~shrag.indexing.vectors.exact_search.VectorSearch` says, but for a candidate in a list it did not look into.

    With a ``path`` the index is kept there and opened again as long as it is of as many vectors of the same length:
    name it by what the vectors are.
    """

    def __init__(
        self, vectors: Float16Vectors, docids: DocidsOf, path: Path | None = None, probes: int = PROBES
    ) -> None:
        self._vectors = vectors
        self._docids = docids
        if len(vectors):
            self._index = (_read(path, vectors) if path else None) or _build(vectors, path)
            load_faiss().extract_index_ivf(self._index).nprobe = probes

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each row, best first, ties by docid; scores are exact cosines."""
        check_queries(questions, self._vectors.shape[1], k)
        if not len(questions) or not len(self._vectors):
            return [[] for _ in questions]
        depth = min(max(k * _RESCORED_PER_HIT, MIN_RESCORED), len(self._vectors))
        _, rows = self._index.search(np.ascontiguousarray(questions), depth)
        return [
            rank_rows(self._vectors, question, np.sort(near[near >= 0]), self._docids, k)
            for question, near in zip(questions, rows, strict=True)
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
    for start in range(0, len(vectors), _IVF_BLOCK_ROWS):
        index.add(vectors[start : start + _IVF_BLOCK_ROWS].astype(np.float32))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        faiss.write_index(index, str(draft))
        draft.replace(path)
    return index


def _read(path: Path, vectors: Float16Vectors) -> Any:  # noqa: ANN401
    """Return the index kept at ``path``, None where there is none that fits."""
    if not path.is_file():
        return None
    try:
        index = load_faiss().read_index(str(path))
    except RuntimeError:
        return None
    return index if (index.ntotal, index.d) == vectors.shape else None
