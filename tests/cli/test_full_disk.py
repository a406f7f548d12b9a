"""Commands on a full disk, simulated by a limit on the size of files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.indexing.storage.generations import current_generation
from shrag.serving.engine import open_engine

pytestmark = pytest.mark.process

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"
LIMITED = (
    "import resource, sys; from shrag.cli.main import main\n"
    "limit = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)); main()"
)


def _run(home: Path, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    command = [sys.executable, "-c", LIMITED, str(limit), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("limit", [0, 100, 10_000, 100_000, 300_000])
def test_an_index_that_does_not_fit_is_one_sentence_and_leaves_the_old_one(
    tmp_path: Path, demo_home: Path, limit: int
) -> None:
    home = tmp_path / "home"
    subprocess.run(["cp", "-r", str(demo_home), str(home)], check=True)
    done = _run(home, limit, "index", "demo", "--force")
    assert (done.returncode, done.stdout) == (5, "")
    assert "The disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert current_generation(home / "indexes" / "demo")[1].generation == 1
    assert not list((home / "indexes" / "demo").glob("build-*"))
    engine = open_engine(home / "indexes", "demo", "그래핀")
    assert engine.search("그래핀").ranking.records
    engine.close()


@pytest.mark.parametrize("limit", [0, 1_000, 60_000])
def test_a_corpus_that_does_not_fit_is_one_sentence_and_leaves_nothing(tmp_path: Path, limit: int) -> None:
    done = _run(tmp_path, limit, "corpus", "add", "demo", "--format", "scienceon", str(DEMO / "records.jsonl"))
    assert (done.returncode, done.stdout) == (5, "")
    # On a busy machine there are lines of progress.
    (sentence,) = [line for line in done.stderr.splitlines() if not line.startswith("lines read: ")]
    assert "The disk is full" in sentence
    assert [path.name for path in (tmp_path / "corpora" / "demo").iterdir()] == [".lock"]
