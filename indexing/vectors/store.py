"""The file of an index's vectors: write it in shards, and memory-map it.

vectors/passages.f16    little-endian ``float16[rows, dimension]`` without a header; row n is Lucene's document n
vectors/encoder/        files of the LSA encoder

During a build, ``stage/vectors.jsonl`` lists the shards that are on the disk, so that a killed build repeats only one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from shrag.corpora.files import append_line
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.storage.vector_card import FILE, VectorCard
from shrag.messages.text import Text
from shrag.models.encoder import Encoder, EncoderIdentity, Vectors
from shrag.models.reranker import Passage

_Item = TypeVar("_Item")


@contextmanager
def read_ahead(items: Iterator[_Item]) -> Iterator[Iterator[_Item]]:
    """Yield an iterator over ``items`` that computes one item ahead in a thread; errors are raised in order."""
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as thread:
        end = object()

        def ahead() -> Iterator[_Item]:
            future = thread.submit(next, items, end)
            while (item := future.result()) is not end:
                future = thread.submit(next, items, end)
                yield item  # type: ignore[misc]

        yield ahead()


STAGE_FILE = "vectors.jsonl"

SHARD_ROWS = 16_384
# Half precision has eleven bits per component, so it changes a unit row's length by far less.
_UNIT_TOLERANCE = 5e-3

Float16Vectors = NDArray[np.float16]


class StoredDocuments(Protocol):
    """The documents of an index, numbered from 0."""

    def count(self) -> int:
        """Return the number of documents."""

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """Return the identifier of each number."""

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """Return the number of each docid, None for unknown ones."""

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        """Yield each document as it was indexed."""

    def passing(self, record_filter: RecordFilter) -> NDArray[np.int64]:
        """Return the numbers of the documents that pass a filter, in ascending order."""


ReusableRows = Callable[[Sequence[Passage]], dict[int, NDArray[np.float16]]]
"""Passages → vectors of an earlier index, by the positions of the passages that need not be encoded again."""

EncodeRows = Callable[[range], Float16Vectors]
"""Numbers of documents → their vectors."""


def write_vectors(
    folder: Path,
    stage: Path,
    rows: int,
    encoder: EncoderIdentity,
    source: str,
    encode: EncodeRows,
    report: Callable[[str, int], None] = lambda what, done: None,
    shard_rows: int = SHARD_ROWS,
) -> int:
    """Write the vectors of all documents; return the number of rows.

    Complete shards of an interrupted build are reused if the documents and the encoder are the same.

    Args:
        folder: The index's folder for vectors.
        stage: The build's folder for intermediate files.
        rows: The number of documents.
        encoder: The encoder of the vectors.
        source: Identifies the documents.
        encode: Makes the rows of a shard. It is called with the document numbers of one shard after another.
        shard_rows: Rows of a shard.

    Raises:
        IndexingError: The encoder returned vectors of a wrong shape or length.
    """
    header = f"{source}\n{encoder.settings}\n{encoder.digest}\n{encoder.dimension}\n{rows}\n{shard_rows}"
    log = _ShardLog(stage / STAGE_FILE, hashlib.sha256(header.encode()).hexdigest())
    folder.mkdir(exist_ok=True)
    stage.mkdir(exist_ok=True)
    path = folder / FILE
    path.touch()
    width = 2 * encoder.dimension
    with path.open("r+b") as stream:
        done = log.count_valid_rows(path, width)
        stream.truncate(done * width)
        stream.seek(done * width)
        while done < rows:
            size = min(shard_rows, rows - done)
            shard = encode(range(done, done + size)).tobytes()
            stream.write(shard)
            stream.flush()
            os.fsync(stream.fileno())
            log.append(size, hashlib.sha256(shard).hexdigest())
            done += size
    report("vectors", rows)
    return rows


def open_vectors(folder: Path, card: VectorCard) -> Float16Vectors:
    """Memory-map the file of :func:`write_vectors`, read-only; raise :class:`IndexDamaged` if it has another size."""
    path = folder / FILE
    expected = 2 * card.rows * card.dimension
    size = path.stat().st_size if path.is_file() else -1
    if size != expected:
        there = Text("has {size} bytes", size=size) if size >= 0 else Text("is missing")
        raise IndexDamaged(
            Text(
                "{path} {problem}; {rows} vectors of {dimension} half-precision numbers take {expected}: build "
                "the index again.",
                path=path,
                problem=there,
                rows=card.rows,
                dimension=card.dimension,
                expected=expected,
            )
        )
    if not expected:
        return np.zeros((card.rows, card.dimension), dtype=np.float16)
    return np.memmap(path, dtype="<f2", mode="r", shape=(card.rows, card.dimension))


def encode_documents(
    documents: StoredDocuments,
    encoder: Encoder,
    report: Callable[[str, int], None] = lambda what, done: None,
    reusable: ReusableRows | None = None,
) -> EncodeRows:
    """Return a function that encodes documents in this process; ``reusable`` gives vectors to copy instead."""

    def encode(numbers: range) -> Float16Vectors:
        passages = map(to_passage, documents.documents(numbers))
        return encode_passages(passages, numbers, encoder, report, reusable)

    return encode


def encode_passages(
    passages: Iterator[Passage],
    numbers: range,
    encoder: Encoder,
    report: Callable[[str, int], None] = lambda what, done: None,
    reusable: ReusableRows | None = None,
) -> Float16Vectors:
    """Return the vectors of the passages that have these numbers, in half precision.

    Which passages share a call of the encoder influences the rounding of their vectors. This depends only on
    ``encoder.batch_rows``, the first number and ``reusable``.

    Args:
        passages: The passages in order.
        numbers: The numbers of their documents.
        encoder: Encodes them.
        report: Called with the progress.
        reusable: Vectors to copy instead of encoding them.

    Raises:
        IndexingError: There are too few passages, or the encoder returned vectors of a wrong shape or length.
    """
    shard = np.empty((len(numbers), encoder.dimension), dtype="<f2")
    filled = 0
    # One batch is read while a GPU, or another core, encodes the previous one.
    with read_ahead(_batches(passages, encoder.batch_rows)) as batches:
        for batch in batches:
            copied = reusable(batch) if reusable else {}
            for index, row in copied.items():
                shard[filled + index] = row
            new = [index for index in range(len(batch)) if index not in copied]
            vectors = encoder.encode_passages([batch[index] for index in new])
            shard[[filled + index for index in new]] = _check_vectors(encoder, vectors, len(new))
            filled += len(batch)
            report("vectors", numbers.start + filled)
    if filled != len(numbers):
        raise IndexingError(
            Text(
                "Only {filled} of {numbers_count} documents from number {first} on were read: build again.",
                filled=filled,
                numbers_count=len(numbers),
                first=numbers.start,
            )
        )
    return shard


def _batches(passages: Iterator[Passage], size: int) -> Iterator[list[Passage]]:
    while batch := list(islice(passages, size)):
        yield batch


def _check_vectors(encoder: Encoder, vectors: Vectors, rows: int) -> Vectors:
    """Return an encoder's vectors; raise :class:`IndexingError` for a wrong shape or length."""
    if vectors.shape != (rows, encoder.dimension):
        raise IndexingError(
            Text(
                "{name} gave {shape} for {rows} passages of {dimension} numbers.",
                name=encoder.name,
                shape=vectors.shape,
                rows=rows,
                dimension=encoder.dimension,
            )
        )
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = ~((np.abs(lengths - 1) <= _UNIT_TOLERANCE) | (lengths == 0))
    if wrong.any():
        raise IndexingError(
            Text(
                "{name} gave a vector of length {length}: it must be 1, or 0 for an empty text.",
                name=encoder.name,
                length=lengths[wrong][0],
            )
        )
    return vectors


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: str


class _Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rows: int
    sha256: str


class _ShardLog:
    """Log of the shards on the disk: a header line that identifies the input, then a line per shard."""

    def __init__(self, path: Path, input_digest: str) -> None:
        self._path = path
        self._input = input_digest

    def count_valid_rows(self, data: Path, width: int) -> int:
        """Return the number of leading rows of ``data`` whose shards match the log; drop the others from the log."""
        shards = self._read()
        valid: list[_Shard] = []
        with data.open("rb") as stream:
            for shard in shards:
                if hashlib.sha256(stream.read(shard.rows * width)).hexdigest() != shard.sha256:
                    break
                valid.append(shard)
        self._path.write_bytes(b"")
        append_line(self._path, msgspec.json.encode(_Header(self._input)))
        for shard in valid:
            append_line(self._path, msgspec.json.encode(shard))
        return sum(shard.rows for shard in valid)

    def append(self, rows: int, sha256: str) -> None:
        append_line(self._path, msgspec.json.encode(_Shard(rows, sha256)))

    def _read(self) -> list[_Shard]:
        try:
            header, *lines = self._path.read_bytes().split(b"\n")
            if msgspec.json.decode(header, type=_Header).input != self._input:
                return []
        except (FileNotFoundError, msgspec.MsgspecError):
            return []
        shards: list[_Shard] = []
        for line in lines:
            try:
                shards.append(msgspec.json.decode(line, type=_Shard))
            except msgspec.MsgspecError:  # the last line may be incomplete
                break
        return shards
