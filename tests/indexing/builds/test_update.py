"""An updated index is the one that building from nothing gives, but for what it cost."""

from __future__ import annotations

import errno
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.files import DiskFull
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import Record, RecordChanges
from shrag.corpora.store.parquet import read_parquet, record_digest
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import IndexedDigests, update_index
from shrag.indexing.build.worker import AnalyzedBatch
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.query import any_of
from shrag.indexing.storage.generations import current_generation, list_generations

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_builds")]

WORDS = ["그래핀", "탄소", "필름을", "차폐", "carbon", "model", "learning", "film", "2차원", "GPS"]

SMALL = {
    "a": ("그래핀", "탄소 필름"),
    "b": ("carbon", "film"),
    "c": ("모형", "model"),
    "d": ("x", "carbon carbon"),
}

Contents = dict[str, tuple[str, str]]
"""The corpus as a dict: docid → title and text."""


def _add(home: Path, contents: Contents) -> None:
    path = home / "records.jsonl"
    lines = (json.dumps({"docid": docid, "title": title, "text": text}) for docid, (title, text) in contents.items())
    path.write_text("\n".join(lines), encoding="utf-8")
    add_corpus(home / "corpora", "c", "miracl", [path], replace=True)


def _record(chance: random.Random) -> tuple[str, str]:
    # Few words and short texts: many records share scores, so ties are met everywhere.
    return " ".join(chance.choices(WORDS, k=2)), " ".join(chance.choices(WORDS, k=chance.randrange(1, 6)))


def _change(contents: Contents, chance: random.Random) -> tuple[Contents, RecordChanges]:
    """Return the corpus after a few random additions, changes and deletions, in an order of its own."""
    after = dict(contents)
    deleted = chance.sample(sorted(after), chance.randrange(4))
    for docid in deleted:
        del after[docid]
    changed = chance.sample(sorted(after), chance.randrange(4))
    for docid in changed:
        after[docid] = (after[docid][0], after[docid][1] + " carbon")
    added = [f"new#{chance.randrange(10**6)}" for _ in range(chance.randrange(4))]
    for docid in added:
        after[docid] = _record(chance)
    order = chance.sample(sorted(after), len(after))
    unchanged = len(contents) - len(deleted) - len(changed)
    return {docid: after[docid] for docid in order}, RecordChanges(len(added), len(changed), len(deleted), unchanged)


def _reader(home: Path, indexes: str) -> LuceneSearcher:
    folder, manifest = current_generation(home / indexes / "c")
    return LuceneSearcher(folder / FOLDER, manifest.bm25)


def _answers(reader: LuceneSearcher, chance: random.Random) -> list[object]:
    terms = ["그래핀", "탄소", "필름", "차폐", "carbon", "model", "learn", "film", "2", "차원", "gps", "missing"]
    queries = [any_of(chance.choices(terms, k=chance.randrange(1, 5))) for _ in range(40)]
    hits = [reader.search(queries, k) for k in (1, 3, 10, 100)]
    rounded = [[(hit.docid, f"{hit.score:.6f}") for hit in found] for batch in hits for found in batch]
    return [rounded, reader.statistics(terms)]


def _contents(reader: LuceneSearcher) -> dict[str, AnalyzedRecord]:
    return {found.record.docid: found for found in reader.documents(range(reader.count()))}


def _expect_the_same(home: Path, seed: int) -> None:
    """Build the corpus from nothing elsewhere, and expect the updated index to be no different from it."""
    shutil.rmtree(home / "rebuilt", ignore_errors=True)
    build_index(home / "corpora", home / "rebuilt", "c")
    updated, rebuilt = _reader(home, "indexes"), _reader(home, "rebuilt")
    assert _contents(updated) == _contents(rebuilt)
    assert _answers(updated, random.Random(seed)) == _answers(rebuilt, random.Random(seed))
    updated.close()
    rebuilt.close()


def _random_updates(home: Path, steps: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    contents = {f"d{number:03}": _record(chance) for number in range(60)}
    _add(home, contents)
    build_index(home / "corpora", home / "indexes", "c")
    for step in range(steps):
        contents, expected = _change(contents, chance)
        _add(home, contents)
        manifest, changes = update_index(home / "corpora", home / "indexes", "c")
        assert (changes, manifest.records) == (expected, len(contents))
        if step % 3 == 2 or step == steps - 1:
            _expect_the_same(home, seed + step)
            assert verify_index(home / "indexes", "c").problems == ()


def test_updates_rank_and_score_as_building_from_nothing_does(tmp_path: Path) -> None:
    _random_updates(tmp_path, 3, seed=7)


@pytest.mark.soak
def test_many_updates_rank_and_score_as_building_from_nothing_does(tmp_path: Path) -> None:
    for _ in range(5):
        seed = random.SystemRandom().randrange(2**32)
        home = tmp_path / str(seed)
        home.mkdir()
        _random_updates(home, 20, seed)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, short_builds: None) -> Path:
    """Return a home with a small index."""
    home = tmp_path_factory.mktemp("built")
    _add(
        home,
        dict(SMALL),
    )
    build_index(home / "corpora", home / "indexes", "c")
    return home


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    """Return a copy of it that a test may change."""
    shutil.copytree(built, tmp_path / "copy")
    return tmp_path / "copy"


def test_an_update_that_has_no_room_is_refused_before_it_begins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(home, {**SMALL, "e": ("new", "record")})
    usage = shutil.disk_usage(home)
    monkeypatch.setattr(
        "shrag.indexing.build.checkpoints.shutil.disk_usage", lambda path: usage._replace(free=1_300_000)
    )
    with pytest.raises(DiskFull, match=r"building index c takes about [0-9,]+ bytes and 1,300,000 are free"):
        update_index(home / "corpora", home / "indexes", "c")
    assert list_generations(home / "indexes" / "c") == [1]
    monkeypatch.undo()
    assert update_index(home / "corpora", home / "indexes", "c")[1] == RecordChanges(1, 0, 0, len(SMALL))


def test_where_files_cannot_be_linked_they_are_copied(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "this file system has no links", source)

    _add(home, {**SMALL, "e": ("new", "record")})
    monkeypatch.setattr("shrag.indexing.build.incremental.os.link", refuse)
    assert update_index(home / "corpora", home / "indexes", "c")[1] == RecordChanges(1, 0, 0, len(SMALL))
    assert verify_index(home / "indexes", "c").problems == ()


def test_where_nothing_changed_nothing_is_written(home: Path) -> None:
    before = current_generation(home / "indexes" / "c")[1]
    assert update_index(home / "corpora", home / "indexes", "c") == (before, None)
    assert list_generations(home / "indexes" / "c") == [1]


def test_deleted_records_leave_no_trace_in_the_statistics(home: Path) -> None:
    _add(home, {"a": SMALL["a"], "c": SMALL["c"]})
    _, changes = update_index(home / "corpora", home / "indexes", "c")
    assert changes == RecordChanges(added=0, changed=0, deleted=2, unchanged=2)
    reader = _reader(home, "indexes")
    assert (reader.count(), reader.distinct_docids()) == (2, 2)
    assert reader.statistics(["carbon"]).contents.document_frequencies == {"carbon": 0}
    assert [found.record.docid for found in reader.documents(range(2))] == ["a", "c"]
    reader.close()
    _expect_the_same(home, 1)


def test_another_order_alone_changes_no_record_and_shares_no_file(home: Path) -> None:
    _add(
        home,
        dict(reversed(SMALL.items())),
    )
    manifest, changes = update_index(home / "corpora", home / "indexes", "c")
    assert (manifest.generation, changes) == (2, RecordChanges(added=0, changed=0, deleted=0, unchanged=4))
    files = [path for path in (home / "indexes" / "c").rglob("*") if path.is_file()]
    assert {path.stat().st_nlink for path in files} == {1}
    _expect_the_same(home, 2)
    assert build_index(home / "corpora", home / "indexes", "c") == (manifest, False)


def test_only_what_changed_is_analysed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(
        home,
        {"a": SMALL["a"], "b": ("carbon", "film two"), "c": SMALL["c"], "n": ("new", "구리 film")},
    )
    given: list[str] = []
    real = WorkerPool.analyze

    def analyze(self: WorkerPool, path: Path, start: int, stop: int) -> Iterator[AnalyzedBatch]:
        given.extend(record.docid for record in read_parquet(path))
        return real(self, path, start, stop)

    monkeypatch.setattr(WorkerPool, "analyze", analyze)
    _, changes = update_index(home / "corpora", home / "indexes", "c")
    assert changes == RecordChanges(added=1, changed=1, deleted=1, unchanged=2)
    assert given == ["b", "n"]


def test_the_generation_updated_from_is_left_as_it_was(home: Path) -> None:
    folder = home / "indexes" / "c" / "gen-000001"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    _add(home, {"z": ("carbon", "film")})
    update_index(home / "corpora", home / "indexes", "c")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert verify_index(home / "indexes", "c", generation=1).problems == ()
    new = home / "indexes" / "c" / "gen-000002"
    assert {path.stat().st_nlink for path in new.rglob("*") if path.is_file()} == {1}


def test_the_generation_updated_from_stays_though_newer_ones_are_there(home: Path) -> None:
    build_index(home / "corpora", home / "indexes", "c", force=True)
    roll_back(home / "indexes", "c", to=1)
    _add(home, {"z": ("carbon", "film")})
    update_index(home / "corpora", home / "indexes", "c")
    assert list_generations(home / "indexes" / "c") == [1, 3]


def test_what_cannot_be_updated_is_refused_with_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IndexMissing, match="build it with `shrag index c`"):
        update_index(home / "corpora", home / "elsewhere", "c")
    _add(home, {"z": ("carbon", "film")})
    with monkeypatch.context() as other:
        other.setattr("shrag.indexing.build.incremental.analyzer_fingerprint", lambda dictionary: "rules 0")
        with pytest.raises(IndexMismatch, match=r"this process has \[rules 0\]: build it again with `shrag index c`"):
            update_index(home / "corpora", home / "indexes", "c")
    (home / "indexes" / "c" / "gen-000001" / "tokens.sqlite").write_bytes(b"")
    with pytest.raises(IndexDamaged, match=r"tokens\.sqlite has 0 bytes"):
        update_index(home / "corpora", home / "indexes", "c")
    assert list_generations(home / "indexes" / "c") == [1]
    assert not list((home / "indexes" / "c").glob("build-*"))


def test_the_command_says_what_changed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(home))
    assert run(["index", "c", "--update", "--force"]) == 2
    assert run(["index", "c", "--update"]) == 0
    assert "up to date, nothing to build" in capsys.readouterr().out
    _add(home, {"a": SMALL["a"], "b": ("carbon", "film two"), "n": ("new", "구리 film")})
    assert run(["index", "c", "--update"]) == 0
    said = "index c: generation 2, 3 records, 0.1 MiB, updated (1 added, 1 changed, 2 deleted, 1 unchanged) in"
    assert said in capsys.readouterr().out


def _take(digests: IndexedDigests, record: Record) -> str:
    return digests.take(record.docid, record_digest(record))


def test_digests_tell_records_apart_by_all_their_fields(tmp_path: Path) -> None:
    old = Record("a", "t", "x", "en", complete=True)
    with IndexedDigests(tmp_path / "d", [old, Record("b", "t", "x", "en", complete=True)]) as digests:
        assert _take(digests, Record("c", "t", "x", "en", complete=True)) == "added"
        assert _take(digests, Record("a", "t", "x", "en", complete=True, year=2020)) == "changed"
        assert list(digests.left()) == ["b"]
        assert _take(digests, Record("b", "t", "x", "en", complete=True)) == "unchanged"
        assert list(digests.left()) == []
