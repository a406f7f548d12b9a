"""Records on disk as one Parquet file, a few thousand in memory at a time; the only file that imports pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pyarrow
import pyarrow.parquet

from shrag.corpora.errors import CorpusError
from shrag.corpora.records import Record

_BATCH = 2_048

_SCHEMA = pyarrow.schema(
    [
        pyarrow.field("docid", pyarrow.string(), nullable=False),
        pyarrow.field("title", pyarrow.string(), nullable=False),
        pyarrow.field("text", pyarrow.string(), nullable=False),
        pyarrow.field("language", pyarrow.string(), nullable=False),
        pyarrow.field("complete", pyarrow.bool_(), nullable=False),
        pyarrow.field("authors", pyarrow.list_(pyarrow.string()), nullable=False),
        pyarrow.field("journal", pyarrow.string(), nullable=False),
        pyarrow.field("publisher", pyarrow.string(), nullable=False),
        pyarrow.field("year", pyarrow.int16()),
        pyarrow.field("link", pyarrow.string(), nullable=False),
        pyarrow.field("keywords", pyarrow.list_(pyarrow.string()), nullable=False),
    ]
)


class RecordWriter:
    """Writes records in the order given; at most :data:`_BATCH` wait in memory."""

    def __init__(self, path: Path) -> None:
        self._waiting: list[Record] = []
        self._file = pyarrow.parquet.ParquetWriter(path, _SCHEMA, compression="zstd")

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def write(self, record: Record) -> None:
        """Add one record."""
        self._waiting.append(record)
        if len(self._waiting) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            columns = [
                pyarrow.array([getattr(record, column.name) for record in self._waiting], column.type)
                for column in _SCHEMA
            ]
            self._file.write_table(pyarrow.Table.from_arrays(columns, schema=_SCHEMA))
            self._waiting.clear()


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the records of a file in the order they were written; raises :class:`CorpusError` for a damaged one."""
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if not file.schema_arrow.equals(_SCHEMA):
                raise CorpusError(f"{path} does not hold records of this version: add the corpus again.")
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    yield Record(**{**row, "authors": tuple(row["authors"]), "keywords": tuple(row["keywords"])})
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{path} cannot be read ({error}): add the corpus again.") from error
