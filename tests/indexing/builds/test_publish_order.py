"""R2: a loss of power at any call of a build leaves the old or the new generation, whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from shrag.indexing.build.builder import build_index
from shrag.indexing.errors import IndexingError
from shrag.indexing.storage.generations import check_files, current_generation
from tests.support.killed_build import ROOT
from tests.support.power_loss import Call, crash_states, read_calls, strace_command

pytestmark = pytest.mark.process

BUILD = (
    "import pytest, sys; from pathlib import Path\n"
    "from shrag.indexing.build.builder import build_index\n"
    "from tests.support.killed_build import shorten_builds; shorten_builds(pytest.MonkeyPatch())\n"
    "home = Path(sys.argv[1]); build_index(home / 'corpora', home / 'indexes', 'grown', force=True, encoder='lsa')"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None], strace: str) -> Path:
    """Return an index after its second build, with its content before in ``before`` and the calls in ``trace``."""
    home = tmp_path_factory.mktemp("power") / "home"
    grow_corpus(home, "grown", 40)
    build_index(home / "corpora", home / "indexes", "grown", encoder="none")
    index = home / "indexes" / "grown"
    shutil.copytree(index, home.parent / "before")
    command = [*strace_command(strace, home.parent / "trace"), sys.executable, "-c", BUILD, str(home)]
    subprocess.run(command, check=True, cwd=ROOT)
    return index


def _calls(index: Path) -> list[Call]:
    return read_calls(index.parents[2] / "trace", index)


def _generations(index: Path, calls: Sequence[Call], scratch: Path) -> list[int]:
    """Return the generation that is current after a loss of power, for each state that differs, in order."""
    found = []
    for states in crash_states(index, index.parents[2] / "before", calls, scratch):
        for state in states:
            folder, manifest = current_generation(state)
            check_files(folder, manifest)
            found.append(manifest.generation)
    return found


def test_r2_a_loss_of_power_at_any_call_of_a_build_leaves_the_old_or_the_new_generation(
    index: Path, tmp_path: Path
) -> None:
    calls = _calls(index)
    assert len(calls) > 100
    generations = _generations(index, calls, tmp_path)
    assert (generations[0], generations[-1]) == (1, 2)
    assert set(generations) == {1, 2}
    for states in crash_states(index, index.parents[2] / "before", calls, tmp_path):
        last = states
    assert last == []  # the command ends with everything on the disk


def _is_sync(call: Call, *, of: Callable[[Path], bool]) -> bool:
    return call.name in ("fsync", "fdatasync") and of(call.paths[0])


WITHOUT: dict[str, Callable[[Path], bool]] = {
    "the files": lambda path: path.suffix == ".json" and "index" in path.parts and "MANIFEST" not in path.name,
    "the folders": lambda path: path.name in ("vectors", "encoder"),
    "the manifest": lambda path: "MANIFEST" in path.name,
    "CURRENT": lambda path: "CURRENT" in path.name,
    "the folder of CURRENT": lambda path: path.name == "grown",
}


@pytest.mark.parametrize("what", WITHOUT)
def test_r2_without_one_of_the_syncs_a_loss_of_power_leaves_neither(index: Path, tmp_path: Path, what: str) -> None:
    calls = [call for call in _calls(index) if not _is_sync(call, of=WITHOUT[what])]
    assert len(calls) < len(_calls(index))
    try:
        generations = _generations(index, calls, tmp_path)
    except IndexingError:
        return
    assert generations[-1] == 1
