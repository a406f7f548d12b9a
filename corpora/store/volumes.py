"""One stream of bytes in several files, ``NAME.001``, ``NAME.002`` …, for media that cannot hold a large file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from shrag.corpora.errors import CorpusError
from shrag.messages.text import Text

FIRST = 1


def volume_path(path: Path, number: int) -> Path:
    """Return the path of the volume ``number`` of ``path``, counted from 1.

    >>> volume_path(Path("a.tar"), 12).name
    'a.tar.012'
    """
    return path.with_name(f"{path.name}.{number:03d}")


def find_volumes(path: Path) -> list[Path]:
    """Return ``path`` itself, or, if only its volumes exist, the volumes up to the first missing number.

    Raises:
        CorpusError: ``path`` is one of several volumes.
    """
    if path.exists() or not volume_path(path, FIRST).exists():
        whole = path.parent / path.stem
        if path.suffix and len(volumes := _volumes(whole)) > 1 and path in volumes:
            raise CorpusError(
                Text(
                    "{path} is one of {count} volumes: give the name {whole}.",
                    path=path,
                    count=len(volumes),
                    whole=whole,
                )
            )
        return [path]
    return _volumes(path)


def _volumes(path: Path) -> list[Path]:
    volumes: list[Path] = []
    while (volume := volume_path(path, FIRST + len(volumes))).exists():
        volumes.append(volume)
    return volumes


class VolumeReader(io.RawIOBase):
    """Reads files one after the other as one stream. An ``OSError`` has the path of the file that cannot be read."""

    def __init__(self, paths: list[Path]) -> None:
        self._left = list(paths)
        self._stream: BinaryIO | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill ``buffer`` with the next bytes; return their number, which is 0 at the end of the last file."""
        while self._stream is not None or self._left:
            if self._stream is None:
                self._stream = self._left.pop(0).open("rb")
            try:
                count = self._stream.readinto(buffer)  # type: ignore[attr-defined]
            except OSError as error:
                raise OSError(error.errno, error.strerror, self._stream.name) from error
            if count:
                return int(count)
            self._stream.close()
            self._stream = None
        return 0

    def close(self) -> None:
        """Close the file that is open."""
        if self._stream is not None:
            self._stream.close()
        super().close()


class VolumeWriter(io.RawIOBase):
    """Writes a stream to files of at most ``size`` bytes each; ``paths`` are the files written so far."""

    def __init__(self, path: Path, size: int) -> None:
        self.paths: list[Path] = []
        self._path, self._size, self._free = path, size, 0
        self._stream: BinaryIO | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write as many bytes as fit into the current volume, or a new one if it is full; return their number."""
        if not self._free:
            self._next()
        assert self._stream is not None  # noqa: S101  (_next opened it)
        count = self._stream.write(memoryview(data)[: self._free])
        self._free -= count
        return count

    def close(self) -> None:
        """Close the last file."""
        if self._stream is not None:
            self._stream.close()
        super().close()

    def _next(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self.paths.append(volume_path(self._path, FIRST + len(self.paths)))
        self._stream = self.paths[-1].open("wb")
        self._free = self._size
