"""Qdrant as a vector database: the only module that imports qdrant-client."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

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

_T = TypeVar("_T")

MEMORY = ":memory:"
"""The address that selects qdrant-client's own search in Python, for tests."""

_POLL_SECONDS = 0.5


class QdrantDatabase:
    """Implements :class:`~shrag.indexing.distributed.collection.VectorDatabase` by a Qdrant server.

    Args:
        address: ``http://host:6333``, or :data:`MEMORY`.
        key: The server's API key, empty for none.
        timeout: Seconds that a request may take.

    Raises:
        DependencyMissing: qdrant-client is not installed.
        EngineUnavailable: Nothing answers at the address.
    """

    def __init__(self, address: str, key: str = "", timeout: float = 10.0) -> None:
        try:
            import qdrant_client
            from qdrant_client import models
            from qdrant_client.http.exceptions import ApiException, ResponseHandlingException
        except ImportError as error:
            raise DependencyMissing(
                Text("The engine qdrant needs qdrant-client ({error}): `pip install 'shrag[qdrant]'`.", error=error)
            ) from error
        self.models: Any = models
        self._errors = (ApiException, ResponseHandlingException, OSError, ValueError)
        self._address = address
        self.is_server = address != MEMORY
        # The client must not ask for the server's version, and must not use the environment's proxies.
        options: dict[str, Any] = {"check_compatibility": False, "trust_env": False} if self.is_server else {}
        self.client: Any = qdrant_client.QdrantClient(
            location=address, api_key=key or None, timeout=math.ceil(timeout), **options
        )
        self.call(self.client.get_collections)

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function and return its result; raise the client's errors as :class:`EngineUnavailable`."""
        try:
            return function()
        except self._errors as error:
            raise EngineUnavailable(
                Text(
                    "Qdrant at {address} does not answer correctly ({error}): check that it is running and can be "
                    "reached, or use the engine lucene.",
                    address=self._address,
                    error=" ".join(str(error).split())[:300] or type(error).__name__,
                )
            ) from error

    def create(self, name: str, dimension: int) -> QdrantCollection:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        models, client = self.models, self.client
        if not self.call(lambda: client.collection_exists(name)):
            dense = models.VectorParams(
                size=max(dimension, 1), distance=models.Distance.DOT, datatype=models.Datatype.FLOAT16
            )
            self.call(
                lambda: client.create_collection(
                    name,
                    vectors_config={"dense": dense} if dimension else {},
                    sparse_vectors_config={"sparse": models.SparseVectorParams()},
                    hnsw_config=models.HnswConfigDiff(m=HNSW_LINKS, ef_construct=HNSW_BUILD_WIDTH),
                )
            )
        if self.is_server:
            for field in INDEXED:
                self.call(partial(client.create_payload_index, name, field, models.PayloadSchemaType.INTEGER))
        return QdrantCollection(self, name)

    def open(self, name: str) -> QdrantCollection | None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        return QdrantCollection(self, name) if self.call(lambda: self.client.collection_exists(name)) else None

    def target(self, alias: str) -> str:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        there = self.call(self.client.get_aliases).aliases
        return next((str(each.collection_name) for each in there if each.alias_name == alias), "")

    def point(self, alias: str, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        models = self.models
        changes: list[Any] = []
        if self.target(alias):
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        created = models.CreateAlias(collection_name=name, alias_name=alias)
        changes.append(models.CreateAliasOperation(create_alias=created))
        self.call(lambda: self.client.update_collection_aliases(change_aliases_operations=changes))

    def drop(self, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        self.call(lambda: self.client.delete_collection(name))

    def close(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        with suppress(Exception):
            self.client.close()


class QdrantCollection:
    """Implements :class:`~shrag.indexing.distributed.collection.Collection` by a Qdrant server."""

    def __init__(self, database: QdrantDatabase, name: str) -> None:
        self._database = database
        self._models = database.models
        self._name = name

    def upsert(self, rows: Sequence[Row]) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        models = self._models
        for batch in request_batches(rows):
            points = [
                models.PointStruct(id=row.number, vector=vectors(models, row), payload=payload(row)) for row in batch
            ]
            self._call("upsert", points=points, wait=True)

    def finish(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        while self._call("get_collection").status == self._models.CollectionStatus.YELLOW:
            time.sleep(_POLL_SECONDS)

    def search(self, queries: Sequence[SparseVector], k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return self._search("sparse", [sparse(self._models, each) for each in queries], k, condition)

    def search_dense(self, queries: Vectors, k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return self._search("dense", np.asarray(queries).tolist(), k, condition)

    def read(self, numbers: Sequence[int], parts: Sequence[Part]) -> dict[int, StoredParts]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        fields, named = selected(parts)
        found = self._call("retrieve", ids=list(numbers), with_payload=fields or False, with_vectors=named or False)
        return {point.id: stored_parts(point) for point in found}

    def find(self, condition: Condition, most: int) -> list[int]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        met, limit = self._filter(condition), min(most, MOST_HITS)
        found, _ = self._call("scroll", scroll_filter=met, limit=limit, with_payload=False, with_vectors=False)
        return [point.id for point in found]

    def count(self, condition: Condition = EVERYTHING) -> int:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return int(self._call("count", count_filter=self._filter(condition), exact=True).count)

    def _search(self, name: str, queries: Sequence[Any], k: int, condition: Condition) -> list[Scored]:
        models, met = self._models, self._filter(condition)
        parameters = models.SearchParams(hnsw_ef=hnsw_search_width(k)) if name == "dense" else None
        requests = [
            models.QueryRequest(query=query, using=name, limit=k, filter=met, params=parameters) for query in queries
        ]
        found = self._call("query_batch_points", requests=requests)
        return [[(point.id, point.score) for point in each.points] for each in found]

    def _filter(self, condition: Condition) -> Any:  # noqa: ANN401 - models.Filter
        return as_filter(self._models, condition, "Range")

    def _call(self, method: str, **arguments: Any) -> Any:  # noqa: ANN401 - what the client's methods take and return
        function = getattr(self._database.client, method)
        return self._database.call(lambda: function(self._name, **arguments))
