"""Remember the files that were verified, so that a start reads only those that changed since, as ``git status`` does.

A file counts as unchanged if it has the inode, the size and the times that it had before it was last verified. The time
of its last change (``ctime``) is set by the system alone, whenever the file is written or replaced. A copy of an index
on another disk has other inodes, so its files are read once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.files import write_atomically

FILE = ".verified"
"""File name in an index's folder."""

_MOST_GENERATIONS = 8
# The clock of a file system ticks every few milliseconds: a file that changes twice within a tick looks unchanged.
_SETTLED_SECONDS = 2


class FileState(NamedTuple):
    """The properties of a file that change whenever its content does. The times are in nanoseconds."""

    inode: int
    bytes: int
    modified: int
    changed: int


_Verified = dict[str, dict[str, FileState]]
"""Generation, by its manifest's SHA-256 → file → its state when it was verified."""


def file_states(folder: Path, names: Iterable[str]) -> dict[str, FileState]:
    """Return the states of files. Call it before the files are read, so that a later change is noticed.

    A file that is missing, or changed within the last two seconds, is left out.
    """
    settled = time.time_ns() - _SETTLED_SECONDS * 10**9
    states = {}
    for name in names:
        with suppress(OSError):
            found = (folder / name).stat(follow_symlinks=False)
            if found.st_ctime_ns < settled:
                states[name] = FileState(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return states


def read_verified(index: Path, digest: str) -> Mapping[str, FileState]:
    """Return the states in which files of the generation with the manifest ``digest`` were verified."""
    return _read(index).get(digest, {})


def remember_verified(index: Path, digest: str, states: Mapping[str, FileState]) -> None:
    """Remember that files of a generation were verified in these states, unless the folder is read-only."""
    verified = _read(index)
    verified.pop(digest, None)
    newest = dict([*verified.items(), (digest, dict(states))][-_MOST_GENERATIONS:])
    with suppress(OSError):
        write_atomically(index / FILE, msgspec.json.encode(newest))


def _read(index: Path) -> _Verified:
    try:
        return msgspec.json.decode((index / FILE).read_bytes(), type=_Verified)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
