"""The process that drives a cluster as a build sees it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.build.cluster import ray_workers
from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.ray_workers import RayWorkers
from shrag.indexing.build.cluster.shard_analysis import AnalysisSettings
from shrag.indexing.build.cluster.shard_files import Shard
from shrag.indexing.build.worker import WorkerSetup
from shrag.indexing.errors import IndexingError


@pytest.mark.process
def test_a_driver_that_ends_before_it_reads_its_job_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", (sys.executable, "-c", ""))
    settings = AnalysisSettings(WorkerSetup(None, 1_000, str(tmp_path)), analyzer_fingerprint())
    job = RayJob("local", 1, str(tmp_path), settings)
    shards = [Shard(start, 1) for start in range(50_000)]  # more than a pipe holds
    with (
        RayWorkers(job) as workers,
        pytest.raises(IndexingError, match=r"the Ray cluster ended: see .*ray\.log"),
    ):
        next(workers.run(shards))
