"""A driver of shards without a Ray cluster: it does some of them itself, one after another, and ends."""

from __future__ import annotations

import sys

_ALONE = """
import sys, msgspec
from shrag.indexing.build.cluster.ray_driver import ShardWorker
from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings
job = msgspec.json.decode(sys.stdin.buffer.readline(), type=RayJob)
worker = ShardWorker(msgspec.json.encode(job))
most = sys.argv[1 + isinstance(job.settings, EncodingSettings)]
for task in job.tasks[: int(most)]:
    print(worker({"task": bytes(task)})["result"].decode(), flush=True)
"""


def lone_driver(analyzed: int = 1_000, encoded: int = 1_000) -> tuple[str, ...]:
    """Return a command for ``ray_workers.COMMAND``: a driver that ends after so many shards of what it is to do."""
    return (sys.executable, "-c", _ALONE, str(analyzed), str(encoded))
