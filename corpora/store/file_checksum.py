"""The size and SHA-256 of a file; uses only Python's standard library, since a bundle's installer has nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


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
