"""Files of analyzed shards: what is written is read, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.build.cluster.analyzed_shards import (
    ShardTask,
    from_record,
    read_manifest,
    read_shard,
    shard_size,
    write_shard,
)
from shrag.indexing.build.worker import AnalyzedBatch, RejectedRecord
from shrag.indexing.errors import IndexDamaged

TASK = ShardTask("records.parquet", 64, 3)


def _batches() -> list[AnalyzedBatch]:
    first, last = (PackedRecord(docid, "그래핀", "그래핀\n필름", "{}", "{}") for docid in "ac")
    return [
        AnalyzedBatch([first, RejectedRecord("b", "it crashed")], [("그래핀", b"[]")], 0.1, 0.2),
        AnalyzedBatch([last], [("필름", b"[]")], 0.3, 0.4),
    ]


def test_shards_depend_on_the_corpus_alone_and_have_whole_batches() -> None:
    assert [shard_size(count) for count in (1, 1_300, 3_000, 10_000, 100_000_000)] == [32, 32, 32, 192, 4_096]


def test_a_shard_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_manifest(tmp_path, TASK) is None
    manifest = write_shard(tmp_path, TASK, _batches())
    assert (manifest.start, manifest.count) == (64, 3)
    assert read_manifest(tmp_path, TASK) == manifest
    assert read_shard(tmp_path, manifest) == _batches()


def test_a_shard_of_another_size_or_without_its_file_or_manifest_is_not_there(tmp_path: Path) -> None:
    manifest = write_shard(tmp_path, TASK, _batches())
    assert read_manifest(tmp_path, ShardTask(TASK.path, 64, 4)) is None
    assert read_manifest(tmp_path, ShardTask(TASK.path, 32, 3)) is None
    (tmp_path / manifest.file).write_bytes(b"cut")
    assert read_manifest(tmp_path, TASK) is None
    write_shard(tmp_path, TASK, _batches())
    next(tmp_path.glob("*.json")).write_text("{")
    assert read_manifest(tmp_path, TASK) is None


def test_a_second_attempt_does_not_touch_the_file_of_the_first(tmp_path: Path) -> None:
    first, second = write_shard(tmp_path, TASK, _batches()), write_shard(tmp_path, TASK, _batches()[:1])
    assert read_shard(tmp_path, first) == _batches()
    assert read_manifest(tmp_path, TASK) == second


def test_a_changed_file_is_found_out(tmp_path: Path) -> None:
    manifest = write_shard(tmp_path, TASK, _batches())
    data = bytearray((tmp_path / manifest.file).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / manifest.file).write_bytes(data)
    with pytest.raises(IndexDamaged, match="has changed since it was written: run again"):
        read_shard(tmp_path, manifest)


def test_records_that_are_written_already_are_left_out_and_their_words_are_not() -> None:
    batches = _batches()
    assert list(from_record(batches, -5)) == list(from_record(batches, 0)) == batches
    assert [len(batch.records) for batch in from_record(batches, 1)] == [1, 1]
    assert [(len(batch.records), len(batch.words)) for batch in from_record(batches, 3)] == [(0, 1), (0, 1)]
