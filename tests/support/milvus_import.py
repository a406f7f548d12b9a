"""Milvus Lite with an import of Parquet files, which it lacks: a stand-in for a Milvus server with object storage.

What it does with a file is what Milvus documents: it refuses one whose columns are not those of the collection or not
of their types, and inserts the rows, replacing none. It takes one file for each job, as Milvus does. It says nothing of
how Milvus's own reader behaves.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pyarrow
import pyarrow.parquet
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from pymilvus import DataType, MilvusClient
from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc

ARROW_TYPES: dict[DataType, Any] = {
    DataType.INT64: pyarrow.int64(),
    DataType.VARCHAR: pyarrow.string(),
    DataType.SPARSE_FLOAT_VECTOR: pyarrow.string(),
    DataType.FLOAT_VECTOR: pyarrow.list_(pyarrow.float32()),
}
"""What Milvus's reader (``internal/util/importutilv2/parquet``) takes for the types of the collections of SHRAG."""

_BATCH = 64


class ImportingServicer(MilvusServicer):  # type: ignore[misc]  # milvus_lite has no types
    """Milvus Lite's interface, and jobs that import files of the folder ``bucket``.

    Attributes:
        asked: The paths of all jobs, by the jobs' numbers from 1.
        forgotten: Jobs that are no longer known.
        released: Jobs end once it is set.
    """

    def __init__(self, database: MilvusLite, bucket: Path) -> None:
        super().__init__(database)
        self.address = ""
        self.asked: list[str] = []
        self.forgotten: set[int] = set()
        self.released = threading.Event()
        self.released.set()
        self._bucket = bucket
        self._failures: dict[int, str] = {}

    def Import(self, request: Any, context: object) -> Any:  # noqa: N802, ANN401 - gRPC's names
        """Import one file."""
        (path,) = request.files
        self.asked.append(path)
        job = len(self.asked)
        client = MilvusClient(self.address)
        try:
            for batch in read_batches(client, request.collection_name, self._bucket / path):
                client.insert(request.collection_name, batch)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            self._failures[job] = str(error)
        return milvus_pb2.ImportResponse(status=common_pb2.Status(), tasks=[job])

    def GetImportState(self, request: Any, context: object) -> Any:  # noqa: N802, ANN401
        """Return the state of a job."""
        if request.task in self.forgotten:
            gone = common_pb2.Status(code=2100, reason=f"import job does not exist, jobID={request.task}")
            return milvus_pb2.GetImportStateResponse(status=gone)
        state = common_pb2.ImportCompleted if self.released.is_set() else common_pb2.ImportStarted
        reason = self._failures.get(request.task, "")
        if reason:
            state = common_pb2.ImportFailed
        infos = [common_pb2.KeyValuePair(key="failed_reason", value=reason)]
        return milvus_pb2.GetImportStateResponse(status=common_pb2.Status(), state=state, infos=infos)

    def GetLoadingProgress(self, request: Any, context: object) -> Any:  # noqa: N802, ANN401
        """Say that what was imported is loaded, as Milvus does and Milvus Lite leaves out."""
        found = super().GetLoadingProgress(request, context)
        found.refresh_progress = found.progress
        return found


@contextmanager
def importing_server(folder: Path, bucket: Path) -> Iterator[ImportingServicer]:
    """Run the stand-in in this process; its address is on a free port of the loopback interface."""
    database = MilvusLite(str(folder))
    server = grpc.server(futures.ThreadPoolExecutor(10), options=[("grpc.max_receive_message_length", 1 << 28)])
    servicer = ImportingServicer(database, bucket)
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(servicer, server)
    servicer.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield servicer
    finally:
        server.stop(0)
        database.close()


def check_schema(schema: Any, fields: list[dict[str, Any]]) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise ``ValueError`` unless the columns of a file are the fields of a collection, each of a type it takes."""
    wanted = {
        field["name"]: pyarrow.list_(ARROW_TYPES[field["element_type"]])
        if field["type"] == DataType.ARRAY
        else ARROW_TYPES[field["type"]]
        for field in fields
    }
    found = {field.name: field.type for field in schema}
    if found != wanted or len(schema) != len(wanted):
        raise ValueError(f"schema not equal: {found} in the file, {wanted} in the collection")


def read_batches(client: MilvusClient, collection: str, path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file as the ordinary interface takes them, once its schema is the collection's."""
    with pyarrow.parquet.ParquetFile(path) as file:
        check_schema(file.schema_arrow, client.describe_collection(collection)["fields"])
        for batch in file.iter_batches(_BATCH):
            if any(column.null_count for column in batch.columns):
                raise ValueError("not nullable, but has null value")
            rows = batch.to_pylist()
            for row in rows:
                row["sparse"] = {int(dimension): weight for dimension, weight in json.loads(row["sparse"]).items()}
            yield rows
