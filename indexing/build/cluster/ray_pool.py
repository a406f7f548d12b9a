"""RayPool: analysis of a corpus by the workers of a Ray cluster, shard by shard.

Each worker reads a shard of the corpus, analyzes it as :class:`~shrag.indexing.build.worker_pool.WorkerPool` does, and
writes it to a file in the build's folder, with a manifest that has the file's checksum. The process that writes the
index reads the files in the corpus's order, so the index is that of a build on one machine. All machines of the cluster
see the data folder at the same path.

A shard that has a manifest is not analyzed again, also where the build itself was killed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shrag.indexing.build.cluster.analyzed_shards import (
    ShardManifest,
    ShardTask,
    from_record,
    read_manifest,
    read_shard,
    shard_size,
)
from shrag.indexing.build.cluster.ray_driver import ERRORS, RayJob, ShardResult
from shrag.indexing.build.worker import AnalyzedBatch, WorkerSetup
from shrag.indexing.errors import IndexingError
from shrag.messages.text import Text

COMMAND = (sys.executable, "-P", "-c", "from shrag.indexing.build.cluster.ray_driver import main; main()")
"""Command of the process that drives the cluster; no ``-m``: Ray's workers could not import a main module's classes."""

LOG = "ray.log"
"""Name of the file of what Ray says, in the folder of analyzed shards."""

_END_SECONDS = 30.0


class RayPool:
    """The workers of a Ray cluster; a context manager, which leaves the cluster.

    Args:
        address: That of :class:`~shrag.indexing.build.cluster.ray_driver.RayJob`, like the other arguments.
        workers: Workers of a local cluster.
        setup: Settings of the analysis.
        folder: The folder of analyzed shards, which is made.
        analyzer: Fingerprint of the analyzer.
    """

    def __init__(self, address: str, workers: int, setup: WorkerSetup, folder: Path, analyzer: str) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._job = RayJob(address, workers, setup, str(folder), analyzer, [])
        self._driver: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._driver is None:
            return
        with self._driver as driver:  # whose input is closed, so that it ends
            try:
                driver.communicate(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                driver.kill()

    def analyze(self, path: Path, start: int, stop: int, words: Sequence[str] = ()) -> Iterator[AnalyzedBatch]:
        """Yield batches of the records ``start`` to ``stop`` of a file, in order, as :meth:`WorkerPool.analyze` does.

        Raises:
            DependencyMissing: Ray is not installed, or no cluster answers.
            IndexDamaged: A shard's file has changed since it was written.
            IndexingError: A worker has another analyzer, or the cluster fails. Otherwise raises as
                :meth:`WorkerPool.analyze` does.
        """
        size = shard_size(stop)
        tasks = [
            ShardTask(str(path), begin, min(size, stop - begin), () if begin else tuple(words))
            for begin in range(start // size * size, stop, size)
        ]
        done = {task.start: manifest for task in tasks if (manifest := read_manifest(self._folder, task)) is not None}
        results = self._results([task for task in tasks if task.start not in done])
        for task in tasks:
            while task.start not in done:
                manifest = next(results)
                done[manifest.start] = manifest
            yield from from_record(read_shard(self._folder, done[task.start]), start - task.start)

    def _results(self, tasks: list[ShardTask]) -> Iterator[ShardManifest]:
        """Yield the manifests of the shards in order, as they are analyzed."""
        with (self._folder / LOG).open("wb") as log:
            self._driver = subprocess.Popen(  # noqa: S603  (our own module)
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        if self._driver.stdin is None or self._driver.stdout is None:
            raise AssertionError("both are pipes")
        self._driver.stdin.write(msgspec.json.encode(msgspec.structs.replace(self._job, tasks=tasks)) + b"\n")
        self._driver.stdin.flush()
        for line in self._driver.stdout:
            result = msgspec.json.decode(line, type=ShardResult)
            if result.manifest is None:
                raise ERRORS[result.error](result.message)
            yield result.manifest
        raise IndexingError(
            Text("The process that drives the Ray cluster ended: see {log}, and run again.", log=self._folder / LOG)
        )
