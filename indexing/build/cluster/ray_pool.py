"""RayPool: analysis of a corpus by the workers of a Ray cluster, shard by shard.

Each worker reads a shard of the corpus and analyzes it as :class:`~shrag.indexing.build.worker_pool.WorkerPool` does.
It writes the result to a file in the build's folder, with a manifest that has the file's checksum. The process that
writes the index reads the files in the corpus's order, so the index equals that of a build on one machine. All machines
of the cluster must see the data folder at the same path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.ray_workers import RayWorkers
from shrag.indexing.build.cluster.shard_analysis import (
    AnalysisSettings,
    AnalysisShard,
    analyzed_batches,
    from_record,
    shard_size,
)
from shrag.indexing.build.cluster.shard_files import read_shard
from shrag.indexing.build.worker import AnalyzedBatch, WorkerSetup


class RayPool:
    """The workers of a Ray cluster that analyze records. The end of its ``with`` block leaves the cluster.

    Args:
        address: The cluster, as in :class:`~shrag.indexing.build.cluster.ray_job.RayJob`.
        workers: The number of workers of a local cluster.
        setup: Settings of the analysis.
        folder: The folder of analyzed shards, which is created.
        analyzer: Fingerprint of the analyzer.
    """

    def __init__(self, address: str, workers: int, setup: WorkerSetup, folder: Path, analyzer: str) -> None:
        self._folder = folder
        self._workers = RayWorkers(RayJob(address, workers, str(folder), AnalysisSettings(setup, analyzer)))

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.__exit__()

    def analyze(self, path: Path, start: int, stop: int, words: Sequence[str] = ()) -> Iterator[AnalyzedBatch]:
        """Yield batches of the records ``start`` to ``stop`` of a file, in order, as :meth:`WorkerPool.analyze` does.

        Raises:
            DependencyMissing: Ray is not installed, or no cluster answers.
            IndexDamaged: A shard's file has changed since it was written.
            IndexingError: A worker has another analyzer, or the cluster fails. The errors of
                :meth:`WorkerPool.analyze` are raised too.
        """
        size = shard_size(stop)
        tasks = [
            AnalysisShard(begin, min(size, stop - begin), str(path), () if begin else tuple(words))
            for begin in range(start // size * size, stop, size)
        ]
        for manifest in self._workers.run(tasks):
            batches = analyzed_batches(read_shard(self._folder, manifest))
            yield from from_record(batches, start - manifest.start)
