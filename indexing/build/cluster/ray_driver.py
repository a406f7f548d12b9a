"""The process that drives a Ray cluster for :mod:`~shrag.indexing.build.cluster.ray_workers`; it alone imports ``ray``.

It is a process of its own because Ray and Java both handle the signals of their process. It reads one
:class:`~shrag.indexing.build.cluster.ray_job.RayJob` from its input. For each shard, in order, it writes a
:class:`~shrag.indexing.build.cluster.ray_job.ShardResult` as a line of JSON. It ends when its input ends.

If a worker ends, Ray replaces it, and another worker repeats its shard.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.files import disk_errors
from shrag.indexing.build.cluster.ray_job import ERRORS, LOCAL, RayJob, ShardResult, failed
from shrag.indexing.build.cluster.shard_analysis import AnalysisSettings, ShardAnalysis
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings, ShardEncoding
from shrag.indexing.build.cluster.shard_files import Shard, read_manifest
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.messages.text import Text, joined

_NO_FIGURES = {"RAY_USAGE_STATS_ENABLED": "0"}
"""Environment with which Ray sends no usage statistics."""

_LOOPBACK_ONLY = {
    # Despite its name, this makes Ray use the loopback address and look for no other.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # To find out where it runs, Ray asks addresses of three clouds, even without usage statistics. Nothing listens at
    # this proxy.
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "localhost,127.0.0.1",
}
"""Environment with which a local cluster connects to no other machine."""

_CONNECT_SECONDS = 10.0

_RETRIES = 5
"""Retries of a shard whose worker ends. They are limited, since a shard that ends every worker must end the build."""

_OBJECT_STORE_BYTES = 128 << 20
"""Size of a local cluster's object store. Few bytes pass through Ray, since the records are in files."""


class ShardWorker:
    """Processes one shard after another, in a worker of Ray.

    Args:
        job: A :class:`RayJob` without tasks, as JSON.
        gpu: Whether Ray gives the worker a GPU.
    """

    def __init__(self, job: bytes, *, gpu: bool = False) -> None:
        self._job = msgspec.json.decode(job, type=RayJob)
        self._gpu = gpu
        self._work: ShardAnalysis | ShardEncoding | None = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, bytes]:
        """Process the shard in a row's ``task``, and return a row with its ``result``."""
        folder, task = Path(self._job.folder), row["task"]
        try:
            with disk_errors(folder):
                # Ray repeats a task even if only the connection broke. The file of the first run must stay, because
                # a worker reports each new word only once.
                manifest = read_manifest(folder, msgspec.json.decode(task, type=Shard))
                if manifest is None:
                    if self._work is None:  # not in __init__, which Ray would repeat after an error
                        self._work = self._start()
                    manifest = self._work.run(task, folder)
                result = ShardResult(manifest)
        except tuple(ERRORS.values()) as error:
            result = failed(error)
        return {"result": msgspec.json.encode(result)}

    def _start(self) -> ShardAnalysis | ShardEncoding:
        settings = self._job.settings
        if isinstance(settings, AnalysisSettings):
            return ShardAnalysis(settings)
        return ShardEncoding(settings, gpu=self._gpu)


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
    need, workers = _places(job, [node["Resources"] for node in ray.nodes() if node["Alive"]])
    done = ray.data.from_items([{"task": bytes(task)} for task in job.tasks], override_num_blocks=len(job.tasks)).map(
        ShardWorker,
        fn_constructor_args=(msgspec.json.encode(msgspec.structs.replace(job, tasks=[])),),
        fn_constructor_kwargs={"gpu": "GPU" in need},
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(job.tasks))),
        num_cpus=need["CPU"],
        num_gpus=need.get("GPU"),
        memory=need.get("memory"),
        max_task_retries=_RETRIES,
    )
    try:
        for row in done.iter_rows():
            yield msgspec.json.decode(row["result"], type=ShardResult)
    except ray.exceptions.RayError as error:
        last = str(error).strip().rpartition("\n")[2]
        raise IndexingError(
            Text("The Ray cluster failed ({error}): run again; the shards that are done are kept.", error=last)
        ) from error
    ray.shutdown()


def _places(job: RayJob, nodes: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], int]:
    """Return the resources that one worker needs, and how many workers the cluster has room for.

    A worker that encodes needs a GPU if the cluster has one. Otherwise it needs the memory for the weights.
    """
    needs: list[dict[str, float]] = [{"CPU": 1}]
    if isinstance(job.settings, EncodingSettings):
        needs = [{"CPU": 1, "GPU": 1}, {"CPU": 1, "memory": job.settings.worker_bytes}]
    for need in needs:
        workers = sum(int(min(node.get(name, 0) // amount for name, amount in need.items())) for node in nodes)
        if workers:
            return need, workers
    raise IndexingError(
        Text(
            "No machine of the Ray cluster has room for a worker ({need}): add one, or build without --ray.",
            need=joined((_shown_need(*each) for each in needs[-1].items()), ", "),
        )
    )


def _shown_need(name: str, amount: float) -> Text:
    if name == "CPU":
        return Text("{amount:,} CPU", amount=amount)
    return Text("{amount:,} bytes of memory", amount=amount)


def _check_reachable(address: str) -> None:
    """Raise ``OSError`` if nothing listens at ``HOST:PORT``. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()


def _end_with_input() -> None:
    """End this process, and a cluster that it has started, when the process that reads its results has ended."""
    os.read(0, 1)  # a buffered reader would keep its lock when this process ends
    os._exit(1)


def main() -> None:
    """Read a job and write its results."""
    # Everything that Ray prints goes to standard error. The former standard output receives only the results.
    results = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=RayJob)
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        for result in _run(job):
            results.write(msgspec.json.encode(result) + b"\n")
    except tuple(ERRORS.values()) as error:
        results.write(msgspec.json.encode(failed(error)) + b"\n")
