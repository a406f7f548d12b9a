"""A start reads only files that changed since they were verified, and finds every change, also with an old time."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.indexing.errors import IndexDamaged
from shrag.indexing.storage import verified_files
from shrag.indexing.storage.generations import check_changed_files, check_files, current_generation
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.verified_files import FILE

Generation = tuple[Path, IndexManifest]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are read from now on; files that just changed count as settled."""
    monkeypatch.setattr(verified_files, "_SETTLED_SECONDS", 0)
    names: list[str] = []
    digest = hashlib.file_digest

    def note(stream: io.BufferedReader, name: str) -> object:
        names.append(Path(stream.name).name)
        return digest(stream, name)

    monkeypatch.setattr(hashlib, "file_digest", note)
    return names


@pytest.fixture
def generation(demo_home: Path, tmp_path: Path) -> Generation:
    """Return a copy of the demonstration's generation, none of whose files is known."""
    shutil.copytree(demo_home / "indexes" / "demo", tmp_path / "demo")
    return current_generation(tmp_path / "demo")


def _flip(path: Path) -> None:
    data = path.read_bytes()
    times = path.stat()
    with path.open("r+b") as stream:
        stream.write(bytes([data[0] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _replace(path: Path) -> None:
    data = path.read_bytes()
    path.with_name("other").write_bytes(bytes([data[0] ^ 1]) + data[1:])
    shutil.copystat(path, path.with_name("other"))
    path.with_name("other").replace(path)


def test_what_was_read_through_is_not_read_again(generation: Generation, read: list[str]) -> None:
    assert not check_changed_files(*generation)  # a copy: other inodes
    assert len(read) == len(generation[1].files)
    read.clear()
    assert check_changed_files(*generation)
    assert read == []


@pytest.mark.parametrize("damage", [_flip, _replace])
def test_damage_is_found_though_size_and_time_are_as_before(
    generation: Generation, read: list[str], damage: Callable[[Path], None]
) -> None:
    check_files(*generation)
    read.clear()
    damage(generation[0] / "golden.json")
    for _ in range(2):
        with pytest.raises(IndexDamaged, match=r"golden\.json has changed since it was published"):
            check_changed_files(*generation)
    assert read == ["golden.json"] * 2


def test_a_file_that_is_missing_cut_or_added_is_found_without_reading(generation: Generation, read: list[str]) -> None:
    folder = generation[0]
    check_files(*generation)
    read.clear()
    (folder / "stray").touch()
    with pytest.raises(IndexDamaged, match="stray is not part of the index"):
        check_changed_files(*generation)
    (folder / "stray").unlink()
    os.truncate(folder / "golden.json", 5)
    with pytest.raises(IndexDamaged, match=r"golden\.json has 5 bytes instead of"):
        check_changed_files(*generation)
    (folder / "golden.json").unlink()
    with pytest.raises(IndexDamaged, match=r"golden\.json is missing"):
        check_changed_files(*generation)
    assert read == []


def test_a_file_is_read_again_where_its_clock_may_not_have_ticked_since_it_was_written(
    generation: Generation, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verified_files, "_SETTLED_SECONDS", 3600)
    for _ in range(2):
        assert not check_changed_files(*generation)
    assert len(read) == 2 * len(generation[1].files)


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1}', b"\xff"])
def test_without_a_readable_memory_everything_is_read(generation: Generation, read: list[str], content: bytes) -> None:
    check_files(*generation)
    (generation[0].parent / FILE).write_bytes(content)
    read.clear()
    assert not check_changed_files(*generation)
    assert len(read) == len(generation[1].files)


def test_where_it_cannot_be_remembered_the_check_is_the_same(generation: Generation, read: list[str]) -> None:
    (generation[0].parent / FILE).unlink(missing_ok=True)
    (generation[0].parent / FILE).mkdir()
    for _ in range(2):
        assert not check_changed_files(*generation)
    assert len(read) == 2 * len(generation[1].files)


def test_the_generations_verified_last_are_remembered(generation: Generation, read: list[str]) -> None:
    check_files(*generation)
    for number in range(7):
        verified_files.remember_verified(generation[0].parent, str(number), {})
    assert check_changed_files(*generation)
    verified_files.remember_verified(generation[0].parent, "7", {})
    assert not check_changed_files(*generation)
