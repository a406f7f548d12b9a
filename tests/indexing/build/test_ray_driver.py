"""The process that drives a cluster: what it gives a worker, and its end."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shrag.indexing.build.cluster.ray_driver import _check_reachable, _places
from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.shard_analysis import AnalysisSettings
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings
from shrag.indexing.build.worker import WorkerSetup
from shrag.indexing.errors import IndexingError

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
def test_a_driver_ends_when_who_reads_its_results_has_ended(tmp_path: Path) -> None:
    code = "import threading; from shrag.indexing.build.cluster.ray_driver import _end_with_input; _end_with_input()"
    driver = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=tmp_path)
    driver.communicate(timeout=60)
    assert driver.returncode == 1
