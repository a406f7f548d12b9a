"""A generation of an index carried as one file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.store.archive import write_archive
from shrag.corpora.store.file_checksum import compute_checksum
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.maintenance import transfer
from shrag.indexing.maintenance.transfer import archived_manifest, export_index, import_index
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE
from shrag.indexing.storage.generations import current_generation, list_generations
from shrag.indexing.storage.manifest import encode_manifest
from shrag.serving.engine import open_engine
from tests.indexing.storage.test_manifest import SMALL


@pytest.fixture
def carried(demo_home: Path, tmp_path: Path) -> Path:
    path = tmp_path / "demo.tar"
    export_index(demo_home / "indexes", "demo", path)
    return path


def test_an_index_arrives_whole_and_finds_what_it_found(demo_home: Path, carried: Path, tmp_path: Path) -> None:
    there = tmp_path / "indexes"
    assert import_index(there, carried).generation == 1
    assert verify_index(there, "demo").problems == ()
    found = []
    for indexes in (demo_home / "indexes", there):
        engine = open_engine(indexes, "demo")
        found.append([(each.record.docid, each.score) for each in engine.search("젖소의 열 스트레스")])
        engine.close()
    assert found[0] == found[1]
    again = tmp_path / "again.tar"
    export_index(there, "demo", again)
    assert again.read_bytes() == carried.read_bytes()


def test_each_import_is_the_next_generation_and_two_are_kept(
    carried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "_current_manifest", lambda index: None)  # as if each were another index
    there = tmp_path / "indexes"
    for number in (1, 2, 3):
        assert import_index(there, carried, "other").generation == number
    assert list_generations(there / "other") == [2, 3]
    assert verify_index(there, "other").problems == ()
    assert sorted(path.name for path in (there / "other").iterdir()) == [
        ".lock", ".verified", "CURRENT", "gen-000002", "gen-000003",
    ]  # fmt: skip


def test_what_is_current_already_is_not_published_again_unless_it_is_damaged(carried: Path, tmp_path: Path) -> None:
    there = tmp_path / "indexes"
    first = import_index(there, carried)
    assert import_index(there, carried) == first
    assert sorted(path.name for path in (there / "demo").iterdir()) == [
        ".lock", ".verified", "CURRENT", "gen-000001",
    ]  # fmt: skip
    file = there / "demo" / "gen-000001" / min(first.files)
    file.write_bytes(file.read_bytes() + b"x")
    assert import_index(there, carried).generation == 2
    assert verify_index(there, "demo").problems == ()


def test_a_damaged_generation_is_not_exported(demo_home: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_home / "indexes", tmp_path / "indexes")
    largest = max((tmp_path / "indexes").rglob("*.*"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-1])
    with pytest.raises(IndexDamaged):
        export_index(tmp_path / "indexes", "demo", tmp_path / "b.tar")
    with pytest.raises(IndexMissing):
        export_index(tmp_path / "indexes", "nothing", tmp_path / "b.tar")
    assert not list(tmp_path.glob("*b.tar*"))


def test_an_index_of_another_analyzer_is_refused_and_nothing_is_published(
    carried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "analyzer_fingerprint", lambda dictionary: "another")
    with pytest.raises(IndexMismatch, match="was analyzed by"):
        import_index(tmp_path / "indexes", carried)
    assert sorted(path.name for path in (tmp_path / "indexes" / "demo").iterdir()) == [".lock"]


def test_a_corpus_is_no_index(tmp_path: Path, demo_home: Path) -> None:
    from shrag.corpora.store.transfer import export_corpus

    export_corpus(demo_home / "corpora", "demo", tmp_path / "corpus.tar")
    with pytest.raises(CorpusError, match="holds the corpus demo: use `shrag corpus import`"):
        import_index(tmp_path / "indexes", tmp_path / "corpus.tar")


def test_an_archive_must_have_the_files_that_its_manifest_names_and_no_others(tmp_path: Path) -> None:
    generation = tmp_path / "gen-000007"
    generation.mkdir()
    for name, text in (("golden.json", "[]"), ("stray", "x"), (MANIFEST_CHECKSUM_FILE, "")):
        (generation / name).write_text(text)
    files = {"golden.json": compute_checksum(generation / "golden.json")}
    manifest = msgspec.structs.replace(SMALL, generation=7, files=files, analyzer=analyzer_fingerprint())
    (generation / MANIFEST_FILE).write_bytes(encode_manifest(manifest))

    def archive(*names: str) -> Path:
        path = tmp_path / f"{'-'.join(names)}.tar"
        write_archive(path, "index", "demo", {name: generation / name for name in names})
        return path

    complete = archive(MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, "golden.json")
    assert archived_manifest(complete) == ("demo", manifest)
    others = "has other files than the manifest in it names: export the index again"
    for names, message in (
        ((MANIFEST_CHECKSUM_FILE, "golden.json"), r"has no MANIFEST\.json: export the index again"),
        ((MANIFEST_FILE, "golden.json"), r"has no MANIFEST\.json: export the index again"),
        ((MANIFEST_CHECKSUM_FILE, MANIFEST_FILE), others),
        ((MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, "golden.json", "stray"), others),
    ):
        path = archive(*names)
        with pytest.raises(IndexDamaged, match=message):
            archived_manifest(path)
        with pytest.raises(IndexDamaged, match=message):
            import_index(tmp_path / "indexes", path)
    assert not list((tmp_path / "indexes").glob("*/gen-*"))
    assert import_index(tmp_path / "indexes", complete, "named").generation == 1
    assert current_generation(tmp_path / "indexes" / "named")[1].generation == 1
    (generation / "golden.json").write_text("{}")  # of the same size
    complete.unlink()
    with pytest.raises(IndexDamaged, match=others):
        archived_manifest(archive(MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, "golden.json"))


@pytest.mark.process
def test_an_import_that_is_killed_leaves_the_old_index_and_the_next_one_succeeds(
    carried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "indexes"
    import_index(there, carried)
    code = (
        "import os, sys; from pathlib import Path; from shrag.corpora.store import archive\n"
        "from shrag.indexing.maintenance import transfer\n"
        "point = sys.argv[3]\n"
        "transfer._current_manifest = lambda index: None\n"  # as if it were another index
        "def die(*_): os.kill(os.getpid(), 9)\n"
        "if point == 'check': transfer._checked = die\n"
        "elif point == 'publish': transfer.publish = die\n"
        "else:\n"
        "    compared, seen = archive._compared, [0]\n"
        "    def counted(*given):\n"
        "        seen[0] += 1\n"
        "        if seen[0] == int(point): die()\n"
        "        yield from compared(*given)\n"
        "    archive._compared = counted\n"
        "transfer.import_index(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    for point in ("1", "3", "9", "check", "publish"):
        killed = subprocess.run([sys.executable, "-c", code, str(there), str(carried), point], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert current_generation(there / "demo")[1].generation == 1
    monkeypatch.setattr(transfer, "_current_manifest", lambda index: None)
    assert import_index(there, carried).generation == 2
    assert sorted(path.name for path in (there / "demo").iterdir()) == [
        ".lock", ".verified", "CURRENT", "gen-000001", "gen-000002",
    ]  # fmt: skip


@pytest.mark.process
@pytest.mark.soak
def test_fifty_imports_killed_at_random_moments_leave_the_old_or_the_new_index(carried: Path, tmp_path: Path) -> None:
    import random

    seed = int(os.environ.get("SHRAG_SEED", random.randrange(10**6)))
    print(f"SHRAG_SEED={seed}")
    chance = random.Random(seed)
    there = tmp_path / "indexes"
    import_index(there, carried)
    code = (
        "import sys; from pathlib import Path; from shrag.indexing.maintenance import transfer\n"
        "transfer._current_manifest = lambda index: None\n"  # as if it were another index
        "print('begins', flush=True); transfer.import_index(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    for _ in range(50):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(there), str(carried)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.4))
            process.kill()
        assert verify_index(there, "demo").problems == (), seed
    import_index(there, carried)
    assert verify_index(there, "demo").problems == ()
