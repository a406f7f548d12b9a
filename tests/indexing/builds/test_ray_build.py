"""A build on Ray workers of this machine is that of one process, whatever happens to a worker (`make test-ray`)."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from shrag.indexing.build.builder import build_index
from shrag.indexing.build.cluster.analyzed_shards import FOLDER
from shrag.indexing.errors import DependencyMissing
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

RECORDS = 1_300
NAME = "grown"
Identity = Callable[[Path], dict[str, object]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None]) -> Path:
    """Return a home with a corpus and its index, built by processes of this machine."""
    home = tmp_path_factory.mktemp("ray")
    grow_corpus(home, NAME, RECORDS)
    build_index(home / "corpora", home / "indexes", NAME)
    return home


@pytest.fixture(scope="module")
def whole(home: Path, identity: Identity) -> dict[str, object]:
    """Return what that index is."""
    return identity(home / "indexes" / NAME)


def _start(home: Path, *before: str) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", RUN, "index", NAME, "--force", "--ray", "local"]
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    return subprocess.Popen(
        [*command, "--workers", "3", "--encoder", "none"], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
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


def _analyzing(pid: int) -> list[int]:
    """Return the workers of Ray below a process that analyze shards, by the names that Ray gives them."""
    found = []
    for each in _descendants(pid):
        try:
            name = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::") and b"_ShardAnalysis" in name:
            found.append(each)
    return found


def _kill_one(build: subprocess.Popen[str], rng: random.Random, killed: list[int]) -> None:
    """Kill a worker at some time after the first one is there."""
    while build.poll() is None and not _analyzing(build.pid):
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 3))
    if workers := _analyzing(build.pid):
        killed.append(rng.choice(workers))
        os.kill(killed[0], signal.SIGKILL)


def _build_with_a_kill(home: Path, seed: int) -> bool:
    """Build while a worker is killed; return whether one was there to be killed."""
    killed: list[int] = []
    with _start(home) as build:
        killing = threading.Thread(target=_kill_one, args=(build, random.Random(seed), killed))
        killing.start()
        _, said = build.communicate(timeout=500)
        killing.join()
    assert build.returncode == 0, said
    return bool(killed)


def test_an_index_of_three_workers_one_of_which_is_killed_is_that_of_one_machine(
    home: Path, whole: dict[str, object], identity: Identity
) -> None:
    assert _build_with_a_kill(home, 1)
    assert identity(home / "indexes" / NAME) == whole
    assert not list((home / "indexes" / NAME).rglob(FOLDER))


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
        _, said = build.communicate(timeout=500)
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
