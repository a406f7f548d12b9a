"""Generations kept, and the way back and forward between them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.files import FolderHold, lock_folder
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.build.builder import build_index
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.maintenance.history import list_index, list_names, remove_index, roll_back, show_manifest
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.checksums import MANIFEST_FILE
from shrag.indexing.storage.generations import (
    CURRENT_FILE,
    current_generation,
    list_generations,
    next_generation,
    prune_generations,
    publish,
)
from tests.indexing.storage.test_manifest import SMALL

pytestmark = pytest.mark.slow

FROZEN = Path(__file__).resolve().parents[2] / "frozen"


@pytest.fixture
def home(three_generations: Path, tmp_path: Path) -> Path:
    """Return a home whose index has three generations, that a test may change."""
    shutil.copytree(three_generations, tmp_path / "copy")
    return tmp_path / "copy"


def _current(home: Path) -> int:
    return current_generation(home / "indexes" / "demo")[1].generation


def test_one_step_back_another_and_forward_again(home: Path) -> None:
    indexes = home / "indexes"
    assert list_generations(indexes / "demo") == [1, 2, 3]
    assert (roll_back(indexes, "demo").generation, _current(home)) == (2, 2)
    assert (roll_back(indexes, "demo").generation, _current(home)) == (1, 1)
    with pytest.raises(
        IndexMissing, match=r"no generation before 1 \(existing generations: 1, 2, 3\): choose one with --to"
    ):
        roll_back(indexes, "demo")
    assert (roll_back(indexes, "demo", to=3).generation, _current(home)) == (3, 3)
    opened = open_index(indexes, "demo")
    assert opened.manifest.generation == 3
    opened.close()


def test_a_damaged_generation_is_passed_over_and_never_made_current(home: Path) -> None:
    indexes = home / "indexes"
    (indexes / "demo" / "gen-000002" / "tokens.sqlite").write_bytes(b"x")
    with pytest.raises(IndexDamaged, match=r"gen-000002/tokens.sqlite has 1 bytes instead of"):
        roll_back(indexes, "demo", to=2)
    assert _current(home) == 3
    assert roll_back(indexes, "demo").generation == 1
    with pytest.raises(IndexMissing, match="no generation 9: use one of 1, 2, 3"):
        roll_back(indexes, "demo", to=9)
    with pytest.raises(IndexMissing, match="no index 'other'"):
        roll_back(indexes, "other")


def test_an_edited_manifest_is_not_made_current_though_no_current_file_knows_it(home: Path) -> None:
    path = home / "indexes" / "demo" / "gen-000001" / MANIFEST_FILE
    path.write_text(path.read_text().replace('"k1": 0.9', '"k1": 1.9'))
    with pytest.raises(IndexDamaged, match=r"not the manifest whose digest is in .*MANIFEST\.sha256"):
        roll_back(home / "indexes", "demo", to=1)


def test_a_lost_or_damaged_current_file_is_mended_by_choosing(home: Path) -> None:
    pointer = home / "indexes" / "demo" / CURRENT_FILE
    pointer.write_text("gen-00000")
    with pytest.raises(IndexDamaged, match="or use another generation with `shrag index rollback demo`"):
        open_index(home / "indexes", "demo")
    assert roll_back(home / "indexes", "demo").generation == 3
    pointer.unlink()
    with pytest.raises(IndexDamaged, match="CURRENT is missing"):
        open_index(home / "indexes", "demo")
    assert roll_back(home / "indexes", "demo", to=2).generation == 2


def test_going_back_waits_for_no_builder(home: Path) -> None:
    with lock_folder(home / "indexes" / "demo"), pytest.raises(IndexingError, match="is being written by process"):
        roll_back(home / "indexes", "demo")


def test_after_a_step_back_no_number_comes_twice_and_the_one_gone_back_to_is_kept(home: Path) -> None:
    indexes = home / "indexes"
    roll_back(indexes, "demo", to=1)
    manifest, new = build_index(home / "corpora", indexes, "demo", force=True)
    assert (new, manifest.generation) == (True, 4)
    assert list_generations(indexes / "demo") == [1, 4]


@pytest.mark.parametrize(
    ("current", "before", "keep", "kept"),
    [
        (5, 4, 1, [5]),
        (5, 4, 2, [4, 5]),
        (5, 2, 2, [2, 5]),
        (5, 2, 3, [2, 4, 5]),
        (5, None, 2, [4, 5]),
        (5, 5, 9, [1, 2, 3, 4, 5]),
    ],
)
def test_what_is_kept(tmp_path: Path, current: int, before: int | None, keep: int, kept: list[int]) -> None:
    for number in range(1, 6):
        (tmp_path / f"gen-{number:06d}").mkdir()
    prune_generations(tmp_path, current, before, keep)
    assert list_generations(tmp_path) == kept


def test_a_generation_that_is_open_is_kept_until_the_first_removal_after_it_was_closed(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"gen-{number:06d}").mkdir()
    hold = FolderHold(tmp_path / "gen-000001")
    prune_generations(tmp_path, 3, 2)
    assert list_generations(tmp_path) == [1, 2, 3]
    hold.close()
    prune_generations(tmp_path, 3, 2)
    assert list_generations(tmp_path) == [2, 3]


def test_an_index_that_was_opened_before_two_builds_finds_by_vectors(home: Path) -> None:
    opened = open_index(home / "indexes", "demo", generation=2)
    try:
        prune_generations(home / "indexes" / "demo", 3, 1)
        assert opened.dense is not None
        assert opened.dense.search(opened.dense.encode("deep learning"), 1)
    finally:
        opened.close()


def test_what_a_killed_removal_left_is_no_generation_and_goes_with_the_next_build(tmp_path: Path) -> None:
    for name in ("gen-000002", "old-000001", "build-000003", "gen-1", "gen-000009x"):
        (tmp_path / name).mkdir()
    assert (list_generations(tmp_path), next_generation(tmp_path)) == ([2], 3)
    prune_generations(tmp_path, 2, None)
    assert not (tmp_path / "old-000001").exists()


def test_the_list_shows_generations_whole_or_not(home: Path) -> None:
    (home / "indexes" / "demo" / "gen-000002" / MANIFEST_FILE).unlink()
    rows = list_index(home / "indexes", "demo")
    assert [(row.generation, row.current, row.records) for row in rows] == [
        (1, False, 235),
        (2, False, 0),
        (3, True, 235),
    ]
    assert "MANIFEST.json is missing" in rows[1].problem
    assert list_names(home / "indexes") == ["demo"]
    assert '"generation": 3' in show_manifest(home / "indexes", "demo")
    assert '"generation": 1' in show_manifest(home / "indexes", "demo", 1)


def test_a_reader_keeps_what_it_has_open_when_another_is_made_current(home: Path) -> None:
    opened = open_index(home / "indexes", "demo")
    roll_back(home / "indexes", "demo", to=1)
    shutil.rmtree(home / "indexes" / "demo" / "gen-000003")
    (found,) = opened.store.fetch(["DEMO-AI-001"])
    assert found is not None
    opened.close()


@pytest.mark.parametrize("format_version", [1, 2, 3, 4])
def test_an_index_of_every_format_ever_released_opens_or_says_what_to_do(tmp_path: Path, format_version: int) -> None:
    """R8: the index was built by the release that had this format, and has lain in the tests since."""
    indexes = tmp_path / "indexes"
    shutil.copytree(FROZEN / f"format-{format_version}" / "indexes", indexes)
    says = (
        rf"Index frozen was built by SHRAG 0\.1\.0 in format {format_version}, this is SHRAG [\d.]+ "
        r"and reads format \d+: build it again with `shrag index frozen`"
    )
    with pytest.raises(IndexMismatch, match=says):
        open_index(indexes, "frozen")
    with pytest.raises(IndexMismatch, match=says):
        roll_back(indexes, "frozen", to=1)
    assert says.split("was")[1][:10] in list_index(indexes, "frozen")[0].problem


def _publish(index: Path, number: int, analyzer: str = "") -> None:
    """Publish a generation that has only a manifest."""
    (index / "build").mkdir(parents=True)
    analyzer = analyzer or analyzer_fingerprint()
    publish(index, index / "build", msgspec.structs.replace(SMALL, generation=number, files={}, analyzer=analyzer))


def test_an_index_is_removed_with_all_generations_unless_one_is_open_or_it_is_written(tmp_path: Path) -> None:
    for name in ("demo", "other"):
        for number in (1, 2):
            _publish(tmp_path / name, number)
    (tmp_path / "empty").mkdir()
    hold = FolderHold(tmp_path / "demo" / "gen-000001")
    with pytest.raises(IndexingError, match=r"demo is open in a server or another command \(generation 1\): stop it"):
        remove_index(tmp_path, "demo")
    hold.close()
    with lock_folder(tmp_path / "demo"), pytest.raises(IndexingError, match="is being written by process"):
        remove_index(tmp_path, "demo")
    assert list_names(tmp_path) == ["demo", "other"]
    (tmp_path / "demo" / CURRENT_FILE).unlink()  # damaged or not
    remove_index(tmp_path, "demo")
    assert (list_names(tmp_path), (tmp_path / "demo").exists()) == (["other"], False)
    with pytest.raises(IndexMissing, match=r"no index 'demo' under .* \(existing indexes: other\): build it"):
        remove_index(tmp_path, "demo")
    with pytest.raises(IndexMissing):
        list_index(tmp_path, "demo")


def test_without_an_intact_generation_before_the_current_one_all_reasons_are_given(tmp_path: Path) -> None:
    _publish(tmp_path / "demo", 1)
    _publish(tmp_path / "demo", 2, "another analyzer")
    _publish(tmp_path / "demo", 3)
    (tmp_path / "demo" / "gen-000001" / "stray").touch()
    with pytest.raises(IndexMissing) as raised:
        roll_back(tmp_path, "demo")
    newer, older = str(raised.value).split("build it again with `shrag index demo`. ")
    assert newer.startswith("Index demo was analyzed by [another analyzer]")
    assert "gen-000001/stray is not part of the index" in older
    assert current_generation(tmp_path / "demo")[1].generation == 3
    (tmp_path / "demo" / "gen-000001" / "stray").unlink()
    assert roll_back(tmp_path, "demo").generation == 1
    (tmp_path / "demo" / CURRENT_FILE).write_text("damaged")
    assert [row.current for row in list_index(tmp_path, "demo")] == [False, False, False]
    assert roll_back(tmp_path, "demo").generation == 3
