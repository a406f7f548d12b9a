"""RayWorkers: a build's access to the workers of a Ray cluster, through the process that drives the cluster.

A shard that has a manifest is not processed again, even if the build itself was killed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from shrag.indexing.build.cluster.ray_job import ERRORS, RayJob, ShardResult
from shrag.indexing.build.cluster.shard_files import Shard, ShardManifest, read_manifest
from shrag.indexing.errors import IndexingError
from shrag.messages.text import Text

COMMAND = (sys.executable, "-P", "-c", "from shrag.indexing.build.cluster.ray_driver import main; main()")
"""Command of the process that drives the cluster. Without ``-m``, Ray's workers can import the module's classes."""

LOG = "ray.log"
"""Name of the file with Ray's output, in the folder of shards."""

_END_SECONDS = 30.0


class RayWorkers:
    """The workers of a Ray cluster. The end of its ``with`` block leaves the cluster.

    Args:
        job: The workers' job, without tasks. Its folder is created.
    """

    def __init__(self, job: RayJob) -> None:
        self._folder = Path(job.folder)
        self._folder.mkdir(exist_ok=True)
        self._job = job
        self._driver: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._driver is None:
            return
        with self._driver as driver:  # communicate() closes its input, so it ends
            try:
                driver.communicate(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                driver.kill()

    def run(self, tasks: Sequence[Shard]) -> Iterator[ShardManifest]:
        """Yield the manifest of each shard, in order, as the shards are finished. Call it only once.

        Raises:
            DependencyMissing: Ray is not installed, or no cluster answers.
            IndexingError: The cluster fails. Any other error of a worker is raised too.
        """
        done = {task.start: manifest for task in tasks if (manifest := read_manifest(self._folder, task)) is not None}
        results = self._results([task for task in tasks if task.start not in done])
        for task in tasks:
            while task.start not in done:
                manifest = next(results)
                done[manifest.start] = manifest
            yield done.pop(task.start)

    def _results(self, tasks: list[Shard]) -> Iterator[ShardManifest]:
        """Start the driver, and yield the manifests of the shards in order, as the shards are finished."""
        with (self._folder / LOG).open("wb") as log:
            self._driver = subprocess.Popen(  # noqa: S603  (our own module)
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        if self._driver.stdin is None or self._driver.stdout is None:
            raise AssertionError("both are pipes")
        job = msgspec.structs.replace(self._job, tasks=[msgspec.Raw(msgspec.json.encode(task)) for task in tasks])
        with suppress(BrokenPipeError):  # if the driver has ended already, there are no results
            self._driver.stdin.write(msgspec.json.encode(job) + b"\n")
            self._driver.stdin.flush()
        for line in self._driver.stdout:
            result = msgspec.json.decode(line, type=ShardResult)
            if result.manifest is None:
                raise ERRORS[result.error](result.message)
            yield result.manifest
        raise IndexingError(
            Text("The process that controls the Ray cluster ended: see {log}, and run again.", log=self._folder / LOG)
        )
