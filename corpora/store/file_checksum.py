"""The size and SHA-256 of a file; uses only Python's standard library, since a bundle's installer has nothing else."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """The size and SHA-256 of a file when it was published or archived."""

    bytes: int
    sha256: str


def compute_checksum(file: Path | bytes) -> FileChecksum:
    """Return the checksum of a file, given by its path or its content."""
    if isinstance(file, bytes):
        return FileChecksum(len(file), hashlib.sha256(file).hexdigest())
    with file.open("rb") as stream:
        return FileChecksum(sha256=hashlib.file_digest(stream, "sha256").hexdigest(), bytes=stream.tell())


def decode_checksums(files: Any) -> dict[str, FileChecksum]:  # noqa: ANN401  (decoded JSON)
    """Decode the checksums of files by their paths.

    A store of files names each by its SHA-256, so anything else there could lead out of its folder.

    Raises:
        TypeError: ``files`` is not an object of objects that have a size and a SHA-256.
        ValueError: A size or a SHA-256 is not one.
    """
    if not isinstance(files, dict):
        raise TypeError("its files are not an object")
    checksums = {name: FileChecksum(**file) for name, file in files.items()}
    for each in checksums.values():
        _check(each.bytes, each.sha256)
    return checksums


def _check(size: object, digest: object) -> None:
    if type(size) is not int or size < 0:
        raise ValueError(f"a size is {size!r:.100}")
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise ValueError(f"a checksum is {digest!r:.100}")
