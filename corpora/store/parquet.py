"""Read and write Parquet files of records and of other tables in batches; the only module that imports pyarrow."""

from __future__ import annotations

import errno
import hashlib
import math
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import pyarrow
import pyarrow.parquet

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.files import raise_if_unreadable
from shrag.corpora.readers.source import GZIP_MAGIC, read_bytes
from shrag.corpora.records import Origin, Record
from shrag.messages.text import Text

_BATCH = 2_048
_FOREIGN_BATCH = 256
_DIGEST_BYTES = 16

LARGEST_PACKED = 256 * 2**20
"""The largest file in gzip that is read, in bytes after decompression; it is read into memory as a whole."""

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
        pyarrow.field("doi", pyarrow.string(), nullable=False),
        pyarrow.field("volume", pyarrow.string(), nullable=False),
        pyarrow.field("issue", pyarrow.string(), nullable=False),
        pyarrow.field("pages", pyarrow.string(), nullable=False),
        pyarrow.field("type", pyarrow.string(), nullable=False),
        pyarrow.field("other", pyarrow.map_(pyarrow.string(), pyarrow.string()), nullable=False),
        pyarrow.field("duplicate_of", pyarrow.string(), nullable=False),
        # The columns below belong to the corpus and are not fields of the record.
        pyarrow.field("digest", pyarrow.binary(_DIGEST_BYTES), nullable=False),
        pyarrow.field("source", pyarrow.int32(), nullable=False),
        pyarrow.field("line", pyarrow.int64(), nullable=False),
        pyarrow.field("offset", pyarrow.int64(), nullable=False),
    ]
)
_RECORD_COLUMNS = [field.name for field in fields(Record)]
_TYPES = {
    "integer": pyarrow.int64(),
    "integers": pyarrow.list_(pyarrow.int64()),
    "text": pyarrow.string(),
    "texts": pyarrow.list_(pyarrow.string()),
    "vector": pyarrow.list_(pyarrow.float32()),
}
_LISTS = [field.name for field in _SCHEMA if pyarrow.types.is_list(field.type) or pyarrow.types.is_map(field.type)]


ColumnKind = Literal["integer", "integers", "text", "texts", "vector"]
"""What a column of a :class:`TableWriter` holds in a row: a value, a list of any length, or a list of 32-bit floats."""


class StoredRow(NamedTuple):
    """A stored record with its digest (:func:`record_digest`) and its origin."""

    record: Record
    digest: bytes
    origin: Origin


class Summary(NamedTuple):
    """The counts of a file of records, ``sources`` by source, and the SHA-256 over the digests in order."""

    records: int
    complete: int
    linked: int
    languages: dict[str, int]
    sources: dict[int, int]
    fingerprint: str


class RecordWriter:
    """Writes rows in order, with at most :data:`_BATCH` of them in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[StoredRow] = []
        self.rows = 0
        """The number of rows added so far."""
        with _system_errors(path):
            self._file = pyarrow.parquet.ParquetWriter(path, _SCHEMA, compression="zstd", write_page_checksum=True)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        with _system_errors(self._path):
            self._file.close()

    def write(self, row: StoredRow) -> None:
        """Add one row."""
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        records, digests, origins = zip(*self._waiting, strict=True)
        columns: dict[str, Any] = {name: [getattr(record, name) for record in records] for name in _RECORD_COLUMNS}
        # Origin's element has no column in the schema, so it is not stored.
        columns |= {"digest": digests, **dict(zip(Origin._fields, zip(*origins, strict=True), strict=True))}
        with _system_errors(self._path):
            self._file.write_table(pyarrow.Table.from_pydict(columns, _SCHEMA))
        self._waiting.clear()


class RecordFile:
    """A file of records from which ranges are read; the row group that was read last stays in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open(path)
        about = self._file.metadata
        sizes: list[int] = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        self._starts = list(accumulate(sizes, initial=0))
        self._group: tuple[int, pyarrow.Table] | None = None

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(self, *_: object) -> None:
        with _system_errors(self._path):
            self._file.close()

    def __len__(self) -> int:
        return self._starts[-1]

    def bytes_uncompressed(self) -> int:
        """Return the size of the decompressed columns."""
        about = self._file.metadata
        return sum(int(about.row_group(group).total_byte_size) for group in range(about.num_row_groups))

    def read(self, start: int, count: int) -> Iterator[Record]:
        """Yield ``count`` records from number ``start`` (counted from 0), or fewer at the end of the file.

        Raises:
            CorpusError: The file is damaged.
        """
        stop = min(start + count, len(self))
        while start < stop:
            group = bisect_right(self._starts, start) - 1
            first, last = start - self._starts[group], min(stop, self._starts[group + 1]) - self._starts[group]
            for begin in range(first, last, _BATCH):
                for values in self._read_group(group).slice(begin, min(_BATCH, last - begin)).to_pylist():
                    yield _record(values)
            start += last - first

    def _read_group(self, group: int) -> pyarrow.Table:
        if self._group is None or self._group[0] != group:
            self._group = None
            with _reading(self._path):
                self._group = group, self._file.read_row_group(group, columns=_RECORD_COLUMNS, use_threads=False)
        return self._group[1]


class TableWriter:
    """Writes a table of any columns into a file in a form that other programs expect.

    The columns may have nulls, and Snappy compresses them.

    Args:
        path: The file.
        columns: The kind of each column by its name.
    """

    def __init__(self, path: Path, columns: Mapping[str, ColumnKind]) -> None:
        self._path = path
        self._schema = pyarrow.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
        with _system_errors(path):
            self._stream = path.open("wb")
            self._file = pyarrow.parquet.ParquetWriter(self._stream, self._schema)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_: object) -> None:
        with _system_errors(self._path), self._stream:
            self._file.close()

    def write(self, rows: Sequence[Mapping[str, object]]) -> int:
        """Add rows as one row group; return the size of the file so far in bytes."""
        columns = {name: [row[name] for row in rows] for name in self._schema.names}
        with _system_errors(self._path):
            self._file.write_table(pyarrow.Table.from_pydict(columns, self._schema), len(rows))
        return self._stream.tell()


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the records of a file in order; raises :class:`CorpusError` if the file is damaged."""
    with RecordFile(path) as file:
        yield from file.read(0, len(file))


def read_table_rows(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of any Parquet file, plain or gzip, as JSON values by column.

    Raises :class:`CorpusError` if the file is damaged, has two columns of one name, or is larger than
    :data:`LARGEST_PACKED` in gzip.
    """
    try:
        with pyarrow.parquet.ParquetFile(_unpacked(path)) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise CorpusError(
                    Text(
                        "{path} has more than one column {column!r}: rename or delete the others.",
                        path=path,
                        column=next(name for name in names if names.count(name) > 1),
                    )
                )
            for batch in _group_batches(file, _FOREIGN_BATCH):
                for row in batch.to_pylist():
                    yield {name: _plain_value(value) for name, value in row.items()}
    except pyarrow.ArrowException as error:
        raise CorpusError(
            Text("{path} is not a Parquet file that can be read ({error}): copy it again.", path=path, error=error)
        ) from error


def _unpacked(path: Path) -> Any:  # noqa: ANN401
    with path.open("rb") as stream:
        if stream.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
            return path
    try:
        return pyarrow.BufferReader(read_bytes(path, LARGEST_PACKED))
    except RejectedLine as error:
        raise CorpusError(Text("{path} cannot be read: {error}.", path=path, error=error)) from None


def _plain_value(value: object) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        # A column of whole numbers in which one is missing is a column of floats.
        return int(value) if value.is_integer() else value if math.isfinite(value) else None
    if isinstance(value, list) and any(isinstance(part, tuple) for part in value):  # a map
        return _plain_value(dict(value))
    if isinstance(value, list):
        return [_plain_value(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _plain_value(part) for name, part in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)


def read_rows(path: Path) -> Iterator[StoredRow]:
    """Yield the rows of a file in order; raises as :func:`read_parquet` does."""
    for batch in _batches(path, _SCHEMA.names):
        for values in batch.to_pylist():
            digest = values.pop("digest")
            origin = Origin(values.pop("source"), values.pop("line"), values.pop("offset"))
            yield StoredRow(_record(values), digest, origin)


def read_digests(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield docid and digest of each row in order; raises as :func:`read_parquet` does."""
    for batch in _batches(path, ["docid", "digest"]):
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)


def record_digest(record: Record) -> bytes:
    """Return the BLAKE2b digest (16 bytes) of all fields of a record."""
    return hashlib.blake2b(msgspec.json.encode(record), digest_size=_DIGEST_BYTES).digest()


def summarise(path: Path) -> Summary:
    """Count the rows of a file by reading it; raises as :func:`read_parquet` does."""
    digest = hashlib.sha256()
    records = complete = linked = 0
    languages: Counter[str] = Counter()
    sources: Counter[int] = Counter()
    for batch in _batches(path, ["language", "complete", "duplicate_of", "digest", "source"]):
        values = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        records += batch.num_rows
        complete += sum(values["complete"])
        linked += sum(map(bool, values["duplicate_of"]))
        languages.update(values["language"])
        sources.update(values["source"])
        digest.update(b"".join(values["digest"]))
    return Summary(records, complete, linked, dict(sorted(languages.items())), dict(sources), digest.hexdigest())


def _record(values: dict[str, Any]) -> Record:
    for name in _LISTS:
        values[name] = tuple(values[name])
    return Record(**values)


def _batches(path: Path, columns: list[str]) -> Iterator[Any]:
    with _opened(path) as file, _reading(path):
        yield from _group_batches(file, _BATCH, columns)


def _group_batches(file: Any, size: int, columns: list[str] | None = None) -> Iterator[Any]:  # noqa: ANN401
    """Yield batches of a file, one row group after the other.

    If one call reads all groups, pyarrow keeps about a megabyte of each until the last group is read.
    """
    for group in range(file.num_row_groups):
        yield from file.iter_batches(size, row_groups=[group], columns=columns, use_threads=False)


def _open(path: Path) -> Any:  # noqa: ANN401  (pyarrow has no types)
    with _reading(path):
        file = pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
    if not file.schema_arrow.equals(_SCHEMA):
        raise CorpusError(
            Text(
                "{path} has no records of this version: read its sources again with `shrag corpus replace`.", path=path
            )
        )
    return file


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file and close it at the end; an error in closing it is no damage of its content."""
    file = _open(path)
    try:
        yield file
    finally:
        with _system_errors(path):
            file.close()


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    """Add the path to errors of the system; some errors of pyarrow lack even the error number."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise_if_unreadable(path, error)
        raise CorpusError(
            Text(
                "{path} cannot be read ({error}): read its sources again with `shrag corpus replace`.",
                path=path,
                error=error,
            )
        ) from error
