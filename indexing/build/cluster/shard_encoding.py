"""Encoding of shards in a worker of the cluster: records of the corpus → a file of their vectors.

The file has 32 bytes that tell which documents they are (:func:`documents_digest`), then a row of half-precision
numbers for each document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.build.cluster.shard_files import Shard, ShardManifest, write_shard
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.vectors.store import SHARD_ROWS, Float16Vectors, encode_passages
from shrag.messages.text import Text
from shrag.models.encoders.choice import choose_encoder
from shrag.models.reranker import Passage

FOLDER = "vector-shards"
"""Name of the folder of encoded shards, in a build's stage."""

_SMALLEST_SHARD = 64
_SHARDS = 48
_DIGEST_BYTES = 32


class EncodingShard(Shard, frozen=True):
    """A shard of documents to encode.

    Attributes:
        path: The file of records.
        first: The number of the first document's record.
        rejected: The numbers of the records among them that are no documents.
        copied: A bit for each document, set where its vector is known already; empty for none.
    """

    path: str
    first: int
    rejected: tuple[int, ...] = ()
    copied: bytes = b""


class EncodingSettings(msgspec.Struct, frozen=True, tag=True):
    """What all shards have in common.

    Attributes:
        encoder: The choice of the encoder, as for :func:`~shrag.models.encoders.choice.choose_encoder`.
        weights: The folder of models' weights.
        settings: The settings that a worker's encoder must have.
        digest: The digest of the weights that it must have.
        worker_bytes: The memory that a worker takes without a GPU.
    """

    encoder: str
    weights: str
    settings: str
    digest: str
    worker_bytes: int


class ShardEncoding:
    """Encodes one shard after another by an encoder that is loaded once; on a GPU if ``gpu`` is true."""

    def __init__(self, settings: EncodingSettings, *, gpu: bool) -> None:
        from shrag.models.encoders.transformer import load_encoder

        choice = choose_encoder(settings.encoder, Path(settings.weights))
        if (choice.settings, choice.digest) != (settings.settings, settings.digest):
            raise IndexingError(
                Text(
                    "A worker of the Ray cluster has other weights in {folder} ([{found}]; the command has "
                    "[{settings}]): give all machines the same ones.",
                    folder=choice.weights.folder,
                    found=choice.settings,
                    settings=settings.settings,
                )
            )
        self._encoder = load_encoder(choice, None if gpu else "cpu")
        if gpu and not self._encoder.on_gpu:
            raise IndexingError(
                Text(
                    "A worker of the Ray cluster has a GPU that its torch cannot use: install a torch that can, or "
                    "leave the GPUs out (`ray start --num-gpus 0`; for --ray local an empty CUDA_VISIBLE_DEVICES)."
                )
            )

    def run(self, task: bytes, folder: Path) -> ShardManifest:
        """Encode a shard and write it to ``folder``; ``task`` is an :class:`EncodingShard` as JSON.

        The rows of documents whose vectors are known are zero.

        Raises:
            CorpusError: The records cannot be read.
            IndexingError: There are fewer records, or the encoder's vectors are wrong.
        """
        shard = msgspec.json.decode(task, type=EncodingShard)
        with RecordFile(Path(shard.path)) as file:
            passages = list(_passages(file, shard))
        known = iter(copied_documents(shard))
        zeros = np.zeros(self._encoder.dimension, dtype=np.float16)

        def reusable(batch: Sequence[Passage]) -> dict[int, NDArray[np.float16]]:
            return {index: zeros for index, copied in enumerate(islice(known, len(batch))) if copied}

        numbers = range(shard.start, shard.start + shard.count)
        rows = encode_passages(iter(passages), numbers, self._encoder, reusable=reusable)
        digest = documents_digest((passage.docid for passage in passages), shard)
        return write_shard(folder, shard, digest + rows.tobytes())


def shard_size(documents: int) -> int:
    """Return the number of documents of a shard, by the index alone: a resumed build has the same shards.

    It is a power of two that divides the shards of the file of vectors, and a whole number of batches on a processor:
    there a worker encodes the very batches that a build on one machine does.
    """
    smallest_shards = max(documents // _SHARDS // _SMALLEST_SHARD, 1)
    return min(_SMALLEST_SHARD << (smallest_shards.bit_length() - 1), SHARD_ROWS)


def plan_shards(path: str, documents: int, start: int, rejected: Sequence[int]) -> list[EncodingShard]:
    """Return the shards of an index from document ``start`` on, at which one must begin.

    Args:
        path: The file of the corpus's records, which are the documents in the same order, but for those rejected.
        documents: The number of documents.
        rejected: The numbers of the rejected records, rising.
    """
    size, shards = shard_size(documents), []
    for begin in range(start, documents, size):
        count = min(size, documents - begin)
        first, last = _record_of(begin, rejected), _record_of(begin + count - 1, rejected)
        among = tuple(number for number in rejected if first < number < last)
        shards.append(EncodingShard(begin, count, path, first, among))
    return shards


def _record_of(document: int, rejected: Sequence[int]) -> int:
    for number in rejected:
        if number > document:
            break
        document += 1
    return document


def copied_documents(shard: EncodingShard) -> Sequence[int]:
    """Return for each document of a shard whether its vector is known."""
    bits = np.frombuffer(shard.copied, dtype=np.uint8)
    found: list[int] = np.unpackbits(bits, count=shard.count).tolist() if shard.copied else [0] * shard.count
    return found


def documents_digest(docids: Iterable[str], shard: EncodingShard) -> bytes:
    """Return the SHA-256 of the documents of a shard and of which of them were not encoded."""
    return hashlib.sha256("\n".join(docids).encode() + b"\n\n" + shard.copied).digest()


def encoded_rows(data: bytes, dimension: int, docids: Iterable[str], shard: EncodingShard) -> Float16Vectors:
    """Return the rows in a file of :class:`ShardEncoding`; raise :class:`IndexDamaged` if they are of others."""
    digest, rows = data[:_DIGEST_BYTES], np.frombuffer(data[_DIGEST_BYTES:], dtype="<f2")
    if digest != documents_digest(docids, shard) or rows.size != shard.count * dimension:
        raise IndexDamaged(
            Text("The vectors from document {start} on are not those of the index: run again.", start=shard.start)
        )
    return rows.reshape(shard.count, dimension).copy()


def _passages(file: RecordFile, shard: EncodingShard) -> Iterator[Passage]:
    """Yield a passage for each document of a shard, without terms, which no model uses."""
    rejected = set(shard.rejected)
    records = file.read(shard.first, shard.count + len(rejected))
    for number, record in enumerate(records, shard.first):
        if number not in rejected:
            yield Passage(record.title, record.text, (), (), record.docid, record.language)
