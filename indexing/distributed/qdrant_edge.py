"""Qdrant's core in this process, over a folder of this machine: the only module that imports qdrant-edge-py.

It is for tests, and for trying the engine without a server. One process at a time can use the folder. Each collection
is one shard, and each alias is a file. The storage and the search are those of a Qdrant server.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shrag.corpora.files import write_atomically
from shrag.indexing.distributed.collection import (
    EVERYTHING,
    HNSW_BUILD_WIDTH,
    HNSW_LINKS,
    MOST_HITS,
    Condition,
    Part,
    Row,
    Scored,
    SparseVector,
    StoredParts,
    hnsw_search_width,
)
from shrag.indexing.distributed.qdrant_points import (
    INDEXED,
    as_filter,
    payload,
    request_batches,
    selected,
    sparse,
    stored_parts,
    vectors,
)
from shrag.indexing.errors import DependencyMissing, EngineUnavailable
from shrag.messages.text import Text
from shrag.models.encoder import Vectors

_COLLECTIONS, _ALIASES = "collections", "aliases"
_FULL_SCAN_KIB = 20_000
"""Up to this many KiB of vectors, all are compared: 40,000 rows of 256 dimensions in half precision."""


class EdgeDatabase:
    """Implements :class:`~shrag.indexing.distributed.collection.VectorDatabase` by Qdrant's core.

    Raises:
        DependencyMissing: qdrant-edge-py is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import qdrant_edge
        except ImportError as error:
            raise DependencyMissing(
                Text(
                    "A folder as the address of the engine qdrant needs qdrant-edge-py ({error}): `pip install "
                    "qdrant-edge-py`, or give the address of a server.",
                    error=error,
                )
            ) from error
        self._types = qdrant_edge
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[str, EdgeCollection] = {}

    def create(self, name: str, dimension: int) -> EdgeCollection:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        there = self.open(name)
        if there is not None:
            return there
        types, path = self._types, self._path(name)
        dense = types.EdgeVectorParams(
            size=dimension, distance=types.Distance.Dot, datatype=types.VectorStorageDatatype.Float16
        )
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        shard = self._call(
            lambda: types.EdgeShard.create(
                str(path),
                types.EdgeConfig(
                    vectors={"dense": dense} if dimension else None,
                    sparse_vectors={"sparse": types.EdgeSparseVectorParams()},
                    hnsw_config=types.HnswIndexConfig(
                        m=HNSW_LINKS,
                        ef_construct=HNSW_BUILD_WIDTH,
                        full_scan_threshold=_FULL_SCAN_KIB,
                        on_disk=False,
                    ),
                ),
            )
        )
        for field in INDEXED:
            shard.update(types.UpdateOperation.create_field_index(field, types.PayloadSchemaType.Integer))
        (path / "created").touch()
        return self._keep(name, shard)

    def open(self, name: str) -> EdgeCollection | None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        path = self._path(name)
        with self._lock:
            if name in self._open:
                return self._open[name]
        if not (path / "created").exists():
            return None
        return self._keep(name, self._call(lambda: self._types.EdgeShard.load(str(path))))

    def target(self, alias: str) -> str:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        path = self._folder / _ALIASES / alias
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def point(self, alias: str, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        path = self._folder / _ALIASES / alias
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, name.encode())

    def drop(self, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        with self._lock:
            there = self._open.pop(name, None)
        if there is not None:
            there.shard.close()
        shutil.rmtree(self._path(name), ignore_errors=True)

    def close(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        with self._lock:
            for each in self._open.values():
                each.shard.close()
            self._open.clear()

    def _path(self, name: str) -> Path:
        return self._folder / _COLLECTIONS / name

    def _keep(self, name: str, shard: Any) -> EdgeCollection:  # noqa: ANN401 - qdrant_edge.EdgeShard
        with self._lock:
            return self._open.setdefault(name, EdgeCollection(self._types, shard))

    def _call(self, function: Any) -> Any:  # noqa: ANN401 - any function
        try:
            return function()
        except Exception as error:
            raise EngineUnavailable(
                Text(
                    "Qdrant's files in {folder} cannot be opened ({error}): another process may have them open.",
                    folder=self._folder,
                    error=error,
                )
            ) from error


class EdgeCollection:
    """Implements :class:`~shrag.indexing.distributed.collection.Collection` by a shard of Qdrant's core."""

    def __init__(self, types: Any, shard: Any) -> None:  # noqa: ANN401 - the module, and its EdgeShard
        self._types = types
        self.shard = shard

    def upsert(self, rows: Sequence[Row]) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        types = self._types
        for batch in request_batches(rows):
            points = [types.Point(row.number, vectors(types, row), payload(row)) for row in batch]
            self.shard.update(types.UpdateOperation.upsert_points(points))

    def finish(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        self.shard.optimize()
        self.shard.flush()

    def search(self, queries: Sequence[SparseVector], k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return self._search("sparse", [sparse(self._types, each) for each in queries], k, condition)

    def search_dense(self, queries: Vectors, k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return self._search("dense", np.asarray(queries).tolist(), k, condition)

    def read(self, numbers: Sequence[int], parts: Sequence[Part]) -> dict[int, StoredParts]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        fields, named = selected(parts)
        found = self.shard.retrieve(list(numbers), with_payload=fields or False, with_vector=named or False)
        return {point.id: stored_parts(point) for point in found}

    def find(self, condition: Condition, most: int) -> list[int]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        request = self._types.ScrollRequest(
            limit=min(most, MOST_HITS), filter=self._filter(condition), with_payload=False, with_vector=False
        )
        return [point.id for point in self.shard.scroll(request)[0]]

    def count(self, condition: Condition = EVERYTHING) -> int:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return int(self.shard.count(self._types.CountRequest(exact=True, filter=self._filter(condition))))

    def _search(self, name: str, queries: Sequence[Any], k: int, condition: Condition) -> list[Scored]:
        types, met = self._types, self._filter(condition)
        requests = [
            types.QueryRequest(
                limit=k,
                query=types.Query.Nearest(query, name),
                filter=met,
                params=types.SearchParams(hnsw_ef=hnsw_search_width(k)) if name == "dense" else None,
            )
            for query in queries
        ]
        found = self.shard.query_batch(types.QueryBatchRequest(requests))
        return [[(point.id, point.score) for point in each] for each in found]

    def _filter(self, condition: Condition) -> Any:  # noqa: ANN401 - qdrant_edge.Filter
        return as_filter(self._types, condition, "RangeFloat")
