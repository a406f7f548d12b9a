"""Atomic file writes, folder locks, and the names of corpora and indexes."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.messages.text import Text

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE_FAILED = (
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB),
)
_PRIMARY_CODE = 0xFF

PROCESS_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE)
"""System errors that do not depend on a file's content: missing rights, limits of the process, a lost network drive."""

MACHINE_ERRORS: Mapping[int | None, str] = {
    errno.EMFILE: "the process has too many files open, raise the limit (`ulimit -n`)",
    errno.ENFILE: "the machine has too many files open, close some programs",
    errno.ENOMEM: "the machine has no memory left, close some programs",
    errno.ENOSPC: "the disk is full, free some space",
    errno.EIO: "the disk or its connection fails, check it (`dmesg`)",
    errno.ESTALE: "its network file system was lost, mount it again",
}
"""System errors that are not the fault of a path, each with its remedy."""


LOCK_FILE = ".lock"
"""The name of the file that the writer of a folder keeps locked."""


class FolderBusy(Exception):
    """Another process is writing in the folder; ``pid`` is the id of that process, empty if unknown."""

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(
            Text(
                "{folder} is being written by process {pid}: wait for it to end, or stop it.",
                folder=folder,
                pid=pid or Text("unknown"),
            )
        )


class DiskFull(Exception):
    """There is no space left on the disk."""


class DiskFailed(Exception):
    """A file cannot be read or written: a fault of the disk, of the rights to it, or of the process's limits."""


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the disk into :class:`DiskFull` or :class:`DiskFailed`.

    :class:`DiskFull` says how much space is free. :class:`DiskFailed` replaces an error of SQLite, which names no file.
    Any other ``OSError`` passes unchanged.
    """
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if not (error.errno in _FULL if isinstance(error, OSError) else _database_is_full(code)):
            if code & _PRIMARY_CODE not in _SQLITE_FAILED:
                raise
            raise DiskFailed(
                Text(
                    "A database under {folder} cannot be read or written ({error}): check the disk (`dmesg`), "
                    "its quota and the right to the folder, and run again.",
                    folder=folder,
                    error=error,
                )
            ) from error
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(existing).free
        raise DiskFull(
            Text(
                "The disk is full ({free:,} bytes left under {folder}): free some space and run again.",
                free=free,
                folder=folder,
            )
        ) from error


def _database_is_full(code: int) -> bool:
    """Return whether SQLite failed because the disk is full or a file reached the process's size limit.

    SQLite reports only ENOSPC as a full disk. It reports a reached size limit as a failed write, like a broken disk.
    """
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    return code == sqlite3.SQLITE_FULL or (limited and code == sqlite3.SQLITE_IOERR_WRITE)


def raise_if_unreadable(path: Path, error: BaseException) -> None:
    """Raise ``error`` if it does not depend on the file's content, else return.

    These are errors of memory, raised as they are, and errors of the system, raised with the path.
    """
    if isinstance(error, MemoryError):  # pyarrow's is an ``ArrowException`` too
        raise error
    if isinstance(error, OSError) and error.errno in (*PROCESS_ERRORS, errno.EIO):
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def sync_file(path: Path) -> None:
    """Flush a written file, or the entries of a folder, to the disk (``fsync``)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of ``path`` by one rename and flush it to the disk; readers see old or new content."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync_file(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file and flush it to the disk; a crash may leave a part of the line."""
    with path.open("ab") as stream:
        stream.write(line + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that killed calls of :func:`write_atomically` left in a folder and its subfolders."""
    for draft in folder.rglob(".*.new"):
        draft.unlink()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; raise :class:`FolderBusy` at once if another process holds it.

    The lock (``flock``) ends with the process, so a killed writer leaves nothing to clean up.
    """
    with ExitStack() as stack:
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            stream = stack.enter_context((folder / LOCK_FILE).open("a+"))
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                raise FolderBusy(folder, stream.read().strip()) from None
            if _is_at(stream.fileno(), folder / LOCK_FILE):
                break  # else the folder was removed between opening and locking
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def keep_files(folder: Path) -> Iterator[None]:
    """Protect the files of a folder from :func:`try_to_remove_files` in any process, while the context lasts.

    The lock (``flock``) is on the folder itself, so it also works on a read-only file system. It ends with the process.
    Raises ``OSError`` if there is no such folder.
    """
    with _open_folder(folder) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


class FolderHold:
    """The lock of :func:`keep_files`, held until :meth:`close`; if the lock cannot be taken, it holds nothing."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def try_to_remove_files(folder: Path, files: Iterable[Path]) -> None:
    """Remove ``files`` of a folder unless :func:`keep_files` protects them."""
    with sole_user(folder) as alone:
        if alone:
            for path in files:
                path.unlink(missing_ok=True)


def remove_folder(folder: Path, first: str) -> None:
    """Delete a folder that the caller has locked by :func:`lock_folder`, beginning with the file ``first``.

    ``first`` is the file without which the folder cannot be opened, so a killed removal leaves nothing half usable.
    """
    (folder / first).unlink(missing_ok=True)
    sync_file(folder)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK_FILE:
            path.unlink()
    (folder / LOCK_FILE).unlink(missing_ok=True)
    with suppress(OSError):  # another process may have begun to write it again
        folder.rmdir()


@contextmanager
def sole_user(folder: Path) -> Iterator[bool]:
    """Yield whether no process holds :func:`keep_files` of a folder; if so, none can take it during the context."""
    with _open_folder(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


RESERVED = frozenset({"build", "export", "import", "list", "load", "remove", "rollback", "show", "verify"})
"""Names that no corpus or index may have, because they are subcommands of `shrag index`."""


def check_name(name: str) -> str:
    """Return ``name`` if a corpus or an index, and its folder, may have it; else raise :class:`CorpusError`."""
    if not is_name(name):
        raise CorpusError(
            Text(
                "{name!r} cannot be a name: use up to 64 lower-case letters, digits, - and _, a letter or digit first.",
                name=name,
            )
        )
    if name in RESERVED:
        raise CorpusError(
            Text("{name!r} cannot be a name: `shrag index {name}` is a command; choose another.", name=name)
        )
    return name


def is_name(name: str) -> bool:
    """Return whether ``name`` is a valid name of a corpus or an index."""
    return _NAME.fullmatch(name) is not None
