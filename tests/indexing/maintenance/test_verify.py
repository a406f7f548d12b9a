"""Tests of ``shrag index verify``: whether it blames ``CURRENT``, the manifest or its checksum if they disagree."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.indexing.errors import IndexMissing
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE
from shrag.indexing.storage.generations import CURRENT_FILE, publish, set_current
from shrag.indexing.storage.manifest import IndexManifest
from tests.indexing.storage.test_manifest import SMALL


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return an index with two generations that have a manifest and no files; the second one is current."""
    for number in (1, 2):
        (tmp_path / "demo" / "build").mkdir(parents=True)
        publish(tmp_path / "demo", tmp_path / "demo" / "build", _manifest(number))
    return tmp_path / "demo"


def _manifest(generation: int) -> IndexManifest:
    return msgspec.structs.replace(SMALL, generation=generation, files={})


def _problems(index: Path, generation: int | None = None) -> list[tuple[str, str]]:
    """Return the file and the end of the message of each problem with ``CURRENT`` and the manifest."""
    found = verify_index(index.parent, index.name, generation)
    assert found.checks[0].name == "manifest"
    return [(problem.file, problem.message) for problem in found.checks[0].problems]


def test_an_index_whose_files_fit_has_no_problem_with_them(index: Path) -> None:
    assert _problems(index) == _problems(index, 1) == []
    assert verify_index(index.parent, "demo").generation == 2
    with pytest.raises(IndexMissing, match="no generation 3: use one of 1, 2"):
        verify_index(index.parent, "demo", 3)


def test_a_current_file_that_names_no_generation_is_a_problem_and_the_newest_one_is_verified(index: Path) -> None:
    (index / CURRENT_FILE).write_text("gen-000002\n")
    ((file, message),) = _problems(index)
    assert (file, "does not name a generation" in message) == (CURRENT_FILE, True)
    assert verify_index(index.parent, "demo").generation == 2
    assert [file for file, _ in _problems(index, 1)] == [CURRENT_FILE]


def test_a_generation_that_is_gone_is_a_problem_of_the_current_file(index: Path) -> None:
    (index / "gen-000002").rename(index / "elsewhere")
    assert _problems(index) == [(CURRENT_FILE, f"{index / CURRENT_FILE} names gen-000002, which is not there")]
    found = verify_index(index.parent, "demo")
    assert [check.name for check in found.checks] == ["manifest"]
    assert found.skipped == ("opening", "FAISS", "records", "golden queries", "analysis")


def test_a_digest_of_another_manifest_is_a_problem_of_the_current_file_where_the_manifest_is_intact(
    index: Path,
) -> None:
    line = (index / CURRENT_FILE).read_text()
    (index / CURRENT_FILE).write_text(f"{line[:11]}{'0' * 64}\n")
    path = index / "gen-000002" / MANIFEST_FILE
    message = f"{index / CURRENT_FILE} has another digest than {path}, which is as it was published"
    assert _problems(index) == [(CURRENT_FILE, message)]
    assert _problems(index, 1) == []


def test_the_wrong_one_of_manifest_and_checksum_is_told_by_the_current_file(index: Path) -> None:
    checksum, manifest = (index / "gen-000002" / name for name in (MANIFEST_CHECKSUM_FILE, MANIFEST_FILE))
    right = checksum.read_text()
    checksum.write_text(f"{'0' * 64}  {MANIFEST_FILE}\n")
    assert [file for file, _ in _problems(index)] == [f"gen-000002/{MANIFEST_CHECKSUM_FILE}"]
    # Of a generation that is not current there is one digest only, so the manifest is suspected.
    set_current(index, 1)
    assert [file for file, _ in _problems(index, 2)] == [f"gen-000002/{MANIFEST_FILE}"]
    checksum.write_text(right)
    manifest.write_text(manifest.read_text().replace('"k1": 0.9', '"k1": 1.9'))
    (index / CURRENT_FILE).write_text(f"gen-000002 {right[:64]}\n")
    assert [file for file, _ in _problems(index)] == [f"gen-000002/{MANIFEST_FILE}"]
    # The manifest can still be read, so that damage to other files is found too.
    (index / "gen-000002" / "stray").touch()
    checks = verify_index(index.parent, "demo").checks
    assert [problem.file for problem in checks[1].problems] == ["gen-000002/stray"]
