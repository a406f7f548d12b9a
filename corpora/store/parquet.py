"""Records in one Parquet file; the only module that imports pyarrow."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec
import pyarrow
import pyarrow.parquet

from shrag.corpora.errors import CorpusError
from shrag.corpora.ingest.ledger import Place
from shrag.corpora.records import Record

DIGEST_BYTES = 16


def record_digest(record: Record) -> bytes:
    """Return the BLAKE2b digest (:data:`DIGEST_BYTES` bytes) over all fields of a record, its link included."""
    return hashlib.blake2b(msgspec.json.encode(record), digest_size=DIGEST_BYTES).digest()


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
        pyarrow.field("duplicate_of", pyarrow.string(), nullable=False),
        # What follows is of the corpus, not of the record.
        pyarrow.field("digest", pyarrow.binary(DIGEST_BYTES), nullable=False),
        pyarrow.field("source", pyarrow.int32(), nullable=False),
        pyarrow.field("line", pyarrow.int64(), nullable=False),
        pyarrow.field("offset", pyarrow.int64(), nullable=False),
    ]
)
_RECORD_COLUMNS = [field.name for field in fields(Record)]
_LISTS = [field.name for field in _SCHEMA if pyarrow.types.is_list(field.type)]


class Row(NamedTuple):
    """A stored record, its digest, and where it was read."""

    record: Record
    digest: bytes
    place: Place


class Summary(NamedTuple):
    """What a file of records holds: counts, and the SHA-256 over the digests in order. ``sources``: rows of each."""

    records: int
    complete: int
    linked: int
    languages: dict[str, int]
    sources: dict[int, int]
    fingerprint: str


class RecordWriter:
    """Writes rows in the order given; at most :data:`_BATCH` wait in memory."""

    def __init__(self, path: Path) -> None:
        self._waiting: list[Row] = []
        self._written = 0
        self._file = pyarrow.parquet.ParquetWriter(path, _SCHEMA, compression="zstd", write_page_checksum=True)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    @property
    def rows(self) -> int:
        """How many rows have been given so far, which is the number of the next one."""
        return self._written + len(self._waiting)

    def write(self, row: Row) -> None:
        """Add one row."""
        self._waiting.append(row)
        if len(self._waiting) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            columns = [pyarrow.array(self._column(field.name), field.type) for field in _SCHEMA]
            self._file.write_table(pyarrow.Table.from_arrays(columns, schema=_SCHEMA))
            self._written += len(self._waiting)
            self._waiting.clear()

    def _column(self, name: str) -> list[Any]:
        if name == "digest":
            return [row.digest for row in self._waiting]
        if name in Place._fields:
            return [getattr(row.place, name) for row in self._waiting]
        return [getattr(row.record, name) for row in self._waiting]


class RecordFile:
    """A file of records open for reading any stretch of it; keeps the group it read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _reading(path):
            self._file = pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
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
            with _reading(self._path):
                self._group = group, self._file.read_row_group(group, columns=_RECORD_COLUMNS, use_threads=False)
        return self._group[1]


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the records of a file in the order they were written; raises :class:`CorpusError` for a damaged one."""
    for batch in _batches(path, _RECORD_COLUMNS):
        for values in batch.to_pylist():
            yield _record(values)


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file in order; raises as :func:`read_parquet` does."""
    for batch in _batches(path, _SCHEMA.names):
        for values in batch.to_pylist():
            digest = values.pop("digest")
            place = Place(values.pop("source"), values.pop("line"), values.pop("offset"))
            yield Row(_record(values), digest, place)


def read_digests(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield docid and digest of each row, in order, reading nothing else; raises as :func:`read_parquet` does."""
    for batch in _batches(path, ["docid", "digest"]):
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)


def summarise(path: Path) -> Summary:
    """Count what a file holds, by reading it; raises as :func:`read_parquet` does."""
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
    with _reading(path), pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        if not file.schema_arrow.equals(_SCHEMA):
            raise CorpusError(f"{path} does not hold records of this version: add the corpus again.")
        yield from file.iter_batches(_BATCH, columns=columns)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{path} cannot be read ({error}): add the corpus again.") from error
