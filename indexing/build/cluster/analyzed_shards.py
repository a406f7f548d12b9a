"""Files of analyzed shards: the batches of a part of the corpus, and a manifest with their checksum."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.files import write_atomically
from shrag.indexing.build.worker import AnalyzedBatch
from shrag.indexing.errors import IndexDamaged
from shrag.messages.text import Text

FOLDER = "shards"
"""Name of the folder of analyzed shards, in a build's stage."""

_LARGEST_SHARD = 4_096
_SMALLEST_SHARD = 32
_SHARDS = 48


class ShardTask(msgspec.Struct, frozen=True):
    """A shard to analyze: ``count`` records of the file ``path`` from ``start``, and ``words`` to analyze before."""

    path: str
    start: int
    count: int
    words: tuple[str, ...] = ()


class ShardManifest(msgspec.Struct, frozen=True):
    """An analyzed shard: its records, and the file of its batches."""

    start: int
    count: int
    file: str
    bytes: int
    sha256: str


def shard_size(records: int) -> int:
    """Return the number of records of a shard, by the corpus alone: a resumed build has the same shards."""
    return min(max(records // _SHARDS // _SMALLEST_SHARD, 1) * _SMALLEST_SHARD, _LARGEST_SHARD)


def write_shard(folder: Path, task: ShardTask, batches: list[AnalyzedBatch]) -> ShardManifest:
    """Write the batches of a shard to a file, then its manifest."""
    data = msgspec.msgpack.encode(batches)
    # Each attempt has a file of its own: a worker that was given up may still write.
    manifest = ShardManifest(
        task.start, task.count, f"{_name(task)}-{uuid.uuid4().hex}", len(data), hashlib.sha256(data).hexdigest()
    )
    write_atomically(folder / manifest.file, data)
    write_atomically(folder / f"{_name(task)}.json", msgspec.json.encode(manifest))
    return manifest


def read_manifest(folder: Path, task: ShardTask) -> ShardManifest | None:
    """Return the manifest of a shard whose file is there, as long as it says; None where there is none."""
    try:
        manifest = msgspec.json.decode((folder / f"{_name(task)}.json").read_bytes(), type=ShardManifest)
        whole = (folder / manifest.file).stat().st_size == manifest.bytes and manifest.count == task.count
    except (OSError, msgspec.DecodeError):
        return None
    return manifest if whole else None


def read_shard(folder: Path, manifest: ShardManifest) -> list[AnalyzedBatch]:
    """Return the batches of a shard; raises :class:`IndexDamaged` where its file is not what was written."""
    data = (folder / manifest.file).read_bytes()
    if hashlib.sha256(data).hexdigest() != manifest.sha256:
        raise IndexDamaged(Text("{file} has changed since it was written: run again.", file=folder / manifest.file))
    return msgspec.msgpack.decode(data, type=list[AnalyzedBatch])


def _name(task: ShardTask) -> str:
    return f"shard-{task.start:012d}"


def from_record(batches: Sequence[AnalyzedBatch], first: int) -> Iterator[AnalyzedBatch]:
    """Yield the batches without the records before ``first``, which are written already, but with all words."""
    for batch in batches:
        skipped = min(max(first, 0), len(batch.records))
        first -= skipped
        yield msgspec.structs.replace(batch, records=batch.records[skipped:]) if skipped else batch
