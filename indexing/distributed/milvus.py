"""Milvus as a vector database, and Milvus Lite for tests: the only module that imports pymilvus.

Milvus Lite has the same interface over files of this machine, which one process at a time can use. It runs in this
process, and listens on a port of the loopback interface meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shrag.indexing.distributed.collection import (
    EVERYTHING,
    HNSW_BUILD_WIDTH,
    HNSW_LINKS,
    MOST_HITS,
    Between,
    Condition,
    Every,
    Has,
    Part,
    Row,
    Scored,
    Some,
    SparseVector,
    StoredParts,
    Without,
    batches,
    hnsw_search_width,
)
from shrag.indexing.errors import DependencyMissing, EngineUnavailable, IndexingError
from shrag.messages.text import Text
from shrag.models.encoder import Vectors

_T = TypeVar("_T")

DENSE_INDEX: dict[str, Any] = {
    "index_type": "HNSW",
    "metric_type": "IP",
    "params": {"M": HNSW_LINKS, "efConstruction": HNSW_BUILD_WIDTH},
}
"""The index of the dense vectors."""

_WIDEST_SEARCH = 32_768
_MOST_TERMS = 4_096  # the capacity of an ARRAY field
_PART_CHARACTERS = 16_000  # a VARCHAR has at most 65,535 bytes, a character at most 4
_MOST_PARTS = 256
_MOST_ROWS_BYTES = 4 << 20
_LAST_INDEXED = "year"  # the field whose index is created last
_NOT_LOADED = 101
_IMPORTED, _NOT_IMPORTED = 6, {1, 7}  # pymilvus.BulkInsertState: ImportCompleted; ImportFailed, ImportFailedAndCleaned
# pymilvus would ping every ten seconds, and Milvus Lite then ends an idle connection. Requests have their own limit.
_PINGS = {"grpc.keepalive_time_ms": 600_000, "grpc.keepalive_permit_without_calls": 0}


class ImportState(NamedTuple):
    """The state of a file's import. ``failure`` says why it ended without the file's records, empty otherwise."""

    is_finished: bool
    failure: str = ""


class MilvusDatabase:
    """Implements :class:`~shrag.indexing.distributed.collection.VectorDatabase` by Milvus.

    Args:
        address: ``http://host:19530``, or the path of a Milvus Lite file, which ends in ``.db``.
        key: A token, or ``user:password``; empty for none.
        timeout: Seconds that a request may take.

    Raises:
        DependencyMissing: pymilvus is not installed, or the address is a path and Milvus Lite is not installed.
        EngineUnavailable: Nothing answers at the address.
    """

    def __init__(self, address: str, key: str = "", timeout: float = 10.0) -> None:
        try:
            import grpc
            import pymilvus
        except ImportError as error:
            raise DependencyMissing(
                Text("The engine milvus needs pymilvus ({error}): `pip install 'shrag[milvus]'`.", error=error)
            ) from error
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it also raises the errors that it logs
        self._milvus = pymilvus
        # pymilvus passes a timeout on as gRPC's own error.
        self.errors: tuple[type[Exception], ...] = (pymilvus.MilvusException, grpc.RpcError, OSError, ValueError)
        self.address = address
        self.timeout = timeout
        if "://" not in address:
            if find_spec("milvus_lite") is None:
                raise DependencyMissing(
                    Text(
                        "A file as the address of the engine milvus needs milvus-lite, which is not installed: `pip "
                        "install milvus-lite`, or give the address of a server."
                    )
                )
            Path(address).parent.mkdir(parents=True, exist_ok=True)
        self.client: Any = self.call(
            lambda: pymilvus.MilvusClient(uri=address, token=key, timeout=timeout, grpc_options=_PINGS)
        )

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function and return its result; raise pymilvus's errors as :class:`EngineUnavailable`."""
        try:
            return function()
        except self.errors as error:
            raise EngineUnavailable(
                Text(
                    "Milvus at {address} does not answer correctly ({error}): check that it is running and can be "
                    "reached, or use the engine lucene.",
                    address=self.address,
                    error=_describe(error),
                )
            ) from error

    def create(self, name: str, dimension: int) -> MilvusCollection:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        if not self.call(lambda: self._is_whole(name)):
            try:
                self.call(lambda: self._create(name, dimension))
            except EngineUnavailable:
                with suppress(EngineUnavailable):
                    self.drop(name)
                raise
        return MilvusCollection(self, name)

    def open(self, name: str) -> MilvusCollection | None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        if not self.call(lambda: self._is_whole(name)):
            return None
        self.call(lambda: self.client.load_collection(name, timeout=self.timeout))
        return MilvusCollection(self, name)

    def target(self, alias: str) -> str:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""

        def describe() -> str:
            try:
                return str(self.client.describe_alias(alias, timeout=self.timeout)["collection_name"])
            except self._milvus.MilvusException as error:
                if self._is_missing(error):
                    return ""
                raise

        return self.call(describe)

    def point(self, alias: str, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        change = self.client.alter_alias if self.target(alias) else self.client.create_alias
        self.call(lambda: change(name, alias, timeout=self.timeout))

    def drop(self, name: str) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        self.call(lambda: self.client.drop_collection(name, timeout=self.timeout))

    def start_import(self, name: str, path: str) -> int:
        """Ask Milvus to import a Parquet file from its object storage into a collection; return the job's number.

        Args:
            name: The collection.
            path: The file's path in the bucket that Milvus is configured with.
        """
        # Milvus must be asked only once. With a timeout by keyword, or with retries, pymilvus would repeat the request
        # and import the file twice. MilvusClient has no public function for this that needs no further packages.
        return self.call(
            lambda: int(
                self.client._get_connection().do_bulk_insert(
                    name, "", [path], self.timeout, self.client._generate_call_context(), retry_times=0
                )
            )
        )

    def import_state(self, job: int) -> ImportState:
        """Return the state of an import. A job that Milvus no longer knows has failed."""

        def ask() -> ImportState:
            try:
                found = self.client._get_connection().get_bulk_insert_state(
                    job, timeout=self.timeout, context=self.client._generate_call_context()
                )
            except self._milvus.MilvusException as error:
                if self._is_missing(error):
                    return ImportState(True, _describe(error))
                raise
            if found.state in _NOT_IMPORTED:
                return ImportState(True, " ".join(found.failed_reason.split())[:300] or found.state_name)
            return ImportState(found.state == _IMPORTED)

        return self.call(ask)

    def close(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.VectorDatabase`."""
        with suppress(Exception):
            self.client.close()

    @staticmethod
    def _is_missing(error: Any) -> bool:  # noqa: ANN401 - pymilvus has no types
        return error.code in {100, 1600} or "not found" in str(error) or "does not exist" in str(error)

    def _is_whole(self, name: str) -> bool:
        """Return whether there is a collection with all indexes. Milvus loads none whose creation was interrupted."""
        return bool(
            self.client.has_collection(name, timeout=self.timeout)
            and self.client.list_indexes(name, field_name=_LAST_INDEXED, timeout=self.timeout)
        )

    def _create(self, name: str, dimension: int) -> None:
        kind = self._milvus.DataType
        schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("number", kind.INT64, is_primary=True)
        schema.add_field("docid", kind.VARCHAR, max_length=65_535)
        schema.add_field("docid_number", kind.INT64)
        schema.add_field("year", kind.INT64)
        for field in ("keys", "terms"):
            schema.add_field(field, kind.ARRAY, element_type=kind.INT64, max_capacity=_MOST_TERMS)
        schema.add_field("stored", kind.ARRAY, element_type=kind.VARCHAR, max_length=65_535, max_capacity=_MOST_PARTS)
        schema.add_field("sparse", kind.SPARSE_FLOAT_VECTOR)
        # Indexes of an empty collection are ready at once. pymilvus would wait half a second for each.
        create_index = partial(self.client.create_index, name, timeout=self.timeout, sync=False)
        indexes = self.client.prepare_index_params()
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        if dimension:
            schema.add_field("dense", kind.FLOAT_VECTOR, dim=dimension)
            indexes.add_index("dense", **DENSE_INDEX)
        for field in ("docid_number", _LAST_INDEXED):
            indexes.add_index(field, index_type="INVERTED")
        if self.client.has_collection(name, timeout=self.timeout):
            self.client.drop_collection(name, timeout=self.timeout)
        self.client.create_collection(name, schema=schema, consistency_level="Bounded", timeout=self.timeout)
        for field in ("keys", "terms"):
            arrays = self.client.prepare_index_params()
            arrays.add_index(field, index_type="INVERTED")
            try:
                create_index(arrays)
            except self._milvus.MilvusException as error:
                if "does not support" not in str(error):  # Milvus Lite's message
                    raise
        create_index(indexes)
        self.client.load_collection(name, timeout=self.timeout)


class MilvusCollection:
    """Implements :class:`~shrag.indexing.distributed.collection.Collection` by Milvus."""

    def __init__(self, database: MilvusDatabase, name: str) -> None:
        self._database = database
        self._name = name

    def upsert(self, rows: Sequence[Row]) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`.

        Raises:
            IndexingError: A record is larger than Milvus stores.
        """
        for batch in batches(rows, lambda row: len(row.stored) + 12 * len(row.terms), _MOST_ROWS_BYTES):
            self._upsert([row_fields(row) for row in batch])

    def finish(self) -> None:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        client, name = self._database.client, self._name
        # There is no timeout, because the indexing of a whole generation may take long.
        self._database.call(lambda: client.flush(name, timeout=None))
        self._database.call(lambda: client.load_collection(name, timeout=None))

    def finish_import(self) -> None:
        """Load imported files, which Milvus does not do by itself; return when all of them can be searched."""
        self._database.call(lambda: self._database.client.refresh_load(self._name, timeout=None))

    def search(self, queries: Sequence[SparseVector], k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        data = [dict(zip(each.dimensions.tolist(), each.weights.tolist(), strict=True)) for each in queries]
        return self._search("sparse", data, k, condition, {})

    def search_dense(self, queries: Vectors, k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        return self._search("dense", list(queries), k, condition, {"ef": min(hnsw_search_width(k), _WIDEST_SEARCH)})

    def read(self, numbers: Sequence[int], parts: Sequence[Part]) -> dict[int, StoredParts]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        found = self._query(f"number in {list(numbers)}", parts, limit=None) if numbers else []
        return {int(each["number"]): _parts(each) for each in found}

    def find(self, condition: Condition, most: int) -> list[int]:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        found = self._query(_expression(condition) or "number >= 0", ("number",), min(most, MOST_HITS))
        return [int(each["number"]) for each in found]

    def count(self, condition: Condition = EVERYTHING) -> int:
        """See :class:`~shrag.indexing.distributed.collection.Collection`."""
        (found,) = self._query(_expression(condition), ("count(*)",), None, consistency_level="Strong")
        return int(found["count(*)"])

    def _upsert(self, batch: list[dict[str, Any]]) -> None:
        client, timeout = self._database.client, 6 * self._database.timeout
        self._database.call(lambda: client.upsert(self._name, batch, timeout=timeout))

    def _search(
        self, field: str, data: list[Any], k: int, condition: Condition, parameters: dict[str, Any]
    ) -> list[Scored]:
        found = self._ask(
            "search",
            data=data,
            anns_field=field,
            limit=k,
            filter=_expression(condition),
            output_fields=["number"],
            search_params={"metric_type": "IP", "params": parameters},
        )
        return [[(int(hit["number"]), float(hit["distance"])) for hit in hits] for hits in found]

    def _query(self, expression: str, fields: Sequence[str], limit: int | None, **more: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        limited = {"limit": limit} if limit else {}
        return list(self._ask("query", filter=expression, output_fields=list(fields), **limited, **more))

    def _ask(self, method: str, **arguments: Any) -> Any:  # noqa: ANN401 - what pymilvus takes and returns
        database = self._database

        def ask() -> Any:  # noqa: ANN401
            return getattr(database.client, method)(self._name, timeout=database.timeout, **arguments)

        def ask_loaded() -> Any:  # noqa: ANN401
            try:
                return ask()
            except database.errors as error:
                if not _is_released(error):
                    raise
            # A server that was restarted may need to be told again to load the collection into memory.
            database.client.load_collection(self._name, timeout=database.timeout)
            return ask()

        return database.call(ask_loaded)


def _describe(error: Exception) -> str:
    details = getattr(error, "details", None)
    found = getattr(error, "message", "") or (details() if callable(details) else "") or error
    return " ".join(str(found).split())[:300]


def _is_released(error: Exception) -> bool:
    return getattr(error, "code", None) == _NOT_LOADED or "load()" in str(error) or "not loaded" in str(error)


def row_fields(row: Row) -> dict[str, Any]:
    """Return a document as the fields of its collection.

    Raises:
        IndexingError: The document is larger than Milvus stores.
    """
    stored = [row.stored[start : start + _PART_CHARACTERS] for start in range(0, len(row.stored), _PART_CHARACTERS)]
    if len(row.terms) > _MOST_TERMS or len(row.keys) > _MOST_TERMS or len(stored) > _MOST_PARTS:
        raise IndexingError(
            Text(
                "Record {docid!r} has {terms:,} different terms and {characters:,} characters, and Milvus stores at "
                "most {most:,} and {most_characters:,}: divide it into passages, or use the engine qdrant or lucene.",
                docid=row.docid,
                terms=len(row.terms),
                characters=len(row.stored),
                most=_MOST_TERMS,
                most_characters=_MOST_PARTS * _PART_CHARACTERS,
            )
        )
    fields = {
        "number": row.number,
        "docid": row.docid,
        "docid_number": row.docid_number,
        "year": -1 if row.year is None else row.year,
        "keys": list(row.keys),
        "terms": list(row.terms),
        "stored": stored,
        "sparse": dict(zip(row.sparse.dimensions.tolist(), row.sparse.weights.tolist(), strict=True)),
    }
    return fields if row.dense is None else {**fields, "dense": row.dense}


def _parts(fields: dict[str, Any]) -> StoredParts:
    sparse: dict[int, float] | None = fields.get("sparse")
    dense = fields.get("dense")
    vector = None
    if sparse is not None:
        dimensions = np.fromiter(sparse.keys(), dtype=np.uint32, count=len(sparse))
        vector = SparseVector(dimensions, np.fromiter(sparse.values(), dtype=np.float32, count=len(sparse)))
    return StoredParts(
        fields.get("docid", ""),
        vector,
        None if dense is None else np.asarray(dense, dtype=np.float32),
        "".join(fields.get("stored", ())),
    )


def _expression(condition: Condition) -> str:
    """Return a condition in Milvus's language, with field names and integers only; empty for everything."""
    match condition:
        case Has("keys" | "terms" as field, values):
            return f"array_contains_any({field}, {list(values)})"
        case Has(field, values):
            return f"{field} in {list(values)}"
        case Between(field, first, last):
            return f"({field} >= {first} and {field} <= {last})"
        case Every(conditions):
            return " and ".join(f"({_expression(each)})" for each in conditions)
        case Some(conditions):
            return " or ".join(f"({_expression(each)})" for each in conditions)
        case Without(inner):
            return f"not ({_expression(inner)})"
