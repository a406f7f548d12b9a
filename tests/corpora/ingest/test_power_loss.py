"""A loss of power at any call that changes a corpus leaves the old one or the new one, whole."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.manifest import MANIFEST_FILE, read_manifest, read_previous
from shrag.corpora.store.open_corpus import check_files, open_corpus
from shrag.corpora.store.transfer import export_corpus
from tests.support.power_loss import Call, crash_states, read_calls, strace_command

pytestmark = pytest.mark.process

COMMAND = (
    "import sys; from pathlib import Path; from shrag.corpora.ingest.add import add_corpus\n"
    "from shrag.corpora.store.transfer import import_corpus\n"
    "from shrag.corpora.store.versions import remove_corpus, undo_change\n"
    "home = Path(sys.argv[1]); corpora = home / 'corpora'; new = [home / 'new.jsonl']\n"
)
COMMANDS = {
    "add": "add_corpus(corpora, 'c', 'scienceon', new, max_rejects=1)",
    "replace": "add_corpus(corpora, 'c', 'scienceon', new, max_rejects=1, replace=True)",
    "import": "import_corpus(corpora, home / 'new.tar', 'c', replace=True)",
    "undo": "undo_change(corpora, 'c')",
}


@pytest.fixture(scope="module", params=COMMANDS)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, strace: str) -> Path:
    """Return a corpus after a change from 3 to 5 records, with its content before and the calls in ``trace``."""
    home = tmp_path_factory.mktemp("power")
    for name, count in (("old", 3), ("new", 5)):
        records = [{"CN": f"D{n}", "title": f"{name} {n}", "abstract": f"{name} 초록 {n}. " * 5} for n in range(count)]
        (home / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records) + "no record\n")
    if request.param == "import":
        add_corpus(home / "other", "c", "scienceon", [home / "new.jsonl"], max_rejects=1)
        export_corpus(home / "other", "c", home / "new.tar")
    if request.param == "undo":
        add_corpus(home / "corpora", "c", "scienceon", [home / "new.jsonl"], max_rejects=1)
    add_corpus(home / "corpora", "c", "scienceon", [home / "old.jsonl"], max_rejects=1, replace=True)
    (home / "kind").write_text(request.param)
    corpus = home / "corpora" / "c"
    shutil.copytree(corpus, home / "before")
    command = [sys.executable, "-c", COMMAND + COMMANDS[request.param], str(home)]
    subprocess.run([*strace_command(strace, home / "trace"), *command], check=True)
    return corpus


def _calls(corpus: Path) -> list[Call]:
    return read_calls(corpus.parents[1] / "trace", corpus)


def _records(corpus: Path, calls: Sequence[Call], scratch: Path) -> list[int]:
    """Return the number of records after a loss of power, for each state that differs, in order."""
    found = []
    for states in crash_states(corpus, corpus.parents[1] / "before", calls, scratch):
        for state in states:
            manifest = read_manifest(state)
            assert (state / manifest.rejects_file).read_text()
            if previous := read_previous(state):
                check_files(state, previous)
            home = scratch / "home"
            home.mkdir()
            state.rename(home / "c")
            found.append(len(list(open_corpus(home, "c")[1])))
            (home / "c").rename(state)
            home.rmdir()
            assert found[-1] == manifest.records
    return found


def test_a_loss_of_power_at_any_call_leaves_the_old_or_the_new_corpus(corpus: Path, tmp_path: Path) -> None:
    records = _records(corpus, _calls(corpus), tmp_path)
    assert (records[0], records[-1], set(records)) == (3, 5, {3, 5})


WITHOUT: dict[str, Callable[[Path], bool]] = {
    "the records": lambda path: path.name.startswith("records"),
    "the rejects": lambda path: path.name.startswith("rejects"),
    "the manifest": lambda path: "MANIFEST" in path.name.upper(),
    "the folder": lambda path: path.name == "c",
}


@pytest.mark.parametrize("what", WITHOUT)
def test_without_one_of_the_syncs_a_loss_of_power_leaves_neither(corpus: Path, tmp_path: Path, what: str) -> None:
    if (corpus.parents[1] / "kind").read_text() == "undo":
        pytest.skip("an undo writes the manifest alone, and the one before stays beside it")
    calls = [
        call for call in _calls(corpus) if not (call.name in ("fsync", "fdatasync") and WITHOUT[what](call.paths[0]))
    ]
    assert len(calls) < len(_calls(corpus))
    try:
        records = _records(corpus, calls, tmp_path)
    except (CorpusError, AssertionError, OSError):
        return
    assert records[-1] == 3


def test_a_loss_of_power_at_any_call_of_a_removal_leaves_the_corpus_or_none(tmp_path: Path, strace: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "new.jsonl").write_text('{"CN": "D1", "title": "t", "abstract": "초록"}\n')
    add_corpus(home / "corpora", "c", "scienceon", [home / "new.jsonl"])
    folder = home / "corpora"
    shutil.copytree(folder, home / "before")
    command = [sys.executable, "-c", COMMAND + "remove_corpus(corpora, 'c')", str(home)]
    subprocess.run([*strace_command(strace, home / "trace"), *command], check=True)
    left = []
    for states in crash_states(folder, home / "before", read_calls(home / "trace", folder), tmp_path):
        for state in states:
            left.append((state / "c" / MANIFEST_FILE).exists())
            if left[-1]:
                assert check_files(state / "c", read_manifest(state / "c")) == 1
    assert (left[0], left[-1], set(left)) == (True, False, {True, False})
