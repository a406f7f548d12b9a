"""The pool over a Ray cluster, seen from the build: results of a driver, real but for Ray, and a driver that fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer, analyzer_fingerprint
from shrag.indexing.analyzed_record import PackedRecord, analyze_record, pack_record
from shrag.indexing.build.cluster import ray_workers
from shrag.indexing.build.cluster.ray_pool import RayPool
from shrag.indexing.build.cluster.ray_workers import LOG
from shrag.indexing.build.cluster.shard_analysis import FOLDER
from shrag.indexing.build.worker import WorkerSetup
from shrag.indexing.errors import DependencyMissing, IndexingError
from tests.support.lone_driver import lone_driver

pytestmark = pytest.mark.process


def _pool(folder: Path, analyzer: str = "") -> RayPool:
    setup = WorkerSetup(None, 1_000, str(folder))
    return RayPool("local", 2, setup, folder / FOLDER, analyzer or analyzer_fingerprint())


def test_shards_come_in_the_corpus_order_and_those_that_are_there_are_not_analyzed_again(
    tmp_path: Path,
    grow_corpus: Callable[[Path, str, int], None],
    analyzer: KoreanEnglishAnalyzer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grow_corpus(tmp_path, "grown", 100)
    manifest, corpus = open_corpus(tmp_path / "corpora", "grown")
    path = tmp_path / "corpora" / "grown" / manifest.records_file
    wanted = [pack_record(analyze_record(record, analyzer)) for record in corpus]
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(4))
    with _pool(tmp_path) as pool:
        assert [record for batch in pool.analyze(path, 0, 100) for record in batch.records] == wanted
    monkeypatch.setattr(ray_workers, "COMMAND", ("/nowhere",))
    with _pool(tmp_path) as pool:  # begun again within the second shard, behind a commit of Lucene
        rest = [record for batch in pool.analyze(path, 40, 100) for record in batch.records]
    assert rest == wanted[40:]
    assert all(isinstance(record, PackedRecord) for record in rest)


def test_a_driver_that_ends_early_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", (sys.executable, "-c", "import sys; sys.stdin.readline()"))
    with _pool(tmp_path) as pool, pytest.raises(IndexingError, match=r"controls the Ray cluster ended: see .*ray\.log"):
        list(pool.analyze(tmp_path / "x", 0, 10))


@pytest.mark.parametrize(
    ("path", "analyzer", "kind", "says"),
    [("nowhere.parquet", "", CorpusError, "nowhere.parquet"), ("x", "other", IndexingError, "has another analyzer")],
)
def test_an_error_of_a_worker_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, analyzer: str, kind: type[Exception], says: str
) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(1))
    with _pool(tmp_path, analyzer) as pool, pytest.raises(kind, match=says):
        list(pool.analyze(tmp_path / path, 0, 10))


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    with _pool(tmp_path) as pool, pytest.raises(DependencyMissing, match=r"needs ray .*`pip install 'shrag\[ray\]'`\."):
        list(pool.analyze(tmp_path / "x", 0, 10))
    assert (tmp_path / FOLDER / LOG).read_text() == ""
