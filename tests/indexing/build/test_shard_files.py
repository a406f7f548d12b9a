"""Files of shards: what is written is read, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.indexing.build.cluster.shard_files import Shard, read_manifest, read_shard, write_shard
from shrag.indexing.errors import IndexDamaged

SHARD = Shard(64, 3)
DATA = b"what a worker made"


def test_a_shard_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_manifest(tmp_path, SHARD) is None
    manifest = write_shard(tmp_path, SHARD, DATA)
    assert (manifest.start, manifest.count, manifest.bytes) == (64, 3, len(DATA))
    assert read_manifest(tmp_path, SHARD) == manifest
    assert read_shard(tmp_path, manifest) == DATA


def test_a_shard_of_another_size_or_without_its_file_or_manifest_is_not_there(tmp_path: Path) -> None:
    manifest = write_shard(tmp_path, SHARD, DATA)
    assert read_manifest(tmp_path, Shard(64, 4)) is None
    assert read_manifest(tmp_path, Shard(32, 3)) is None
    (tmp_path / manifest.file).write_bytes(b"cut")
    assert read_manifest(tmp_path, SHARD) is None
    write_shard(tmp_path, SHARD, DATA)
    next(tmp_path.glob("*.json")).write_text("{")
    assert read_manifest(tmp_path, SHARD) is None


def test_a_second_attempt_does_not_touch_the_file_of_the_first(tmp_path: Path) -> None:
    first, second = write_shard(tmp_path, SHARD, DATA), write_shard(tmp_path, SHARD, DATA[:1])
    assert read_shard(tmp_path, first) == DATA
    assert read_manifest(tmp_path, SHARD) == second


def test_a_changed_file_is_found_out(tmp_path: Path) -> None:
    manifest = write_shard(tmp_path, SHARD, DATA)
    (tmp_path / manifest.file).write_bytes(DATA[:-1] + b"!")
    with pytest.raises(IndexDamaged, match="has changed since it was written: run again"):
        read_shard(tmp_path, manifest)
