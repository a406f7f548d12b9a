"""``RECORD``, the list of a package's installed files with their SHA-256 (PEP 376, PEP 427)."""

from __future__ import annotations

import csv
import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path


def recorded_files(record: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each file that has a SHA-256 in a ``RECORD``, and that SHA-256 as written there."""
    for name, checksum, *_ in csv.reader(record.splitlines()):
        algorithm, _, digest = checksum.partition("=")
        if algorithm == "sha256":
            yield name, digest


def recorded_digest(path: Path) -> str:
    """Return the SHA-256 of a file as ``RECORD`` writes it; empty if the file cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return urlsafe_b64encode(digest).decode().rstrip("=")
