"""The FAISS index of an index's vectors: build it from the vector file, write, read, and move it to a GPU.

It is flat (every vector, in half precision) up to :data:`FLAT_MAX_ROWS` vectors, else an inverted file (IVF) of 8-bit
codes. An inverted file groups the vectors around centroids, and compares a query with the lists of the nearest ones.
Source: Jégou, Douze and Schmid, *Product quantization for nearest neighbor search*, TPAMI 2011. Row n is Lucene's
document n.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.errors import DependencyMissing, IndexDamaged
from shrag.indexing.storage.vector_card import FaissCard
from shrag.indexing.vectors.store import Float16Vectors
from shrag.messages.text import Text
from shrag.models.encoder import Vectors

Faiss = Any
"""The ``faiss`` module, which has no types."""

FLAT_MAX_ROWS = 100_000
"""Most vectors of a flat index."""

MAX_PROBES = 2_048
"""Most lists searched for a query: FAISS's limit on a GPU."""

SCRATCH_BYTES = 256 << 20
"""Scratch memory of FAISS on a GPU beside the vectors; its default is 1.5 GiB."""

GPU_MAX_BYTES = 8 << 30
"""Most bytes of an index to hold on a GPU, beside a language model."""

_RECALL = 0.995
_NEIGHBORS = 100
_SAMPLE_QUERIES = 100
_BLOCK_ROWS = 65_536
_SAMPLES_PER_LIST = 64
_LISTS_PER_ROOT = 4
_SEED = 0


class FaissIndex(Protocol):
    """What SHRAG uses of a FAISS index. ``search`` gives scores and rows, ``[n, k]``, best first, -1 for no row."""

    ntotal: int
    d: int

    def search(self, queries: Vectors, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """See FAISS."""


def has_faiss() -> bool:
    """Return whether FAISS is installed, without importing it."""
    return find_spec("faiss") is not None


def load_faiss() -> Faiss:
    """Import and return FAISS; raises :class:`DependencyMissing` with the command to install it."""
    try:
        import faiss
    except ImportError as error:
        raise DependencyMissing(
            Text("FAISS is not installed ({error}): `pip install 'shrag[cpu]'`, or shrag[gpu].", error=error)
        ) from error
    return faiss


def count_gpus() -> int:
    """Return the number of GPUs that FAISS can use; 0 in its CPU build."""
    faiss = load_faiss()
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


def build_index(vectors: Float16Vectors) -> tuple[FaissIndex, FaissCard]:
    """Return a new index of vectors, and its parameters."""
    faiss = load_faiss()
    rows, dimension = vectors.shape
    lists = _list_count(rows)
    factory = "SQfp16" if rows <= FLAT_MAX_ROWS else f"IVF{lists},SQ8"
    index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    _share_lists_out(index)
    if rows <= FLAT_MAX_ROWS:
        for block in _blocks(vectors):
            index.add(block)
        return index, FaissCard(factory, faiss.__version__)
    _train(index, _sample(vectors, lists * _SAMPLES_PER_LIST).astype(np.float32))
    _add_to_lists(index, vectors)
    probes, recall = _choose_probes(index, vectors, lists)
    return index, FaissCard(factory, faiss.__version__, lists, probes, recall)


def write_index(index: FaissIndex, path: Path) -> None:
    """Write an index to a file that ``faiss.read_index`` reads."""
    load_faiss().write_index(index, str(path))


def read_index(path: Path, shape: tuple[int, ...]) -> FaissIndex:
    """Read the index of vectors of a shape; raise :class:`IndexDamaged` if it is damaged or does not fit."""
    try:
        index: FaissIndex = load_faiss().read_index(str(path))
    except RuntimeError as error:
        raise IndexDamaged(
            Text("{path} cannot be read by FAISS ({error}): build the index again.", path=path, error=error)
        ) from None
    if (index.ntotal, index.d) != shape:
        raise IndexDamaged(
            Text(
                "{path} has {found_rows} vectors of {found_dimension} numbers instead of {rows} of {dimension}: "
                "build the index again.",
                path=path,
                found_rows=index.ntotal,
                found_dimension=index.d,
                rows=shape[0],
                dimension=shape[1],
            )
        )
    _share_lists_out(index)
    return index


def _share_lists_out(index: Any) -> None:  # noqa: ANN401
    """Have threads share the lists of each query out, not the queries.

    One query is faster then. When FAISS 1.15.1 shares queries out, and each thread gets fewer queries than there are
    threads, it compares them with only a part of the centroids if there are some ten thousand or more of these.
    """
    if hasattr(index, "parallel_mode"):
        index.parallel_mode = 1


def search_rows(
    index: Any,  # noqa: ANN401
    rows: NDArray[np.int64],
    queries: Vectors,
    k: int,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Search an index on a CPU as ``index.search`` does, but only among the given rows."""
    faiss = load_faiss()
    mask = np.zeros(index.ntotal, dtype=bool)
    mask[rows] = True
    selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    if hasattr(index, "nprobe"):
        parameters = faiss.SearchParametersIVF(sel=selector, nprobe=index.nprobe)
    else:
        parameters = faiss.SearchParameters(sel=selector)
    found: tuple[NDArray[np.float32], NDArray[np.int64]] = index.search(queries, k, params=parameters)
    return found


@dataclass(frozen=True, slots=True)
class GpuIndex:
    """An index on a GPU, and the resources that must live as long as the index.

    The scratch memory of the resources has one user at a time, so threads must search by :meth:`search`.
    """

    index: FaissIndex
    resources: Any
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def search(self, queries: Vectors, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the scores and the rows of the best ``k`` of each query, ``[n, k]``; threads take turns."""
        with self._lock:
            return self.index.search(queries, k)


def move_to_gpu(index: FaissIndex) -> GpuIndex:
    """Copy an index to the first GPU, a flat one in half precision."""
    faiss = load_faiss()
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(SCRATCH_BYTES)
    options = faiss.GpuClonerOptions()
    options.useFloat16 = True
    return GpuIndex(faiss.index_cpu_to_gpu(resources, 0, index, options), resources)


def _train(index: Any, sample: Vectors) -> None:  # noqa: ANN401
    """Find the centroids, on a GPU if there is one. For millions of vectors this takes most of a build's time."""
    if count_gpus() > 0:
        flat = move_to_gpu(load_faiss().IndexFlat(index.d, index.metric_type))
        index.clustering_index = flat.index
        index.train(sample)
        index.clustering_index = None
    else:
        index.train(sample)


def _add_to_lists(index: Any, vectors: Float16Vectors) -> None:  # noqa: ANN401
    """Add each vector to the list of its nearest centroid, which is found on a GPU if there is one."""
    tools: Faiss = import_module("faiss.contrib.ivf_tools")
    moved = move_to_gpu(index.quantizer) if count_gpus() > 0 else None
    centroids: Any = moved.index if moved else index.quantizer
    for block in _blocks(vectors):
        tools.add_preassigned(index, block, centroids.assign(block, 1).ravel())


def _blocks(vectors: Float16Vectors) -> Iterator[Vectors]:
    for start in range(0, len(vectors), _BLOCK_ROWS):
        yield vectors[start : start + _BLOCK_ROWS].astype(np.float32)


def _list_count(rows: int) -> int:
    """Return the number of lists: the power of two nearest to four times the square root of the number of vectors.

    It is smaller if there are too few vectors to train that many lists.
    """
    wanted = 1 << max(0, round(math.log2(max(_LISTS_PER_ROOT * math.sqrt(rows), 1))))
    return max(1, min(wanted, rows // _SAMPLES_PER_LIST))


def _sample(vectors: Float16Vectors, size: int) -> Float16Vectors:
    rows = np.random.default_rng(_SEED).choice(len(vectors), min(len(vectors), size), replace=False)
    return np.asarray(vectors[np.sort(rows)])


def _choose_probes(index: Any, vectors: Float16Vectors, lists: int) -> tuple[int, float]:  # noqa: ANN401
    """Return the number of lists to search, and the share of the nearest vectors that half as many lists find.

    Half as many lists find 99.5 % of the nearest vectors of a sample. The number is doubled because questions are
    farther from the vectors than the vectors are from each other. It is also set in the index.
    """
    queries = _sample(vectors, _SAMPLE_QUERIES).astype(np.float32)
    nearest = _nearest(vectors, queries)
    probes = 8
    while True:
        index.nprobe = probes
        _, found = index.search(queries, 2 * _NEIGHBORS)
        recall = np.mean([np.isin(best, rows).mean() for best, rows in zip(nearest, found, strict=True)])
        if recall >= _RECALL or probes >= lists:
            break
        probes *= 2
    index.nprobe = min(2 * probes, lists, MAX_PROBES)
    return int(index.nprobe), round(float(recall), 4)


def _nearest(vectors: Float16Vectors, queries: Vectors) -> NDArray[np.int64]:
    """Return the rows of the nearest vectors of each query, found by comparison with all vectors."""
    scores = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    start = 0
    for block in _blocks(vectors):
        numbers = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
        start += len(block)
        scores = np.concatenate([scores, queries @ block.T], axis=1)
        rows = np.concatenate([rows, numbers], axis=1)
        best = np.argpartition(-scores, _NEIGHBORS - 1, axis=1)[:, :_NEIGHBORS]
        scores, rows = np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)
    return rows
