"""Size and SHA-256 of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec


class FileChecksum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size and SHA-256 of a file when it was published or archived."""

    bytes: int
    sha256: str


def compute_checksum(path: Path) -> FileChecksum:
    """Return the checksum of one file."""
    with path.open("rb") as stream:
        return FileChecksum(sha256=hashlib.file_digest(stream, "sha256").hexdigest(), bytes=stream.tell())
