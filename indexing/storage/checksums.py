"""SHA-256 of every file; read-only SQLite."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

MANIFEST_FILE = "MANIFEST.json"

MANIFEST_CHECKSUM_FILE = "MANIFEST.sha256"
"""The manifest's own digest, as ``sha256sum --check`` reads it. ``CURRENT`` has it too, but of one generation only."""

Verify = Literal["full", "quick"]
"""``full`` reads every byte before the first answer. ``quick`` compares names and sizes, and reads the bytes while
questions are answered already: for indexes that take longer to read than anyone wants to wait."""


class FileChecksum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it was when the index was sealed."""

    bytes: int
    sha256: str


class FileDamage(NamedTuple):
    """One file, by its path in the generation's folder, and how it is not as it was sealed."""

    file: str
    message: str


def compute_checksums(folder: Path) -> dict[str, FileChecksum]:
    """Return the seal of every file below ``folder``, by its path there, the manifest and its seal left out."""
    seals: dict[str, FileChecksum] = {}
    for name in _files(folder):
        with (folder / name).open("rb") as stream:
            seals[name] = FileChecksum(sha256=hashlib.file_digest(stream, "sha256").hexdigest(), bytes=stream.tell())
    return seals


def find_damage(folder: Path, seals: Mapping[str, FileChecksum], *, contents: bool = True) -> Iterator[FileDamage]:
    """Yield what differs from the seals, file by file; without ``contents`` names and sizes are compared, not bytes.

    A file that was not sealed is damage too: Lucene opens the newest ``segments_N`` it finds, whoever put it there.
    """
    for name in sorted({*_files(folder), *seals}):
        seal = seals.get(name)
        says = _not_sealed(folder / name) if seal is None else _difference(folder / name, seal, contents=contents)
        if says:
            yield FileDamage(name, says)


def find_file_damage(folder: Path, name: str, seal: FileChecksum) -> str:
    """Return how one file differs from its seal, in words that name it; empty where it does not."""
    return _difference(folder / name, seal, contents=True)


def _files(folder: Path) -> list[str]:
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return sorted(name for name in found if name not in (MANIFEST_FILE, MANIFEST_CHECKSUM_FILE))


def _not_sealed(path: Path) -> str:
    return f"{path} is not part of the index"


def _difference(path: Path, seal: FileChecksum, *, contents: bool) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return f"{path} is missing"
        size = path.stat().st_size
        if size != seal.bytes:
            return f"{path} has {size} bytes where {seal.bytes} were sealed"
        if contents:
            with path.open("rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != seal.sha256:
                    return f"{path} has changed since it was sealed"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return ""


def open_readonly(path: Path) -> sqlite3.Connection:
    """Return a connection that reads ``path`` and writes nothing; its users take turns.

    Immutable: no journal is looked for and nothing is written beside the file, which may be read-only.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
