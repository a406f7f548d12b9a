from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.checksums import MANIFEST_FILE
from shrag.indexing.storage.generations import CURRENT_FILE, current_generation, recovery_hint
from tests.conftest import DEMO


@pytest.fixture
def home(tmp_path: Path, demo_home: Path) -> Path:
    """Return a copy of the demonstration home that a test may damage."""
    subprocess.run(["cp", "-r", str(demo_home), str(tmp_path / "copy")], check=True)
    return tmp_path / "copy"


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with an index of the first records. Tests only read it."""
    home = tmp_path_factory.mktemp("few")
    lines = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()[:12]
    (home / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    add_corpus(home / "corpora", "demo", "scienceon", [home / "records.jsonl"])
    build_index(home / "corpora", home / "indexes", "demo")
    return home


@pytest.fixture
def small_home(few: Path, tmp_path: Path) -> Path:
    """Return a copy of it, to build in."""
    return Path(shutil.copytree(few, tmp_path / "small"))


def test_the_index_accounts_for_every_line_of_its_sources(demo_home: Path) -> None:
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    assert folder.name == "gen-000001"
    (account,) = manifest.source.sources
    assert manifest.records == manifest.source.records == account.records == 235
    assert account.lines == account.records + account.rejected + account.duplicates + account.blank
    assert (manifest.bm25.k1, manifest.bm25.b, manifest.bm25.title_boost) == (0.9, 0.4, 0.2)
    assert {"lucene/segments_1", "tokens.sqlite"} <= manifest.files.keys()


def test_a_missing_index_is_answered_with_the_command_and_those_there_are(home: Path) -> None:
    with pytest.raises(IndexMissing, match=r"no index 'other' .*existing indexes: demo.*`shrag index other`"):
        open_index(home / "indexes", "other")
    (home / "indexes" / "demo" / CURRENT_FILE).write_text("gen-1\n")
    with pytest.raises(IndexDamaged, match="does not name a generation"):
        open_index(home / "indexes", "demo")


def test_an_index_of_another_analyser_or_format_is_refused_with_what_to_do(home: Path) -> None:
    changes: list[tuple[dict[str, object], str]] = [
        ({"analyzer": "kiwipiepy 0.1"}, r"analyzed by \[kiwipiepy 0.1\].*build it again with `shrag index demo`"),
        (
            {"format_version": 99},
            r"Index demo was built by SHRAG 0.1.0 in format 99, this is SHRAG .* reads format 6: build",
        ),
    ]
    for change, problem in changes:
        _rewrite_manifest(home / "indexes" / "demo", change)
        with pytest.raises(IndexMismatch, match=problem):
            open_index(home / "indexes", "demo")


def test_another_generation_is_only_offered_where_there_is_one(tmp_path: Path) -> None:
    index = tmp_path / "demo"
    (index / "gen-000001").mkdir(parents=True)
    assert recovery_hint(index) == "build it again with `shrag index demo`"
    (index / "gen-000002").mkdir()
    assert recovery_hint(index).endswith(", or use another generation with `shrag index rollback demo`")


def test_lucene_files_of_another_corpus_are_refused(home: Path) -> None:
    index = home / "indexes" / "demo"
    folder, manifest = current_generation(index)
    source = json.loads((folder / MANIFEST_FILE).read_text())["source"] | {"fingerprint": "0" * 64}
    _rewrite_manifest(index, {"source": source})
    with pytest.raises(IndexDamaged, match="which do not fit its manifest"):
        open_index(home / "indexes", "demo")
    assert manifest.source.fingerprint != "0" * 64


@pytest.mark.slow
def test_building_again_is_not_needed_until_something_changed(small_home: Path) -> None:
    before = current_generation(small_home / "indexes" / "demo")[1]
    assert build_index(small_home / "corpora", small_home / "indexes", "demo") == (before, False)
    after, new = build_index(small_home / "corpora", small_home / "indexes", "demo", force=True)
    assert (new, after.generation) == (True, 2)
    assert after.source == before.source


@pytest.mark.slow
def test_two_generations_are_kept_and_no_more(small_home: Path) -> None:
    for _ in range(3):
        build_index(small_home / "corpora", small_home / "indexes", "demo", force=True)
    names = sorted(path.name for path in (small_home / "indexes" / "demo").iterdir())
    assert names == [".lock", ".verified", "CURRENT", "gen-000003", "gen-000004"]


@pytest.mark.slow
def test_an_open_index_answers_on_after_its_files_are_gone(small_home: Path) -> None:
    index = open_index(small_home / "indexes", "demo")
    shutil.rmtree(small_home / "indexes" / "demo" / "gen-000001")
    (found,) = index.store.fetch(["DEMO-AI-001"])
    assert found is not None
    index.close()


@pytest.mark.process
def test_a_killed_build_publishes_nothing_and_the_next_one_succeeds(small_home: Path) -> None:
    code = (
        "import sys, os; from pathlib import Path; from shrag.indexing.build.builder import BuildOptions, build_index\n"
        "home = Path(sys.argv[1]); stage = sys.argv[2]\n"
        "options = BuildOptions(report=lambda what, done: os.kill(os.getpid(), 9) if what == stage else None)\n"
        "build_index(home / 'corpora', home / 'indexes', 'demo', force=True, options=options)"
    )
    for stage in ("records indexed", "checksums"):
        killed = subprocess.run([sys.executable, "-c", code, str(small_home), stage], check=False)
        assert killed.returncode == -9
        assert current_generation(small_home / "indexes" / "demo")[1].generation == 1
        assert list((small_home / "indexes" / "demo").glob("build-*"))
    manifest, _ = build_index(small_home / "corpora", small_home / "indexes", "demo", force=True)
    assert manifest.generation == 2
    assert not list((small_home / "indexes" / "demo").glob("build-*"))


def test_a_corpus_that_is_not_there_cannot_be_indexed(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="There is no corpus 'nothing'"):
        build_index(tmp_path, tmp_path, "nothing")


def test_a_corpus_with_fewer_records_than_it_says_is_not_published(home: Path) -> None:
    path = home / "corpora" / "demo" / "manifest.json"
    path.write_text(path.read_text().replace('"records": 235', '"records": 236', 1))
    with pytest.raises((CorpusError, IndexingError), match=r"counts do not add up|lists 236 records, but .* has 235"):
        build_index(home / "corpora", home / "indexes", "demo", force=True)
    assert current_generation(home / "indexes" / "demo")[1].generation == 1


def _rewrite_manifest(index: Path, change: dict[str, object]) -> None:
    """Change the manifest and publish it as it then is, as another version of SHRAG would have."""
    import hashlib

    folder = index / "gen-000001"
    manifest = json.loads((folder / MANIFEST_FILE).read_text()) | change
    data = json.dumps(manifest).encode()
    (folder / MANIFEST_FILE).write_bytes(data)
    (index / CURRENT_FILE).write_text(f"gen-000001 {hashlib.sha256(data).hexdigest()}\n")
