"""Encoding of an index's documents by the workers of a Ray cluster, shard by shard.

Each worker loads the weights from the data folder, which all machines see at the same path. It reads a shard of the
corpus, encodes it in the same batches as a build on one machine, and writes the rows to a file in the build's folder.
The build's own process copies the rows into the file of vectors, in order.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from shrag.indexing.analyzed_record import to_passage
from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.ray_workers import RayWorkers
from shrag.indexing.build.cluster.shard_encoding import (
    FOLDER,
    EncodingSettings,
    EncodingShard,
    copied_documents,
    encoded_rows,
    plan_shards,
)
from shrag.indexing.build.cluster.shard_files import ShardManifest, read_shard
from shrag.indexing.build.job import BuildJob
from shrag.indexing.build.records_step import NOTES, BuildNotes
from shrag.indexing.build.vectors_step import reusable_vectors
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.vector_card import VectorCard
from shrag.indexing.vectors.store import Float16Vectors, ReusableRows, StoredDocuments, write_vectors
from shrag.models.encoders.choice import EncoderChoice, choose_encoder
from shrag.models.encoders.weights import Weights

_BASE_BYTES = 1 << 30
"""Memory of a worker besides the weights: torch, a batch, and the passages of a shard."""


def build_vectors_by_ray(job: BuildJob, documents: StoredDocuments, source: str) -> VectorCard:
    """Write the vectors of ``documents`` by a model; an interrupted call is resumed.

    Args:
        job: A build of a whole corpus whose encoder is a model. This process does not load the weights.
        documents: The documents of the Lucene index, in the corpus's order.
        source: Identifies the documents and their terms.

    Raises:
        DependencyMissing: Ray is not installed, or no cluster answers.
        IndexDamaged: A shard's file has changed since it was written.
        IndexingError: A worker has other weights, or the cluster fails.
        ModelError: A worker cannot load the encoder.
    """
    build = job.workspace
    folder = build.stage / FOLDER
    choice = choose_encoder(job.choices.encoder, job.choices.weights)
    settings = EncodingSettings(
        job.choices.encoder,
        str(job.choices.weights),
        choice.settings,
        choice.digest,
        _worker_bytes(choice.weights),
    )
    with (
        reusable_vectors(build.folder.parent, choice) as known,
        RayWorkers(RayJob(job.options.ray, job.workers, str(folder), settings)) as workers,
    ):
        encoding = _Encoding(job, documents, choice, workers, known)
        rows = write_vectors(
            build.index / VECTORS, build.stage, documents.count(), choice, source, encoding.rows, job.options.report
        )
    shutil.rmtree(folder, ignore_errors=True)
    return VectorCard(job.choices.encoder, choice.settings, choice.digest, choice.dimension, rows)


class _Encoding:
    """Gives the vectors of documents, one range after another up to the last document."""

    def __init__(
        self,
        job: BuildJob,
        documents: StoredDocuments,
        choice: EncoderChoice,
        workers: RayWorkers,
        known: ReusableRows | None,
    ) -> None:
        self._path, self._report = job.records, job.options.report
        self._folder = job.workspace.stage / FOLDER
        self._documents, self._dimension, self._known = documents, choice.dimension, known
        self._workers = workers
        with BuildNotes(job.workspace.stage / NOTES) as notes:
            self._rejected = notes.rejected_numbers()
        self._tasks: deque[EncodingShard] = deque()
        self._manifests: Iterator[ShardManifest] | None = None
        self._written: list[Path] = []

    def rows(self, numbers: range) -> Float16Vectors:
        """Return the rows of these documents.

        The rows of earlier calls are on the disk by now, so the files of their shards are removed.
        """
        if self._manifests is None:
            self._tasks.extend(self._plan(numbers.start))
            self._manifests = self._workers.run([task for task in self._tasks if not all(copied_documents(task))])
        for path in self._written:
            path.unlink(missing_ok=True)
        self._written.clear()
        parts = []
        while self._tasks and self._tasks[0].start < numbers.stop:
            task = self._tasks.popleft()
            parts.append(self._shard(task, self._manifests))
            self._report("vectors", task.start + task.count)
        return np.concatenate(parts)

    def _shard(self, task: EncodingShard, manifests: Iterator[ShardManifest]) -> Float16Vectors:
        numbers = range(task.start, task.start + task.count)
        if all(copied_documents(task)):
            rows = np.empty((task.count, self._dimension), dtype="<f2")
        else:
            manifest = next(manifests)
            data = read_shard(self._folder, manifest)
            rows = encoded_rows(data, self._dimension, self._documents.docids(numbers), task)
            self._written.append(self._folder / manifest.file)
        if task.copied:
            for index, row in self._copied(task).items():
                rows[index] = row
        return rows

    def _plan(self, start: int) -> list[EncodingShard]:
        """Return the shards from document ``start`` on."""
        shards = plan_shards(str(self._path), self._documents.count(), start, self._rejected)
        if self._known is None:
            return shards
        return [msgspec.structs.replace(each, copied=self._copied_bits(each)) for each in shards]

    def _copied_bits(self, shard: EncodingShard) -> bytes:
        self._report("records compared", shard.start + shard.count)
        bits = np.zeros(shard.count, dtype=bool)
        bits[list(self._copied(shard))] = True
        return np.packbits(bits).tobytes() if bits.any() else b""

    def _copied(self, shard: EncodingShard) -> dict[int, NDArray[np.float16]]:
        """Return the vectors that are copied for a shard, by their position in it."""
        if self._known is None:
            return {}
        documents = self._documents.documents(range(shard.start, shard.start + shard.count))
        return self._known([to_passage(document) for document in documents])


def _worker_bytes(weights: Weights) -> int:
    """Return the memory of a worker without a GPU, where weights in half precision take twice as much."""
    return _BASE_BYTES + 2 * sum(path.stat().st_size for path in weights.tensors)
