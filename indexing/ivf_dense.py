"""Dense candidates among tens of millions: FAISS's inverted lists of 8-bit vectors, refined from the vector file.

Vectors are gathered around centroids, and candidates are taken from the lists nearest to a question only (Jégou, Douze
and Schmid, *Product quantization for nearest neighbor search*, TPAMI 2011). They are scored anew by the vectors
themselves, read from the mapped file. Not exact: :data:`PROBES` and :data:`REFINED` decide how near to it.

The index is derived: it may be deleted at any time and is made again when it is missing or does not fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shrag.indexing.dense import Docids, check_questions, rank_rows
from shrag.indexing.engine import Hit
from shrag.indexing.faiss_library import load_faiss
from shrag.indexing.vectors import HalfVectors
from shrag.models.encoder import Vectors

PROBES = 64
"""How many lists a question looks into."""

REFINED = 200
"""How many candidates are scored anew at least; four for each hit wanted if that is more."""

_REFINED_A_HIT = 4
_SAMPLES_A_LIST = 64
_LISTS_A_ROOT = 4
_HNSW_FROM_LISTS = 16_384
_BLOCK_ROWS = 65_536
_SEED = 0


class IvfSearch:
    """Searches as :class:`~shrag.indexing.dense.DenseSearch` says, but for a candidate in a list it did not look into.

    With a ``path`` the index is kept there and opened again as long as it is of as many vectors of the same length:
    name it by what the vectors are.
    """

    def __init__(self, vectors: HalfVectors, docids: Docids, path: Path | None = None, probes: int = PROBES) -> None:
        self._vectors = vectors
        self._docids = docids
        if len(vectors):
            self._index = (_read(path, vectors) if path else None) or _build(vectors, path)
            load_faiss().extract_index_ivf(self._index).nprobe = probes

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each row, best first, ties by docid; scores are exact cosines."""
        check_questions(questions, self._vectors.shape[1], k)
        if not len(questions) or not len(self._vectors):
            return [[] for _ in questions]
        depth = min(max(k * _REFINED_A_HIT, REFINED), len(self._vectors))
        _, rows = self._index.search(np.ascontiguousarray(questions), depth)
        return [
            rank_rows(self._vectors, question, np.sort(near[near >= 0]), self._docids, k)
            for question, near in zip(questions, rows, strict=True)
        ]


def _build(vectors: HalfVectors, path: Path | None) -> Any:  # noqa: ANN401
    faiss = load_faiss()
    lists = 1 << max(0, round(np.log2(max(_LISTS_A_ROOT * np.sqrt(len(vectors)), 1))))
    lists = max(1, min(lists, len(vectors) // _SAMPLES_A_LIST))
    near = f"IVF{lists}_HNSW32" if lists >= _HNSW_FROM_LISTS else f"IVF{lists}"
    index = faiss.index_factory(vectors.shape[1], f"{near},SQ8", faiss.METRIC_INNER_PRODUCT)
    size = min(len(vectors), lists * _SAMPLES_A_LIST)
    sample = np.sort(np.random.default_rng(_SEED).choice(len(vectors), size, replace=False))
    index.train(vectors[sample].astype(np.float32))
    for start in range(0, len(vectors), _BLOCK_ROWS):
        index.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        faiss.write_index(index, str(draft))
        draft.replace(path)
    return index


def _read(path: Path, vectors: HalfVectors) -> Any:  # noqa: ANN401
    """Return the index kept at ``path``, None where there is none that fits."""
    if not path.is_file():
        return None
    try:
        index = load_faiss().read_index(str(path))
    except RuntimeError:
        return None
    return index if (index.ntotal, index.d) == vectors.shape else None
