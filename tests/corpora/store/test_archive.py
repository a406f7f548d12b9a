"""An archive is written, compared and refused as its header says; test_transfer.py has the hostile ones."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull
from shrag.corpora.store.archive import (
    HEADER,
    check_room,
    extract_archive,
    is_inside,
    read_files,
    read_header,
    verify_archive,
    write_archive,
)
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum

FILES: dict[str, Path | bytes] = {"a": b"one", "b/c": b"two" * 1_000, "d": b""}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "x.tar"
    write_archive(path, "bundle", "x", FILES)
    return path


def test_the_header_has_the_size_and_the_checksum_of_each_file(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    assert compute_checksum(tmp_path / "a") == compute_checksum(b"one")
    header = read_header(archive, "bundle")
    assert (header.kind, header.name, header.total_bytes) == ("bundle", "x", 3 + 3_000)
    assert header.files == {name: compute_checksum(content) for name, content in FILES.items()}
    assert header.files["d"] == FileChecksum(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


def test_some_files_are_read_and_all_are_compared(archive: Path) -> None:
    assert read_files(archive, "bundle", ["a", "d", "none"])[1] == {"a": b"one", "d": b""}
    data = archive.read_bytes()
    archive.write_bytes(data.replace(b"twotwo", b"twotwO", 1))
    with pytest.raises(CorpusError, match="b/c does not have the checksum of the header"):
        read_files(archive, "bundle", ["a"])
    assert read_header(archive, "bundle").name == "x"  # whose files are not read


def test_an_archive_of_another_kind_is_named_with_the_command_that_imports_it(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="holds the bundle x: use `shrag bundle import`"):
        extract_archive(archive, "corpus", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_as_it_was_published_is_not_archived(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    path = tmp_path / "x.tar"
    known = {"a": compute_checksum(b"two")}
    with pytest.raises(CorpusError, match="a does not have the checksum of the header"):
        write_archive(path, "bundle", "x", {"a": tmp_path / "a"}, checksums=known)
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    write_archive(path, "bundle", "x", {"a": tmp_path / "a"}, checksums={"a": compute_checksum(b"one")})
    assert verify_archive(path, "bundle").files["a"].bytes == 3


def _with_header(path: Path, change: dict[str, object], files: dict[str, object] | None = None) -> None:
    with tarfile.open(path) as opened:
        members = [(member, (opened.extractfile(member) or io.BytesIO()).read()) for member in opened]
    header = json.loads(members[0][1]) | change
    header["files"] |= files or {}
    data = json.dumps(header).encode()
    members[0][0].size = len(data)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as opened:
        for member, content in [(members[0][0], data), *members[1:]]:
            opened.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    ("change", "files", "says"),
    [
        ({"format": 2}, {}, "has archive format 2, this SHRAG reads 1: export it again"),
        ({"name": 7}, {}, r"has a header that cannot be read \(its name is not a string\)"),
        ({"extra": 7}, {}, "has a header that cannot be read"),
        ({}, {"a": {"bytes": -1, "sha256": "0" * 64}}, r"a size is -1"),
        ({}, {"a": {"bytes": True, "sha256": "0" * 64}}, r"a size is True"),
        ({}, {"a": {"bytes": 3, "sha256": "0" * 63}}, r"a checksum is '0+'"),
        ({}, {"a": {"bytes": 3, "sha256": None}}, r"a checksum is None"),
        ({}, {"a": {"bytes": 3, "sha256": "../" * 21 + "a"}}, r"a checksum is '\.\./"),
        ({}, {"a": {"bytes": 3, "sha256": "A" * 64}}, r"a checksum is 'A+'"),
        ({}, {"a": {"bytes": 3, "sha256": "0" * 64 + "\n"}}, r"a checksum is '0+\\n'"),
        ({}, {"a": {"bytes": 3}}, "has a header that cannot be read"),
        ({}, {"../a": {"bytes": 3, "sha256": "0" * 64}}, "names the file '../a', which is outside its folder"),
        ({}, {"e": {"bytes": 0, "sha256": "0" * 64}}, "breaks off before e"),
    ],
)
def test_a_header_that_is_not_right_is_refused(
    archive: Path, change: dict[str, object], files: dict[str, object], says: str
) -> None:
    _with_header(archive, change, files)
    with pytest.raises(CorpusError, match=says):
        verify_archive(archive, "bundle")


def test_a_tar_that_begins_with_another_file_is_no_archive(archive: Path) -> None:
    with tarfile.open(archive, "w") as opened:
        member = tarfile.TarInfo("notes.txt")
        opened.addfile(member, io.BytesIO())
    with pytest.raises(CorpusError, match=f"its first member is not {HEADER}"):
        read_header(archive, "bundle")


def test_what_needs_exactly_the_room_that_is_left_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000))
    check_room(Path("x.tar"), 1_000, tmp_path)
    with pytest.raises(DiskFull, match=r"x\.tar needs 1,001 bytes, and 1,000 are left under"):
        check_room(Path("x.tar"), 1_001, tmp_path)


@pytest.mark.parametrize(
    ("name", "inside"),
    [("a", True), ("a/b", True), ("a..b/.c", True), ("", False), (".", False), ("/", False)]
    + [(name, False) for name in ("./a", "a/", "a/./b", "a/../b", "..", "//a", "a\0b")],
)
def test_paths_stay_in_the_folder(name: str, inside: bool) -> None:
    assert is_inside(name) is inside
