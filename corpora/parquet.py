"""Records on disk as one Parquet file, a few thousand in memory at a time; the only file that imports pyarrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any

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


class RecordFile:
    """A file of records open for reading any stretch of it; keeps the group it read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._telling():
            self._file = pyarrow.parquet.ParquetFile(path)
            if not self._file.schema_arrow.equals(_SCHEMA):
                raise CorpusError(f"{path} does not hold records of this version: add the corpus again.")
        about = self._file.metadata
        sizes: list[int] = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        self._starts = list(accumulate(sizes, initial=0))
        self._group: tuple[int, pyarrow.Table] | None = None

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._starts[-1]

    def bytes_uncompressed(self) -> int:
        """Return how large the columns are once they are decompressed."""
        about = self._file.metadata
        return sum(int(about.row_group(group).total_byte_size) for group in range(about.num_row_groups))

    def read(self, start: int, count: int) -> Iterator[Record]:
        """Yield ``count`` records from the one numbered ``start`` (from 0) on, fewer where the file ends before.

        Raises :class:`CorpusError` for a damaged file.
        """
        stop = min(start + count, len(self))
        while start < stop:
            group = bisect_right(self._starts, start) - 1
            first, last = start - self._starts[group], min(stop, self._starts[group + 1]) - self._starts[group]
            for begin in range(first, last, _BATCH):
                rows = self._read_group(group).slice(begin, min(_BATCH, last - begin)).to_pylist()
                yield from map(_record, rows)
            start += last - first

    def _read_group(self, group: int) -> pyarrow.Table:
        if self._group is None or self._group[0] != group:
            self._group = None
            with self._telling():
                self._group = group, self._file.read_row_group(group, use_threads=False)
        return self._group[1]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (pyarrow.ArrowException, OSError) as error:
            raise CorpusError(f"{self._path} cannot be read ({error}): add the corpus again.") from error


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the records of a file in the order they were written; raises :class:`CorpusError` for a damaged one."""
    with RecordFile(path) as file:
        yield from file.read(0, len(file))


def _record(row: dict[str, Any]) -> Record:
    return Record(**{**row, "authors": tuple(row["authors"])})
