"""``kill -9`` at any moment of an addition leaves the old corpus, or the new one, whole and readable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.manifest import read_manifest, read_previous
from shrag.corpora.store.open_corpus import open_corpus

pytestmark = pytest.mark.process

# One process imports everything, then forks a child for each moment, which kills itself at the n-th file operation
# (every open, rename, removal and new folder is an audit event) or at the n-th line read.
KILLED = """
import os, shutil, sys
from pathlib import Path
from shrag.corpora.ingest.add import add_corpus

home, source, steps = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"}

def add(die_at):
    seen = 0
    def step(event, *details):
        nonlocal seen
        if ".pyc" in str(details):
            return  # a module that is imported, such as pandas by pyarrow where it is installed
        if event in EVENTS or event == "line":
            seen += 1
            if seen == die_at:
                os.kill(os.getpid(), 9)
    sys.addaudithook(step)
    add_corpus(home / "corpora", "c", "scienceon", [source], replace=True, report=lambda stage, done: step("line"))

for die_at in range(1, 1000):
    child = os.fork()
    if not child:
        add(die_at)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    shutil.copytree(home / "corpora", home / f"after-{die_at}")
    if status == 0:
        break
    assert os.WTERMSIG(status) == 9, status
    shutil.rmtree(home / "corpora")
    shutil.copytree(home / "before", home / "corpora")
print(die_at)
"""


def _write(path: Path, docids: range, text: str) -> Path:
    lines = [
        json.dumps({"CN": f"D{n}", "title": f"제목 {n % 90}", "abstract": f"{text} {n % 90}. " * 9}) for n in docids
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return a folder with the corpus before, and after a kill at each moment; and how many moments there are."""
    home = tmp_path_factory.mktemp("killed")
    add_corpus(home / "before", "c", "scienceon", [_write(home / "old.jsonl", range(200), "옛 초록")])
    subprocess.run(["cp", "-r", str(home / "before"), str(home / "corpora")], check=True)
    source = _write(home / "new.jsonl", range(100, 400), "새 초록")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(home), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return home, int(done.stdout)


def test_a_killed_addition_leaves_the_old_corpus_or_the_new_one(killed: tuple[Path, int]) -> None:
    home, moments = killed
    assert moments > 15
    old, new = read_manifest(home / "before" / "c"), read_manifest(home / f"after-{moments}" / "c")
    assert (old.records, new.records) == (200, 300)
    seen = []
    for moment in range(1, moments + 1):
        manifest, records = open_corpus(home / f"after-{moment}", "c")
        assert manifest.fingerprint in {old.fingerprint, new.fingerprint}
        assert len(list(records)) == manifest.records
        seen.append(manifest.fingerprint == new.fingerprint)
    assert seen == sorted(seen)
    assert {True, False} == set(seen[:-1])


def test_what_a_killed_addition_left_behind_is_gone_after_the_next(killed: tuple[Path, int]) -> None:
    home, moments = killed
    final = None
    for moment in (*range(1, moments - 9, 5), *range(moments - 9, moments + 1)):
        manifest, changes, _ = add_corpus(
            home / f"after-{moment}", "c", "scienceon", [home / "new.jsonl"], replace=True
        )
        final = final or manifest.fingerprint
        assert manifest.fingerprint == final
        assert changes.added + changes.unchanged + changes.changed == 300
        previous = read_previous(home / f"after-{moment}" / "c")
        kept = {name for each in (manifest, previous) if each for name in (each.records_file, each.rejects_file)}
        assert {path.name for path in (home / f"after-{moment}" / "c").iterdir()} == {".lock", "manifest.json", *kept}
