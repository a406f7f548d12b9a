"""Compute the checksums of an index's files, find differences from them, and open SQLite files read-only."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Literal, NamedTuple

from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum
from shrag.messages.text import Text

MANIFEST_FILE = "MANIFEST.json"

MANIFEST_CHECKSUM_FILE = "MANIFEST.sha256"
"""File with the manifest's SHA-256, in the format of ``sha256sum``."""

Verify = Literal["changed", "full", "quick"]
"""What is verified before an index is used. The names and sizes of all files are always compared. ``changed`` also
reads the files that changed since they were last verified, ``full`` reads all files, and ``quick`` reads none. The
remaining files are read in the background.
"""


class FileDamage(NamedTuple):
    """A damaged file, by its path in the folder of the generation or the index, and a message about it."""

    file: str
    message: str


def compute_checksums(folder: Path) -> dict[str, FileChecksum]:
    """Return the checksum of every file in ``folder`` by its path, without the manifest and its checksum file."""
    return {name: compute_checksum(folder / name) for name in _files(folder)}


def find_damage(
    folder: Path, checksums: Mapping[str, FileChecksum], *, contents: bool | Set[str] = True
) -> Iterator[FileDamage]:
    """Yield the differences between the files in a folder and their checksums.

    Names and sizes are always compared. ``contents`` says whose bytes are compared too: of all files (true), of none
    (false), or of the named files. An additional file is a difference too, since Lucene would open any newer
    ``segments_N``.
    """
    for name in sorted({*_files(folder), *checksums}):
        read = contents if isinstance(contents, bool) else name in contents
        message = file_damage(folder / name, checksums.get(name), contents=read)
        if message:
            yield FileDamage(name, message)


def file_damage(path: Path, checksum: FileChecksum | None, *, contents: bool = True) -> str:
    """Return how a file differs from its checksum, empty if it does not; None means that it should not exist.

    Raises:
        OSError: The process has no file descriptor left, which says nothing about the file.
    """
    if checksum is None:
        return Text("{path} is not part of the index", path=path)
    try:
        if path.is_symlink() or not path.is_file():
            return Text("{path} is missing", path=path)
        size = path.stat().st_size
        if size != checksum.bytes:
            return Text("{path} has {size} bytes instead of {expected}", path=path, size=size, expected=checksum.bytes)
        if contents:
            with path.open("rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != checksum.sha256:
                    return Text("{path} has changed since it was published", path=path)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise  # the process's own trouble
        return Text("{path} cannot be read ({error})", path=path, error=error.strerror)
    return ""


def _files(folder: Path) -> list[str]:
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return sorted(name for name in found if name not in (MANIFEST_FILE, MANIFEST_CHECKSUM_FILE))


def open_readonly(path: Path) -> sqlite3.Connection:
    """Open a SQLite file read-only; threads may share the connection, but must take turns.

    With ``immutable`` SQLite looks for no journal and writes nothing beside the file.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
