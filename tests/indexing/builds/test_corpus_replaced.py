"""A corpus that is replaced while it is indexed: the build reads the version with which it began."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.corpora.store.manifest import read_previous
from shrag.corpora.store.open_corpus import check_corpus, open_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import update_index
from shrag.indexing.build.job import BuildOptions
from tests.support.killed_build import shorten_builds

pytestmark = [pytest.mark.process, pytest.mark.slow]

Grow = Callable[[Path, str, int], None]


def _records_files(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "corpora" / "c").glob("records-*"))


@pytest.mark.parametrize("update", [False, True])
def test_a_corpus_that_is_replaced_at_every_step_of_a_build_does_not_disturb_it(
    tmp_path: Path, grow_corpus: Grow, monkeypatch: pytest.MonkeyPatch, update: bool
) -> None:
    shorten_builds(monkeypatch)
    corpora, indexes = tmp_path / "corpora", tmp_path / "indexes"
    if update:
        grow_corpus(tmp_path, "c", 20)
        build_index(corpora, indexes, "c")
    grow_corpus(tmp_path, "c", 30)
    first = open_corpus(corpora, "c")[0]
    stages: dict[str, None] = {}

    def replace(stage: str, _: int) -> None:
        if stage not in stages:
            stages[stage] = None
            grow_corpus(tmp_path, "c", 30 + len(stages))

    options = BuildOptions(workers=1, report=replace)
    if update:
        manifest, _ = update_index(corpora, indexes, "c", options=options)
    else:
        manifest, _ = build_index(corpora, indexes, "c", options=options)

    assert "checksums" in stages
    assert manifest.records == 30
    assert manifest.source.fingerprint == first.fingerprint
    # The versions that the build kept are removed by the next change, even one that changes nothing; what an undo
    # returns to stays.
    assert first.records_file in _records_files(tmp_path)
    grow_corpus(tmp_path, "c", 30 + len(stages))
    assert _records_files(tmp_path) == _versions(corpora)
    assert check_corpus(corpora, "c") == 30 + len(stages)


def test_a_killed_reader_keeps_no_version(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "c", 3)
    code = (
        "import sys; from pathlib import Path; from shrag.corpora.store.open_corpus import hold_corpus\n"
        "with hold_corpus(Path(sys.argv[1]), 'c'): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "corpora")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        grow_corpus(tmp_path, "c", 4)
        grow_corpus(tmp_path, "c", 5)
        assert len(_records_files(tmp_path)) == 3
        reader.kill()
    grow_corpus(tmp_path, "c", 6)
    assert len(_records_files(tmp_path)) == 2
    assert _records_files(tmp_path) == _versions(tmp_path / "corpora")


def _versions(corpora: Path) -> list[str]:
    """Return the records files of the current version of the corpus and of the one before."""
    before = read_previous(corpora / "c")
    assert before is not None
    return sorted([open_corpus(corpora, "c")[0].records_file, before.records_file])
