"""Messages between a build, the process that drives its Ray cluster, and the workers: jobs, results and errors."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed, DiskFull
from shrag.indexing.build.cluster.shard_analysis import AnalysisSettings
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings
from shrag.indexing.build.cluster.shard_files import ShardManifest
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.models.errors import ModelError, OutOfMemory, PackageMissing, WeightsMissing, WeightsRejected

LOCAL = "local"
"""The address of a cluster of this machine alone, which the build starts."""

ERRORS: Mapping[str, type[Exception]] = {
    each.__name__: each
    for each in (
        CorpusError, DiskFailed, DiskFull, DependencyMissing, IndexingError,
        OutOfMemory, PackageMissing, WeightsMissing, WeightsRejected, ModelError,
    )
}  # fmt: skip
"""Errors that end a build, by name."""


class RayJob(msgspec.Struct, frozen=True):
    """The work for a cluster, and the cluster's address.

    Attributes:
        address: :data:`LOCAL`, ``auto`` for the cluster that this machine belongs to, or ``HOST:PORT``.
        workers: The number of workers of a local cluster.
        folder: The folder of the shards' files.
        settings: The settings of all shards. Their class tells whether the shards are analyzed or encoded.
        tasks: The shards, each as JSON.
    """

    address: str
    workers: int
    folder: str
    settings: AnalysisSettings | EncodingSettings
    tasks: list[msgspec.Raw] = []


class ShardResult(msgspec.Struct, frozen=True):
    """A shard's manifest, or the name and message of the error that ends the build."""

    manifest: ShardManifest | None
    error: str = ""
    message: str = ""


def failed(error: Exception) -> ShardResult:
    """Return the result for one of :data:`ERRORS`."""
    name = next(name for name, kind in ERRORS.items() if isinstance(error, kind))
    return ShardResult(None, name, str(error))
