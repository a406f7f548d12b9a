from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import (
    LOCK_FILE,
    PROCESS_ERRORS,
    RESERVED,
    DiskFailed,
    DiskFull,
    FolderBusy,
    FolderHold,
    append_line,
    check_name,
    disk_errors,
    is_name,
    keep_files,
    lock_folder,
    raise_if_unreadable,
    remove_drafts,
    remove_folder,
    sole_user,
    try_to_remove_files,
    write_atomically,
)


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


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told_with_the_space_that_is_left_though_the_folder_does_not_exist(
    tmp_path: Path, code: int
) -> None:
    folder = tmp_path / "none" / "deeper"
    with pytest.raises(DiskFull, match=rf"The disk is full \([\d,]+ bytes left under {folder}\)"), disk_errors(folder):
        raise OSError(code, os.strerror(code))


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "no"), OSError("no number"), ValueError("other")])
def test_other_errors_are_not_those_of_the_disk(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as raised, disk_errors(tmp_path):
        raise error
    assert raised.value is error


def test_errors_of_the_process_are_told_from_those_of_a_files_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert set(PROCESS_ERRORS) == {
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE)
    }
    for code in (*PROCESS_ERRORS, errno.EIO):
        with pytest.raises(OSError, match=f"{os.strerror(code)}: '{path}'") as raised:
            raise_if_unreadable(path, OSError(code, "…"))
        assert raised.value.errno == code
    with pytest.raises(MemoryError):
        raise_if_unreadable(path, MemoryError())
    for error in (OSError(errno.ENOENT, "…"), OSError("no number"), ValueError()):
        raise_if_unreadable(path, error)


def test_lines_are_appended_whole(tmp_path: Path) -> None:
    for line in (b"one", b"", "둘".encode()):
        append_line(tmp_path / "a", line)
    assert (tmp_path / "a").read_text() == "one\n\n둘\n"


def test_drafts_are_removed_in_all_folders_and_other_hidden_files_stay(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in (".a.new", "b/.a.new", "a.new", ".a", "b/a"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [".a", "a.new", "b", "b/a"]


def test_files_that_are_kept_are_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    with keep_files(tmp_path), keep_files(tmp_path), sole_user(tmp_path) as alone:
        assert not alone
        try_to_remove_files(tmp_path, [path])
        assert path.exists()
    first, second = FolderHold(tmp_path), FolderHold(tmp_path)
    first.close()
    try_to_remove_files(tmp_path, [path])
    assert path.exists()
    second.close()
    second.close()
    try_to_remove_files(tmp_path, [path, tmp_path / "gone before"])
    assert not path.exists()
    with pytest.raises(FileNotFoundError), keep_files(tmp_path / "none"):
        pass


def test_a_folder_is_removed_whole_beginning_with_the_file_without_which_it_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    (folder / "deeper").mkdir(parents=True)
    for name in ("manifest", *(f"records-{number}" for number in range(9)), "deeper/records"):
        (folder / name).touch()
    removed: list[str] = []
    unlink = Path.unlink

    def note(path: Path, missing_ok: bool = False) -> None:
        removed.append(path.name)
        unlink(path, missing_ok)

    with lock_folder(folder):
        monkeypatch.setattr(Path, "unlink", note)
        remove_folder(folder, "manifest")
    assert not folder.exists()
    assert (removed[0], removed[-1], removed.count(LOCK_FILE)) == ("manifest", LOCK_FILE, 1)


def test_a_writer_whose_folder_is_removed_before_its_lock_makes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    removals = iter([lambda: shutil.rmtree(tmp_path / "c")])

    def remove_and_lock(file: IO[str], operation: int) -> None:
        next(removals, lambda: None)()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", remove_and_lock)
    with lock_folder(tmp_path / "c"):
        assert (tmp_path / "c" / LOCK_FILE).read_text() == str(os.getpid())
        with pytest.raises(FolderBusy), lock_folder(tmp_path / "c"):
            pass


@pytest.mark.parametrize("name", ["a", "0", "a-b_c", "x" * 64])
def test_names_that_are_allowed(name: str) -> None:
    assert is_name(name)
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "_a", "A", "a b", "a.b", "가", "a\n", "x" * 65])
def test_names_that_are_refused(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(CorpusError, match="cannot be a name: use up to 64"):
        check_name(name)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_command_is_no_name(name: str) -> None:
    with pytest.raises(CorpusError, match=f"`shrag index {name}` is a command; choose another"):
        check_name(name)
