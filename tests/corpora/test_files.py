from __future__ import annotations

import errno
import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.corpora.files import DiskFailed, DiskFull, FolderBusy, disk_errors, lock_folder, write_atomically


def test_replacing_leaves_the_new_content_and_no_draft(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"old")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_replacement_that_fails_leaves_the_old_content_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    write_atomically(tmp_path / "a", b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        write_atomically(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_IOERR_READ, DiskFailed),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFailed),
        (sqlite3.SQLITE_CORRUPT, DiskFailed),
        (sqlite3.SQLITE_CANTOPEN, DiskFailed),
        (sqlite3.SQLITE_ERROR, sqlite3.OperationalError),
    ],
)
def test_errors_of_a_database_are_those_of_the_disk_but_not_those_of_its_statements(
    tmp_path: Path, code: int, raised: type[Exception]
) -> None:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    with pytest.raises(raised) as found, disk_errors(tmp_path):
        raise error
    if raised is DiskFailed:
        assert str(found.value) == (
            f"A database under {tmp_path} cannot be read or written (it failed): check the disk (`dmesg`), its "
            "quota and the right to the folder, and run again."
        )


def test_a_database_that_cannot_grow_beyond_the_processs_limit_is_a_full_disk(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, hard))
    try:
        with pytest.raises(DiskFull, match="The disk is full"), disk_errors(tmp_path):
            raise error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(FolderBusy, match=f"process {os.getpid()}"), lock_folder(tmp_path):
        pass


@pytest.mark.process
def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from shrag.corpora.files import lock_folder\n"
        "with lock_folder(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    with lock_folder(tmp_path):
        assert (tmp_path / ".lock").read_text() == str(os.getpid())
