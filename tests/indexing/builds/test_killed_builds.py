"""R1: a real build killed by SIGKILL anywhere, run again, ends in the index of one that was never interrupted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.indexing.build.builder import build_index
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import Term
from shrag.indexing.storage.generations import current_generation

pytestmark = pytest.mark.process

RECORDS = 1_300
NAME = "grown"

# The command itself, with smaller shards, and with a death sentence at the point that its first argument names.
KILLED = """
import os, sys, threading, time
from pathlib import Path
from shrag.indexing.storage import generations
from shrag.indexing.build import builder, checkpoints, derived_steps, records_step
from shrag.indexing.lexical.writer import LuceneIndexWriter

records_step._SMALLEST_SHARD = 256
point, _, place = sys.argv.pop(1).partition(":")

def die(*_):
    os.kill(os.getpid(), 9)

def before(owner, name, wanted=lambda *_: True):
    there = getattr(owner, name)
    setattr(owner, name, lambda *given, **named: die() if wanted(*given) else there(*given, **named))

def soon():
    threading.Thread(target=lambda: (time.sleep(float(place)), die())).start()
    return False

if point == "records":
    add, seen = LuceneIndexWriter.add, [0]
    def counted(records):
        for record in records:
            seen[0] += 1
            if seen[0] == int(place):
                die()
            yield record
    LuceneIndexWriter.add = lambda self, records: add(self, counted(records))
elif point == "commit":
    before(LuceneIndexWriter, "checkpoint", lambda *_: soon())
elif point == "merge":
    before(LuceneIndexWriter, "commit", lambda *_: soon())
elif point == "rejects":
    before(builder, "rejected_docids"); before(derived_steps, "write_rejects")
elif point == "words":
    before(derived_steps, "write_token_store")
elif point == "mark":
    before(checkpoints, "write_atomically", lambda path, _: path.name == f"{place}.done")
elif point == "glossary":
    before(derived_steps, "mine_glossary")
elif point == "seal":
    before(builder, "make_manifest")
elif point == "manifest":
    before(generations, "write_atomically", lambda path, _: path.name == "MANIFEST.json")
elif point == "rename":
    before(Path, "rename")
elif point == "current":
    before(generations, "write_atomically", lambda path, _: path.name == "CURRENT")
elif point == "clean":
    before(builder.shutil, "rmtree")

from shrag.cli.main import main
main()
"""

CHOSEN = (
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


def _start(home: Path, point: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", KILLED, point, "index", NAME, "--force"]
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _answers(home: Path) -> int:
    """Return which generation is current, having asked it something."""
    folder, manifest = current_generation(home / "indexes" / NAME)
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    assert reader.search([Term("graphen"), Term("학습")], 5)[1]
    reader.close()
    return manifest.generation


def test_r1_killed_at_every_chosen_point_in_turn_a_build_ends_as_if_it_never_was(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]]
) -> None:
    before = _answers(home)
    for point in CHOSEN:
        process = _start(home, point)
        _, said = process.communicate(timeout=120)
        assert process.returncode == -9, (point, said.decode())
        assert b"from the start" not in said, (point, said.decode())
        assert _answers(home) == (before + 1 if point == "clean" else before), point
    manifest, new = build_index(home / "corpora", home / "indexes", NAME)
    assert (manifest.generation, new) == (before + 1, False)
    assert identity(home / "indexes" / NAME) == whole
    assert not list((home / "indexes" / NAME).glob("build-*"))


def test_r1_a_resumed_build_repeats_less_than_one_shard(home: Path) -> None:
    process = _start(home, "records:700")
    process.communicate(timeout=120)
    assert process.returncode == -9
    code = (
        "import sys; from pathlib import Path\n"
        "from shrag.indexing.build import records_step; records_step._SMALLEST_SHARD = 256\n"
        "from shrag.indexing.build.builder import BuildOptions, build_index\n"
        "options = BuildOptions(report=lambda what, done: print(what, done))\n"
        "home = Path(sys.argv[1])\n"
        f"build_index(home / 'corpora', home / 'indexes', {NAME!r}, force=True, options=options)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    first = int(done.stdout.splitlines()[0].removeprefix("records indexed "))
    assert 512 < first <= 544


def test_no_process_outlives_a_killed_build(home: Path) -> None:
    process = _start(home, "records:500")
    process.communicate(timeout=120)
    deadline = time.monotonic() + 20
    while left := _processes_of(home):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_r1_killed_at_10_random_moments_a_build_ends_as_if_it_never_was(
    home: Path, whole: dict[str, object], identity: Callable[[Path], dict[str, object]]
) -> None:
    _kill_at_random(home, whole, identity, 10)


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
        process = _start(home, "nowhere")
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
