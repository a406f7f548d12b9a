"""A build on Ray workers of this machine is that of one process, whatever happens to a worker (`make test-ray`)."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from shrag.indexing.build.builder import build_index
from shrag.indexing.build.cluster import ray_workers
from shrag.indexing.build.cluster.ray_job import RayJob
from shrag.indexing.build.cluster.ray_workers import RayWorkers
from shrag.indexing.build.cluster.shard_analysis import FOLDER
from shrag.indexing.build.cluster.shard_encoding import FOLDER as VECTOR_SHARDS
from shrag.indexing.build.cluster.shard_encoding import EncodingSettings, EncodingShard
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import FILE as VECTORS_FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.models.encoders.choice import choose_encoder
from tests.conftest import ROOT
from tests.support.connections import TRACED, connections

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("short_builds")]

RUN = """
import pytest
from tests.support.killed_build import shorten_builds
shorten_builds(pytest.MonkeyPatch())
from shrag.cli.main import main
main()
"""

DYING = """
import os
from shrag.indexing.build.cluster import ray_driver
class ShardWorker(ray_driver.ShardWorker):
    def __call__(self, row):
        os._exit(1)
ray_driver.ShardWorker = ShardWorker
ray_driver.main()
"""
"""A driver whose workers end."""

RECORDS = 1_300
NAME = "grown"
Identity = Callable[[Path], dict[str, object]]


@pytest.fixture(scope="module")
def home(
    tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None], encoder_folder: Path
) -> Path:
    """Return a home with a corpus and its index, built by processes of this machine, and an encoder's weights."""
    home = tmp_path_factory.mktemp("ray")
    grow_corpus(home, NAME, RECORDS)
    shutil.copytree(encoder_folder, home / "weights" / "tiny")
    build_index(home / "corpora", home / "indexes", NAME)
    return home


@pytest.fixture(scope="module")
def whole(home: Path, identity: Identity) -> dict[str, object]:
    """Return what that index is."""
    return identity(home / "indexes" / NAME)


def _start(home: Path, *before: str, encoder: str = "none") -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", RUN, "index", NAME, "--force", "--ray", "local"]
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    return subprocess.Popen(
        [*command, "--workers", "3", "--encoder", encoder], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _descendants(child)


def _at_work(pid: int) -> list[int]:
    """Return the workers of Ray below a process that do shards, by the names that Ray gives them."""
    found = []
    for each in _descendants(pid):
        try:
            name = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::") and b"ShardWorker" in name:
            found.append(each)
    return found


def _build_with_a_kill(home: Path, seed: int, encoder: str = "none") -> bool:
    """Build while a worker is killed, one that encodes if any does; return whether one was there to be killed."""
    rng, killed, index = random.Random(seed), list[int](), home / "indexes" / NAME

    def kill_one() -> None:
        """Kill one at some time after the first is there; where they encode, once the first shard is."""
        encodes = encoder != "none"
        while build.poll() is None and not (
            _at_work(build.pid) and (not encodes or any(index.glob(f"*/stage/{VECTOR_SHARDS}/*.json")))
        ):
            time.sleep(0.01)
        time.sleep(0 if encodes else rng.uniform(0, 3))
        if workers := _at_work(build.pid):
            killed.append(rng.choice(workers))
            os.kill(killed[0], signal.SIGKILL)

    with _start(home, encoder=encoder) as build:
        killing = threading.Thread(target=kill_one)
        killing.start()
        _, said = build.communicate(timeout=900)
        killing.join()
    assert build.returncode == 0, said
    return bool(killed)


def test_an_index_of_three_workers_one_of_which_is_killed_is_that_of_one_machine(
    home: Path, whole: dict[str, object], identity: Identity
) -> None:
    assert _build_with_a_kill(home, 1)
    assert identity(home / "indexes" / NAME) == whole
    assert not list((home / "indexes" / NAME).rglob(FOLDER))


def test_vectors_of_three_workers_one_of_which_is_killed_are_those_of_one_machine(
    home: Path, whole: dict[str, object], identity: Identity
) -> None:
    encoder = str(home / "weights" / "tiny")
    build_index(home / "corpora", home / "indexes", NAME, encoder=encoder)
    vectors = _vectors(home)
    # Without them, which would be copied.
    build_index(home / "corpora", home / "indexes", NAME, encoder="none")
    assert _build_with_a_kill(home, 1, encoder)
    assert _vectors(home) == vectors
    assert identity(home / "indexes" / NAME) == whole
    assert not list((home / "indexes" / NAME).rglob(VECTOR_SHARDS))


def _vectors(home: Path) -> bytes:
    return (current_generation(home / "indexes" / NAME)[0] / VECTORS / VECTORS_FILE).read_bytes()


def _encoding_job(home: Path, folder: Path) -> RayJob:
    choice = choose_encoder(str(home / "weights" / "tiny"), home / "weights")
    settings = EncodingSettings(str(choice.weights.folder), str(home), choice.settings, choice.digest, 1)
    return RayJob("local", 2, str(folder), settings)


def test_a_worker_with_other_weights_ends_the_build(home: Path, tmp_path: Path) -> None:
    job = _encoding_job(home, tmp_path / "shards")
    job = msgspec.structs.replace(job, settings=msgspec.structs.replace(job.settings, digest="other"))
    with (
        RayWorkers(job) as workers,
        pytest.raises(
            IndexingError,
            match=r"has other weights in .*: copy the same "
            r"weights",
        ),
    ):
        list(workers.run([EncodingShard(0, 64, "x", 0)]))


def test_a_shard_that_ends_every_worker_ends_the_build(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", (sys.executable, "-c", DYING))
    job = _encoding_job(home, tmp_path / "shards")
    with RayWorkers(job) as workers, pytest.raises(IndexingError, match=r"The Ray cluster failed .*: run again; the"):
        list(workers.run([EncodingShard(0, 64, "x", 0)]))


@pytest.mark.soak
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: `make test-ray` has an environment")
def test_twenty_builds_with_a_killed_worker_are_the_same(
    home: Path, whole: dict[str, object], identity: Identity
) -> None:
    killed = 0
    for seed in range(20):
        killed += _build_with_a_kill(home, seed)
        assert identity(home / "indexes" / NAME) == whole, seed
    assert killed >= 15


def test_nothing_but_this_machine_is_connected_to(
    home: Path, tmp_path: Path, strace: str, whole: dict[str, object], identity: Identity
) -> None:
    assert strace
    with _start(home, *TRACED, "--output", str(tmp_path / "build.strace")) as build:
        _, said = build.communicate(timeout=900)
    assert build.returncode == 0, said
    calls, elsewhere = connections(tmp_path)
    assert calls > 100
    assert elsewhere == set()
    assert identity(home / "indexes" / NAME) == whole


def test_without_a_cluster_the_build_says_so(home: Path) -> None:
    from shrag.indexing.build.job import BuildOptions

    options = BuildOptions(ray="127.0.0.1:9")
    with pytest.raises(DependencyMissing, match=re.escape("No Ray cluster answers at 127.0.0.1:9 (")):
        build_index(home / "corpora", home / "indexes", NAME, force=True, options=options)
