"""Dense candidates by FAISS on the processor: the same exact search on all cores.

What FAISS holds is derived from the vector file, lives in memory, and is thrown away with the process.
"""

from __future__ import annotations

import numpy as np

from shrag.indexing.dense import MARGIN, Docids
from shrag.indexing.faiss_library import load_faiss
from shrag.indexing.scanned_dense import ScannedSearch
from shrag.indexing.vectors import HalfVectors

_BLOCK_ROWS = 16_384


class FlatSearch(ScannedSearch):
    """Implements :class:`~shrag.indexing.dense.DenseSearch`; takes as much memory as the vector file has bytes."""

    def __init__(self, vectors: HalfVectors, docids: Docids) -> None:
        faiss = load_faiss()
        flat = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        for start in range(0, len(vectors), _BLOCK_ROWS):
            flat.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))
        super().__init__(vectors, docids, flat.search, margin=MARGIN)
