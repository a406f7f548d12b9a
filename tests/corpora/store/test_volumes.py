"""An archive in several files is read as one."""

from __future__ import annotations

import errno
import io
import os
import resource
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull, disk_errors
from shrag.corpora.store.archive import extract_archive, verify_archive, write_archive
from shrag.corpora.store.volumes import VolumeReader, VolumeWriter, find_volumes, volume_path


@pytest.mark.parametrize(("length", "size", "sizes"), [(10, 4, [4, 4, 2]), (8, 4, [4, 4]), (3, 4, [3]), (0, 4, [])])
def test_what_was_written_to_volumes_is_read_again(length: int, size: int, sizes: list[int], tmp_path: Path) -> None:
    data, path = bytes(range(length)), tmp_path / "a"
    with io.BufferedWriter(VolumeWriter(path, size)) as stream:  # type: ignore[type-var]
        stream.write(data)
    found = [volume for volume in find_volumes(path) if volume.exists()]
    assert [volume.stat().st_size for volume in found] == sizes
    with io.BufferedReader(VolumeReader(found)) as reader:
        assert reader.read() == data


def test_an_archive_in_volumes_is_verified_and_extracted_as_one_file_is(tmp_path: Path) -> None:
    path, content = tmp_path / "a.tar", {"x": b"1" * 30_000, "y/z": b"2" * 5}
    header = write_archive(path, "bundle", "a", content, 10_240)
    assert not path.exists()
    assert find_volumes(Path("/")) == [Path("/")]
    assert find_volumes(path) == [volume_path(path, number) for number in range(1, 5)]
    assert verify_archive(path, "bundle") == header
    with pytest.raises(CorpusError, match=r"a\.tar\.002 is one of 4 volumes: give the name .*/a\.tar\.$"):
        verify_archive(volume_path(path, 2), "bundle")
    assert extract_archive(path, "bundle", tmp_path / "out") == header
    assert (tmp_path / "out" / "y" / "z").read_bytes() == b"2" * 5
    with pytest.raises(CorpusError, match=r"a\.tar\.001 exists already"):
        write_archive(path, "bundle", "a", content)
    assert not list(tmp_path.glob(".*"))


def test_volumes_are_filled_to_the_last_byte_however_little_is_written_at_once(tmp_path: Path) -> None:
    writer = VolumeWriter(tmp_path / "a", 4)
    assert [writer.write(bytes([number])) for number in range(6)] == [1] * 6
    assert writer.write(b"abcdef") == 2
    writer.close()
    assert [path.read_bytes() for path in writer.paths] == [bytes(range(4)), b"\4\5ab"]


def test_a_lone_volume_and_an_archive_beside_volumes_are_read_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    header = write_archive(path, "bundle", "a", {"x": b"1"}, 1_000_000)
    assert find_volumes(path) == find_volumes(volume_path(path, 1)) == [volume_path(path, 1)]
    assert verify_archive(path, "bundle") == verify_archive(volume_path(path, 1), "bundle") == header
    write_archive(tmp_path / "b.tar", "bundle", "b", {"x": b"2" * 30_000}, 10_240)
    other = write_archive(tmp_path / "b.tar.old", "bundle", "old", {"x": b"3"})
    assert verify_archive(tmp_path / "b.tar.old", "bundle") == other


@pytest.mark.parametrize("volume_bytes", [0, 20_480])
def test_what_a_killed_export_left_does_not_stop_the_next(tmp_path: Path, volume_bytes: int) -> None:
    for name in (".a.tar.part", ".a.tar.part.001", ".a.tar.part.002", ".a.tar.part.009"):
        (tmp_path / name).write_bytes(b"left")
    write_archive(tmp_path / "a.tar", "bundle", "a", {"x": b"1" * 15_000}, volume_bytes=volume_bytes)
    verify_archive(tmp_path / "a.tar", "bundle")
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_is_no_fault_of_the_archive_that_is_extracted(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_archive(path, "bundle", "a", {"x": b"1" * 200_000})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DiskFull), disk_errors(tmp_path):
            extract_archive(path, "bundle", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "out").exists()


def test_an_archive_on_a_failing_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class _Failing(io.BytesIO):
        name = str(tmp_path / "a.tar")

        def readinto(self, _: object) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "a.tar"
    write_archive(path, "bundle", "a", {"x": b"1"})
    monkeypatch.setattr("shrag.corpora.store.volumes.Path.open", lambda *_: _Failing())
    with pytest.raises(CorpusError, match=r"a\.tar cannot be read: Input/output error"):
        verify_archive(path, "bundle")
