"""Dense candidates by FAISS: the same exact search on all cores; the only file that imports it.

What FAISS holds is derived from the vector file, lives in memory, and is thrown away with the process.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from shrag.indexing.dense import MARGIN, Docids, check_questions, rank_rows
from shrag.indexing.engine import Hit
from shrag.indexing.errors import PartMissing
from shrag.indexing.vectors import HalfVectors
from shrag.models.encoder import Vectors

_BLOCK_ROWS = 16_384
_MORE = 64


def has_faiss() -> bool:
    """Return whether FAISS is installed, without importing it."""
    return find_spec("faiss") is not None


class FlatSearch:
    """Implements :class:`~shrag.indexing.dense.DenseSearch`; takes as much memory as the vector file has bytes."""

    def __init__(self, vectors: HalfVectors, docids: Docids) -> None:
        try:
            import faiss
        except ImportError as error:
            raise PartMissing(
                f"FAISS is not installed ({error}): `pip install -c constraints.txt shrag[cpu]`."
            ) from error
        self._vectors = vectors
        self._docids = docids
        self._flat = faiss.IndexScalarQuantizer(
            vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        )
        for start in range(0, len(vectors), _BLOCK_ROWS):
            self._flat.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))

    def search(self, questions: Vectors, k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.dense.DenseSearch`."""
        check_questions(questions, self._vectors.shape[1], k)
        if not len(questions) or not len(self._vectors):
            return [[] for _ in questions]
        depth = min(k + _MORE, len(self._vectors))
        scores, rows = self._flat.search(np.ascontiguousarray(questions), depth)
        hits: list[list[Hit]] = []
        for place, question in enumerate(questions):
            near = rows[place]
            floor = max(float(scores[place][min(k, depth) - 1]) - MARGIN, -MARGIN)
            if depth < len(self._vectors) and scores[place][-1] >= floor:
                # More rows may tie with the last one wanted than were asked for.
                _, _, near = self._flat.range_search(questions[place : place + 1], floor)
            hits.append(rank_rows(self._vectors, question, np.sort(near), self._docids, k))
        return hits
