"""Dense candidates by FAISS on a GPU: the same exact search, read at the speed of the card's memory.

What the card holds is derived from the vector file and thrown away with the process.
"""

from __future__ import annotations

import numpy as np

from shrag.indexing.dense import Docids
from shrag.indexing.faiss_library import Faiss, load_faiss
from shrag.indexing.scanned_dense import ScannedSearch
from shrag.indexing.vectors import HalfVectors

SCRATCH_BYTES = 256 << 20
"""What FAISS may use beside the vectors; by default it takes 1.5 GiB at once."""

GPU_MARGIN = 1e-3
"""Questions are rounded to half precision there: eleven bits of each component, so 5e-4 of a cosine at most."""

_DEEPEST = 2_048
_BLOCK_ROWS = 65_536


class GpuSearch(ScannedSearch):
    """Implements :class:`~shrag.indexing.dense.DenseSearch`; takes as much of the card as the vector file has bytes.

    ``library`` is FAISS, another in tests. Written for ``GpuIndexFlatIP`` with half-precision storage.
    """

    def __init__(self, vectors: HalfVectors, docids: Docids, library: Faiss | None = None) -> None:
        faiss = library or load_faiss()
        # Kept as long as the index on the card, which does not keep it.
        self._resources = faiss.StandardGpuResources()
        self._resources.setTempMemory(SCRATCH_BYTES)
        config = faiss.GpuIndexFlatConfig()
        config.useFloat16 = True
        flat = faiss.GpuIndexFlatIP(self._resources, vectors.shape[1], config)
        for start in range(0, len(vectors), _BLOCK_ROWS):
            flat.add(vectors[start : start + _BLOCK_ROWS].astype(np.float32))
        super().__init__(vectors, docids, flat.search, margin=GPU_MARGIN, deepest=_DEEPEST)
