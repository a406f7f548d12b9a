"""The process that drives a Ray cluster for :mod:`~shrag.indexing.build.cluster.ray_pool`; it alone imports ``ray``.

It is a process of its own because Ray and Java both handle the signals of their process. It reads a :class:`RayJob`
from its input and writes a line of JSON, a :class:`ShardResult`, for each shard, in order. It ends when its input does.

Ray replaces a worker that ends, and another one analyzes its shard again.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed, DiskFull, disk_errors
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.build.cluster.analyzed_shards import ShardManifest, ShardTask, write_shard
from shrag.indexing.build.worker import AnalyzedBatch, WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.messages.text import Text

LOCAL = "local"
"""The address that stands for a cluster of this machine alone, which is started for the build."""

ERRORS: Mapping[str, type[Exception]] = {
    each.__name__: each for each in (CorpusError, DiskFailed, DiskFull, DependencyMissing, IndexingError)
}
"""Errors that end a build, by name."""

_NO_FIGURES = {"RAY_USAGE_STATS_ENABLED": "0"}
"""Ray sends no figures about its use anywhere."""

_LOOPBACK_ONLY = {
    # Despite its name: Ray uses the loopback address, and looks for no other.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Ray asks the addresses of three clouds where it runs, also where it sends no figures; nobody listens here.
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "localhost,127.0.0.1",
}
"""A local cluster connects to no other machine."""

_CONNECT_SECONDS = 10.0

_OBJECT_STORE_BYTES = 128 << 20
"""Of a local cluster: records are in files, so few bytes pass through Ray."""


class RayJob(msgspec.Struct, frozen=True):
    """What to analyze, and where.

    Attributes:
        address: :data:`LOCAL`, ``auto`` for the cluster that this machine belongs to, or ``HOST:PORT``.
        workers: Workers of a local cluster.
        setup: Settings of the analysis.
        folder: The folder of analyzed shards.
        analyzer: Fingerprint of the analyzer, which every worker must have.
        tasks: The shards.
    """

    address: str
    workers: int
    setup: WorkerSetup
    folder: str
    analyzer: str
    tasks: list[ShardTask]


class ShardResult(msgspec.Struct, frozen=True):
    """A shard's manifest, or the name and message of the error that ends the build."""

    manifest: ShardManifest | None
    error: str = ""
    message: str = ""


class _ShardAnalysis:
    """Analyzes shards, in a worker of Ray; ``job`` is a :class:`RayJob` without tasks as JSON."""

    def __init__(self, job: bytes) -> None:
        self._job = msgspec.json.decode(job, type=RayJob)
        self._pool: WorkerPool | None = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, bytes]:
        task, folder = msgspec.json.decode(row["task"], type=ShardTask), Path(self._job.folder)
        try:
            with disk_errors(folder):
                result = ShardResult(write_shard(folder, task, self._batches(task)))
        except tuple(ERRORS.values()) as error:
            result = _failed(error)
        return {"result": msgspec.json.encode(result)}

    def _batches(self, task: ShardTask) -> list[AnalyzedBatch]:
        if self._pool is None:
            own = analyzer_fingerprint(load_dictionary(Path(self._job.setup.dictionary)))
            if own != self._job.analyzer:
                raise IndexingError(
                    Text("A worker of the Ray cluster has another analyzer: install the same SHRAG on all machines.")
                )
            self._pool = WorkerPool(1, self._job.setup)
        return list(self._pool.analyze(Path(task.path), task.start, task.start + task.count, task.words))


def _failed(error: Exception) -> ShardResult:
    name = next(name for name, kind in ERRORS.items() if isinstance(error, kind))
    return ShardResult(None, name, str(error))


def _run(job: RayJob) -> Iterator[ShardResult]:
    """Yield the result of each shard, in order."""
    os.environ |= _NO_FIGURES | (_LOOPBACK_ONLY if job.address == LOCAL else {})  # read when Ray is imported
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise DependencyMissing(
            Text("Building on a Ray cluster needs ray ({error}): run `pip install 'shrag[ray]'`.", error=error)
        ) from error
    try:
        if job.address == LOCAL:
            ray.init(
                num_cpus=job.workers, include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES,
                log_to_driver=False, _node_ip_address="127.0.0.1",
            )  # fmt: skip
        else:
            _check_reachable(job.address)
            ray.init(address=job.address, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise DependencyMissing(
            Text(
                "No Ray cluster answers at {address} ({error}): start one with `ray start`, or use --ray local.",
                address=job.address,
                error=why,
            )
        ) from None
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    analyzed = ray.data.from_items(
        [{"task": msgspec.json.encode(task)} for task in job.tasks], override_num_blocks=len(job.tasks)
    ).map(
        _ShardAnalysis,
        fn_constructor_args=(msgspec.json.encode(msgspec.structs.replace(job, tasks=[])),),
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(job.tasks))),
        num_cpus=1,
    )
    try:
        for row in analyzed.iter_rows():
            yield msgspec.json.decode(row["result"], type=ShardResult)
    except ray.exceptions.RayError as error:
        last = str(error).strip().rpartition("\n")[2]
        raise IndexingError(
            Text("The Ray cluster failed ({error}): run again; the shards that are analyzed are kept.", error=last)
        ) from error
    ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise ``OSError`` where nobody listens at ``HOST:PORT``: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()


def _end_with_input() -> None:
    """End this process, and a cluster that it has started, when the one that reads its results has ended."""
    os.read(0, 1)  # a buffered reader would keep its lock when this process ends
    os._exit(1)


def main() -> None:
    """Read a job and write its results."""
    # Whatever Ray prints goes to standard error; only results to what was standard output.
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=RayJob)
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        for result in _run(job):
            results.write(msgspec.json.encode(result) + b"\n")
    except tuple(ERRORS.values()) as error:
        results.write(msgspec.json.encode(_failed(error)) + b"\n")
