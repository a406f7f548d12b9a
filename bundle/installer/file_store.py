"""The store of the files of installed bundles. Each file is there once, and its SHA-256 is its name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from shrag.corpora.files import sync_file
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum

_PART = ".part"


class FileStore:
    """Files whose names are their SHA-256. Files that an interrupted installation extracted are not extracted again.

    An update carries only the files that its base does not have. The others are in this store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: FileChecksum) -> Path:
        """Return where a file is, or would be."""
        return self.folder / file.sha256

    def has(self, file: FileChecksum) -> bool:
        """Return whether the file is there and undamaged."""
        path = self.path(file)
        return path.is_file() and path.stat().st_size == file.bytes and compute_checksum(path) == file

    def add(self, file: FileChecksum, chunks: Iterator[bytes]) -> None:
        """Write a file; on any error nothing is left of it.

        ``chunks`` must raise at its end if the data does not match the checksum.
        """
        part = self.folder / f"{file.sha256}{_PART}"
        try:
            with part.open("wb") as stream:
                for chunk in chunks:
                    stream.write(chunk)
            sync_file(part)
            part.rename(self.path(file))
        finally:
            part.unlink(missing_ok=True)

    def place(self, file: FileChecksum, target: Path) -> None:
        """Put a file at ``target`` as a hard link, and replace what was there."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            os.link(self.path(file), target)
        except OSError:  # another file system, or one without hard links
            self.copy(file, target)

    def copy(self, file: FileChecksum, target: Path) -> None:
        """Put a copy of a file at ``target``, so that the store stays as it is where the copy is changed."""
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}{_PART}")
        try:
            shutil.copyfile(self.path(file), part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def prune(self, kept: Iterable[FileChecksum]) -> None:
        """Delete all files but ``kept``."""
        names = {file.sha256 for file in kept}
        for path in self.folder.iterdir():
            if path.name not in names:
                path.unlink()
