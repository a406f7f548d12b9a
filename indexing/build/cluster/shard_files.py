"""Files of shards: a worker's result for a range of records, and a manifest with its count, size and SHA-256."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import msgspec

from shrag.corpora.files import write_atomically
from shrag.indexing.errors import IndexDamaged
from shrag.messages.text import Text


class Shard(msgspec.Struct, frozen=True):
    """The records or documents that a worker processes together: ``count`` from number ``start`` on."""

    start: int
    count: int


class ShardManifest(msgspec.Struct, frozen=True):
    """A finished shard, and its file."""

    start: int
    count: int
    file: str
    bytes: int
    sha256: str


def write_shard(folder: Path, shard: Shard, data: bytes) -> ShardManifest:
    """Write a shard's result to a file, then write its manifest."""
    # Each attempt has a file of its own, because a worker that Ray has given up may still be writing.
    manifest = ShardManifest(
        shard.start, shard.count, f"{_name(shard)}-{uuid.uuid4().hex}", len(data), hashlib.sha256(data).hexdigest()
    )
    write_atomically(folder / manifest.file, data)
    write_atomically(folder / f"{_name(shard)}.json", msgspec.json.encode(manifest))
    return manifest


def read_manifest(folder: Path, shard: Shard) -> ShardManifest | None:
    """Return the manifest of a shard if its file exists and has the size in the manifest, else None."""
    try:
        manifest = msgspec.json.decode((folder / f"{_name(shard)}.json").read_bytes(), type=ShardManifest)
        whole = (folder / manifest.file).stat().st_size == manifest.bytes and manifest.count == shard.count
    except (OSError, msgspec.DecodeError):
        return None
    return manifest if whole else None


def read_shard(folder: Path, manifest: ShardManifest) -> bytes:
    """Return a shard's result; raise :class:`IndexDamaged` if its file has changed since it was written."""
    data = (folder / manifest.file).read_bytes()
    if hashlib.sha256(data).hexdigest() != manifest.sha256:
        raise IndexDamaged(Text("{file} has changed since it was written: run again.", file=folder / manifest.file))
    return data


def _name(shard: Shard) -> str:
    return f"shard-{shard.start:012d}"
