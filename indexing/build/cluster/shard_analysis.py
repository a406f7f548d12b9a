"""Analysis of shards in a worker of the cluster: records of the corpus → a file of analyzed batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.build.cluster.shard_files import Shard, ShardManifest, write_shard
from shrag.indexing.build.worker import AnalyzedBatch, WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexingError
from shrag.messages.text import Text

FOLDER = "shards"
"""Name of the folder of analyzed shards, in a build's stage."""

_LARGEST_SHARD = 4_096
_SMALLEST_SHARD = 32
_SHARDS = 48


class AnalysisShard(Shard, frozen=True):
    """A shard to analyze: records of the file ``path``, and ``words`` to analyze before them."""

    path: str
    words: tuple[str, ...] = ()


class AnalysisSettings(msgspec.Struct, frozen=True, tag=True):
    """The settings of all shards, and the fingerprint of the analyzer that a worker must have."""

    setup: WorkerSetup
    analyzer: str


class ShardAnalysis:
    """Analyzes one shard after another in a process of its own, which remembers the words that it has analyzed."""

    def __init__(self, settings: AnalysisSettings) -> None:
        own = analyzer_fingerprint(load_dictionary(Path(settings.setup.dictionary)))
        if own != settings.analyzer:
            raise IndexingError(
                Text("A worker of the Ray cluster has another analyzer: install the same SHRAG on all machines.")
            )
        self._pool = WorkerPool(1, settings.setup)

    def close(self) -> None:
        """End the analyzing process, which also ends together with this process."""
        self._pool.__exit__()

    def run(self, task: bytes, folder: Path) -> ShardManifest:
        """Analyze a shard and write it to ``folder``; ``task`` is an :class:`AnalysisShard` as JSON.

        It raises the errors of :meth:`~shrag.indexing.build.worker_pool.WorkerPool.analyze`.
        """
        shard = msgspec.json.decode(task, type=AnalysisShard)
        batches = list(self._pool.analyze(Path(shard.path), shard.start, shard.start + shard.count, shard.words))
        return write_shard(folder, shard, msgspec.msgpack.encode(batches))


def shard_size(records: int) -> int:
    """Return the size of a shard in a corpus of that many records.

    The size depends on the corpus alone, so a resumed build has the same shards.
    """
    return min(max(records // _SHARDS // _SMALLEST_SHARD, 1) * _SMALLEST_SHARD, _LARGEST_SHARD)


def analyzed_batches(data: bytes) -> list[AnalyzedBatch]:
    """Return the batches in a file of :class:`ShardAnalysis`."""
    return msgspec.msgpack.decode(data, type=list[AnalyzedBatch])


def from_record(batches: Sequence[AnalyzedBatch], first: int) -> Iterator[AnalyzedBatch]:
    """Yield the batches with all words, but without their first ``first`` records, which are already written."""
    for batch in batches:
        skipped = min(max(first, 0), len(batch.records))
        first -= skipped
        yield msgspec.structs.replace(batch, records=batch.records[skipped:]) if skipped else batch
