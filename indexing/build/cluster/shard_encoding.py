"""Encoding of shards in a worker of the cluster: records of the corpus → a file of their vectors.

The file begins with 32 bytes that identify the documents (:func:`documents_digest`). A row of half-precision numbers
for each document follows.
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
        rejected: The numbers of the rejected records among the shard's records; they are no documents.
        copied: A bit for each document, set if its vector is copied from an earlier index; empty if none is.
    """

    path: str
    first: int
    rejected: tuple[int, ...] = ()
    copied: bytes = b""


class EncodingSettings(msgspec.Struct, frozen=True, tag=True):
    """The settings of all shards.

    Attributes:
        encoder: The choice of the encoder, as for :func:`~shrag.models.encoders.choice.choose_encoder`.
        weights: The folder of models' weights.
        settings: The settings that a worker's encoder must have.
        digest: The digest that a worker's weights must have.
        worker_bytes: The memory in bytes that a worker takes without a GPU.
    """

    encoder: str
    weights: str
    settings: str
    digest: str
    worker_bytes: int


class ShardEncoding:
    """Encodes one shard after another with an encoder that is loaded once, on a GPU if ``gpu`` is true."""

    def __init__(self, settings: EncodingSettings, *, gpu: bool) -> None:
        from shrag.models.encoders.transformer import load_encoder

        choice = choose_encoder(settings.encoder, Path(settings.weights))
        if (choice.settings, choice.digest) != (settings.settings, settings.digest):
            raise IndexingError(
                Text(
                    "A worker of the Ray cluster has other weights in {folder} ([{found}]; the command has "
                    "[{settings}]): copy the same weights to all machines.",
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

        The rows of documents whose vectors are copied are zero here.

        Raises:
            CorpusError: The records cannot be read.
            IndexingError: There are too few records, or the encoder's vectors are wrong.
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
    """Return the size of a shard in an index of that many documents.

    The size depends on the index alone, so a resumed build has the same shards. It is a power of two that divides
    :data:`~shrag.indexing.vectors.store.SHARD_ROWS`. It is also a multiple of the batch size on a CPU, so that a worker
    there encodes the same batches as a build on one machine.
    """
    smallest_shards = max(documents // _SHARDS // _SMALLEST_SHARD, 1)
    return min(_SMALLEST_SHARD << (smallest_shards.bit_length() - 1), SHARD_ROWS)


def plan_shards(path: str, documents: int, start: int, rejected: Sequence[int]) -> list[EncodingShard]:
    """Return the shards of an index from document ``start`` on.

    Args:
        path: The file of the corpus's records. The documents are these records in order, without the rejected ones.
        documents: The number of documents.
        start: The first document of a shard.
        rejected: The numbers of the rejected records, in ascending order.
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
    """Return for each document of a shard whether its vector is copied (1) or encoded (0)."""
    bits = np.frombuffer(shard.copied, dtype=np.uint8)
    found: list[int] = np.unpackbits(bits, count=shard.count).tolist() if shard.copied else [0] * shard.count
    return found


def documents_digest(docids: Iterable[str], shard: EncodingShard) -> bytes:
    """Return the SHA-256 of a shard's docids and its ``copied`` bits."""
    return hashlib.sha256("\n".join(docids).encode() + b"\n\n" + shard.copied).digest()


def encoded_rows(data: bytes, dimension: int, docids: Iterable[str], shard: EncodingShard) -> Float16Vectors:
    """Return the rows in a file of :class:`ShardEncoding`.

    Raises:
        IndexDamaged: They are the rows of other documents.
    """
    digest, rows = data[:_DIGEST_BYTES], np.frombuffer(data[_DIGEST_BYTES:], dtype="<f2")
    if digest != documents_digest(docids, shard) or rows.size != shard.count * dimension:
        raise IndexDamaged(
            Text("The vectors from document {start} on are not those of the index: run again.", start=shard.start)
        )
    return rows.reshape(shard.count, dimension).copy()


def _passages(file: RecordFile, shard: EncodingShard) -> Iterator[Passage]:
    """Yield a passage for each document of a shard. It has no terms, since no model uses them."""
    rejected = set(shard.rejected)
    records = file.read(shard.first, shard.count + len(rejected))
    for number, record in enumerate(records, shard.first):
        if number not in rejected:
            yield Passage(record.title, record.text, (), (), record.docid, record.language)
