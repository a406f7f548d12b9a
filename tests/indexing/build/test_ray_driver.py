"""The process that drives a cluster: what it gives a worker, and its end."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.build.cluster.ray_driver import _check_reachable, _places
from shrag.indexing.build.cluster.ray_job import RayJob, ShardResult
from shrag.indexing.build.cluster.shard_analysis import AnalysisSettings, AnalysisShard, analyzed_batches
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings
from shrag.indexing.build.cluster.shard_files import read_shard
from shrag.indexing.build.worker import WorkerSetup
from shrag.indexing.errors import IndexingError
from tests.support.lone_driver import lone_driver

ANALYSIS = AnalysisSettings(WorkerSetup(None, 1, ""), "")
ENCODING = EncodingSettings("", "", "", "", 10)
SMALL: Mapping[str, float] = {"CPU": 8.0, "memory": 25.0}
LARGE: Mapping[str, float] = {"CPU": 2.0, "memory": 90.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("settings", "nodes", "need", "workers"),
    [
        (ANALYSIS, [SMALL, LARGE, {}], {"CPU": 1}, 10),
        (ENCODING, [SMALL, LARGE], {"CPU": 1, "GPU": 1}, 2),
        (ENCODING, [SMALL, {**LARGE, "GPU": 0.0}], {"CPU": 1, "memory": 10}, 4),
    ],
)
def test_a_worker_takes_a_processor_and_to_encode_a_gpu_or_memory(
    settings: AnalysisSettings | EncodingSettings,
    nodes: list[Mapping[str, float]],
    need: dict[str, float],
    workers: int,
) -> None:
    assert _places(RayJob("local", 1, "", settings), nodes) == (need, workers)


def test_a_cluster_without_room_for_a_worker_says_what_it_needs() -> None:
    with pytest.raises(IndexingError, match=r"has room for a worker \(1 CPU, 10 bytes of memory\): add one"):
        _places(RayJob("local", 1, "", ENCODING), [{"CPU": 4.0, "memory": 9.0}])


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        _check_reachable(address)
    with pytest.raises(ConnectionRefusedError):
        _check_reachable(address)


@pytest.mark.process
def test_a_shard_that_is_delivered_twice_is_done_once_also_by_another_worker(
    tmp_path: Path, grow_corpus: Callable[[Path, str, int], None]
) -> None:
    grow_corpus(tmp_path, "grown", 64)
    corpus, _ = open_corpus(tmp_path / "corpora", "grown")
    path = str(tmp_path / "corpora" / "grown" / corpus.records_file)
    folder = tmp_path / "shards"
    folder.mkdir()

    def results(analyzer: str, *shards: AnalysisShard) -> list[ShardResult]:
        """Return what a worker of its own process makes of the shards, one after another."""
        settings = AnalysisSettings(WorkerSetup(None, 1_000, str(tmp_path)), analyzer)
        job = RayJob("local", 1, str(folder), settings, [msgspec.Raw(msgspec.json.encode(each)) for each in shards])
        driver = subprocess.run(lone_driver(), input=msgspec.json.encode(job), stdout=subprocess.PIPE, check=True)
        return [msgspec.json.decode(line, type=ShardResult) for line in driver.stdout.splitlines()]

    first, second = (AnalysisShard(start, 32, path) for start in (0, 32))
    done, again, other = results(analyzer_fingerprint(), first, first, second)
    assert done.manifest is not None
    assert other.manifest is not None
    assert again == done
    assert {each.name for each in folder.iterdir()} == {
        done.manifest.file,
        other.manifest.file,
        "shard-000000000000.json",
        "shard-000000000032.json",
    }
    # The words of the first shard were told with it, and the worker kept them for the second.
    told = [
        {word for batch in analyzed_batches(read_shard(folder, each)) for word, _ in batch.words}
        for each in (done.manifest, other.manifest)
    ]
    assert min(map(len, told)) > 100
    assert told[0].isdisjoint(told[1])
    # A worker that could not do the first shard finds it done, and a shard that is not done it cannot do.
    found, failed = results("another", first, AnalysisShard(0, 31, path))
    assert (found, failed.error) == (done, "IndexingError")


@pytest.mark.process
def test_a_driver_ends_when_who_reads_its_results_has_ended(tmp_path: Path) -> None:
    code = "import threading; from shrag.indexing.build.cluster.ray_driver import _end_with_input; _end_with_input()"
    driver = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=tmp_path)
    driver.communicate(timeout=60)
    assert driver.returncode == 1
