"""The files of installed bundles, each once, under its SHA-256."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from shrag.corpora.files import sync_file
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum

_PART = ".part"


class FileStore:
    """Files under their SHA-256: what an interrupted installation extracted is not extracted again.

    An update carries only the files that its base did not have; the others are here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: FileChecksum) -> Path:
        """Return where a file is, or would be."""
        return self.folder / file.sha256

    def has(self, file: FileChecksum) -> bool:
        """Return whether the file is there, undamaged."""
        path = self.path(file)
        return path.is_file() and path.stat().st_size == file.bytes and compute_checksum(path) == file

    def add(self, file: FileChecksum, chunks: Iterator[bytes]) -> None:
        """Write a file; ``chunks`` raises at its end if the data is not that of its checksum."""
        part = self.folder / f"{file.sha256}{_PART}"
        with part.open("wb") as stream:
            for chunk in chunks:
                stream.write(chunk)
        sync_file(part)
        part.rename(self.path(file))

    def place(self, file: FileChecksum, target: Path) -> None:
        """Put a file at ``target``, as another name (a hard link) of it; what was there is replaced."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        os.link(self.path(file), target)

    def prune(self, kept: Iterable[FileChecksum]) -> None:
        """Delete all files but ``kept``."""
        names = {file.sha256 for file in kept}
        for path in self.folder.iterdir():
            if path.name not in names:
                path.unlink()
