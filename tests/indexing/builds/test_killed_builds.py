"""R1: a real build killed by SIGKILL anywhere, run again, ends in the index of one that was never interrupted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.indexing.build import records_step
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import Term
from shrag.indexing.storage.generations import current_generation
from tests.support.killed_build import start_killed_build

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("short_builds")]

RECORDS = 1_300
NAME = "grown"

CHOSEN = ("records:300", "commit:0.002", "merge:0.01", "mark:records", "glossary", "seal", "current", "clean")
"""`make soak` kills at all."""

ALL = (
    "records:100", "records:300", "commit:0.002", "records:400", "merge:0.01", "mark:records", "rejects", "words",
    "mark:tokens", "glossary", "mark:glossary", "seal", "manifest", "rename", "current", "clean",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None]) -> Path:
    """Return a home with a corpus and its index, built without interruption."""
    home = tmp_path_factory.mktemp("killed")
    grow_corpus(home, NAME, RECORDS)
    build_index(home / "corpora", home / "indexes", NAME)
    return home


@pytest.fixture(scope="module")
def whole(home: Path, identity: Callable[[Path], dict[str, object]]) -> dict[str, object]:
    """Return what the uninterrupted index is."""
    return identity(home / "indexes" / NAME)


def _answers(home: Path) -> int:
    """Return which generation is current, having asked it something."""
    folder, manifest = current_generation(home / "indexes" / NAME)
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    assert reader.search([Term("graphen"), Term("학습")], 5)[1]
    reader.close()
    return manifest.generation


@pytest.mark.parametrize("points", [CHOSEN, pytest.param(ALL, marks=pytest.mark.soak)], ids=["chosen", "all"])
def test_r1_killed_at_every_chosen_point_in_turn_a_build_ends_as_if_it_never_was(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]], points: tuple[str, ...]
) -> None:
    before = _answers(home)
    for point in points:
        process = start_killed_build(home, NAME, point)
        _, said = process.communicate(timeout=120)
        assert process.returncode == -9, (point, said.decode())
        assert b"from the start" not in said, (point, said.decode())
        assert _answers(home) == (before + 1 if point == "clean" else before), point
    manifest, new = build_index(home / "corpora", home / "indexes", NAME)
    assert (manifest.generation, new) == (before + 1, False)
    assert identity(home / "indexes" / NAME) == whole
    assert not list((home / "indexes" / NAME).glob("build-*"))


def test_r1_a_resumed_build_repeats_less_than_one_shard(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start_killed_build(home, NAME, "records:700")
    process.communicate(timeout=120)
    assert process.returncode == -9
    monkeypatch.setattr(records_step, "_SMALLEST_SHARD", 256)
    reports: list[tuple[str, int]] = []
    options = BuildOptions(report=lambda what, done: reports.append((what, done)))
    build_index(home / "corpora", home / "indexes", NAME, force=True, options=options)
    what, first = reports[0]
    assert what == "records indexed"
    assert 512 < first <= 544


def test_no_process_outlives_a_killed_build(home: Path) -> None:
    process = start_killed_build(home, NAME, "records:500")
    process.communicate(timeout=120)
    deadline = time.monotonic() + 20
    while left := _processes_of(home):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_r1_killed_at_2_random_moments_a_build_ends_as_if_it_never_was(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]]
) -> None:
    _kill_at_random(home, whole, identity, 2)


@pytest.mark.soak
def test_r1_killed_at_200_random_moments_a_build_ends_as_if_it_never_was(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]]
) -> None:
    _kill_at_random(home, whole, identity, 200)


def _kill_at_random(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]], times: int
) -> None:
    """Kill builds so many times, each at another moment, and go on with them, until one is done after the last."""
    seed = int(os.environ.get("SHRAG_SEED", random.randrange(10**6)))
    print(f"SHRAG_SEED={seed}")
    rng = random.Random(seed)
    kills, longest, generation = 0, 3.0, _answers(home)
    while kills < times:
        started = time.monotonic()
        process = start_killed_build(home, NAME, "nowhere")
        try:
            process.communicate(timeout=rng.uniform(0.2, longest))
            longest = time.monotonic() - started
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        now = _answers(home)
        assert now in (generation, generation + 1), seed
        if now == generation + 1:
            assert identity(home / "indexes" / NAME) == whole, seed
        generation = now
    build_index(home / "corpora", home / "indexes", NAME, force=True)
    assert identity(home / "indexes" / NAME) == whole, seed


def _processes_of(home: Path) -> list[int]:
    """Return the worker processes that were started for a build in ``home``."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"shrag.indexing.build.worker" in (path / "cmdline").read_bytes() and (
                str(home).encode() in (path / "environ").read_bytes()
            ):
                found.append(int(path.name))
        except OSError:
            continue
    return found
