"""Analysis of shards: their sizes, their files, and the words that a worker keeps between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer, analyzer_fingerprint
from shrag.indexing.analyzed_record import PackedRecord, analyze_record, pack_record
from shrag.indexing.build.cluster.shard_analysis import (
    AnalysisSettings,
    AnalysisShard,
    ShardAnalysis,
    analyzed_batches,
    from_record,
    shard_size,
)
from shrag.indexing.build.cluster.shard_files import read_shard
from shrag.indexing.build.worker import AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.errors import IndexingError


def _batches() -> list[AnalyzedBatch]:
    first, last = (PackedRecord(docid, "그래핀", "그래핀\n필름", "{}", "{}") for docid in "ac")
    return [
        AnalyzedBatch([first, RejectedRecord("b", "it crashed")], [("그래핀", b"[]")], 0.1, 0.2),
        AnalyzedBatch([last], [("필름", b"[]")], 0.3, 0.4),
    ]


def test_shards_depend_on_the_corpus_alone_and_have_whole_batches() -> None:
    assert [shard_size(count) for count in (1, 1_300, 3_000, 10_000, 100_000_000)] == [32, 32, 32, 192, 4_096]


def test_batches_are_read_as_they_were_written() -> None:
    assert analyzed_batches(msgspec.msgpack.encode(_batches())) == _batches()


def test_records_that_are_written_already_are_left_out_and_their_words_are_not() -> None:
    batches = _batches()
    assert list(from_record(batches, -5)) == list(from_record(batches, 0)) == batches
    assert [len(batch.records) for batch in from_record(batches, 1)] == [1, 1]
    assert [(len(batch.records), len(batch.words)) for batch in from_record(batches, 3)] == [(0, 1), (0, 1)]


def _settings(folder: Path, analyzer: str = "") -> AnalysisSettings:
    return AnalysisSettings(WorkerSetup(None, 10_000, str(folder)), analyzer or analyzer_fingerprint())


@pytest.mark.process
def test_a_worker_keeps_its_words_between_shards_and_tells_each_once(
    tmp_path: Path, grow_corpus: Callable[[Path, str, int], None], analyzer: KoreanEnglishAnalyzer
) -> None:
    grow_corpus(tmp_path, "grown", 100)
    manifest, corpus = open_corpus(tmp_path / "corpora", "grown")
    path = str(tmp_path / "corpora" / "grown" / manifest.records_file)
    shards = [AnalysisShard(start, min(32, 100 - start), path) for start in range(0, 100, 32)]
    with closing(ShardAnalysis(_settings(tmp_path))) as work:
        # The last one again: all of its words are known.
        done = [work.run(msgspec.json.encode(shard), tmp_path) for shard in (*shards, shards[-1])]
    batches = [analyzed_batches(read_shard(tmp_path, each)) for each in done]
    records = [record for each in batches[:-1] for batch in each for record in batch.records]
    assert records == [pack_record(analyze_record(record, analyzer)) for record in corpus]
    words = [word for each in batches for batch in each for word, _ in batch.words]
    assert len(words) == len(set(words)) > 100
    assert [batch.words for batch in batches[-1]] == [[]]


def test_another_analyzer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexingError, match="A worker of the Ray cluster has another analyzer: install the same"):
        ShardAnalysis(_settings(tmp_path, "other"))
