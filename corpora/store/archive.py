"""An archive is one file that carries a corpus, an index or an installation: a tar whose first member lists all others.

The first member, ``shrag-archive.json``, has the size and the SHA-256 of every file. The files follow in its order,
uncompressed. The same files always give the same bytes. Every file that is read is compared with its size and checksum,
so a damaged, cut, extended or malicious archive leaves nothing behind.

This module imports only Python's standard library, because the installer of a bundle reads archives before anything is
installed.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, cast

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull, sync_file
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum, decode_checksums
from shrag.corpora.store.volumes import VolumeReader, VolumeWriter, find_volumes, volume_path
from shrag.messages.text import Text

HEADER = "shrag-archive.json"
"""The name of the first member."""

ArchiveKind = Literal["bundle", "corpus", "index"]

_FORMAT = 1
_LARGEST_HEADER = 2**24
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveHeader:
    """The contents of an archive: the kind and name of what it carries, and its files by their paths."""

    format: int = _FORMAT
    kind: ArchiveKind
    name: str
    files: dict[str, FileChecksum]

    @property
    def total_bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files.values())


@dataclass(frozen=True, slots=True)
class OpenedArchive:
    """An archive that is being read: its header, and its files in order with their data.

    Reading the data of a file compares it with the header.
    """

    header: ArchiveHeader
    members: Iterator[tuple[str, Iterator[bytes]]]

    def compare_rest(self) -> None:
        """Read the files that are left, to compare them with the header."""
        for _, chunks in self.members:
            for _ in chunks:
                pass


def write_archive(
    path: Path,
    kind: ArchiveKind,
    name: str,
    files: Mapping[str, Path | bytes],
    volume_bytes: int = 0,
    checksums: Mapping[str, FileChecksum] = MappingProxyType({}),
) -> ArchiveHeader:
    """Write files, each a path or its content, as the archive ``path``, which must not exist yet.

    Args:
        path: The archive; with ``volume_bytes``, the beginning of the names of its volumes.
        kind: The kind of the thing that the archive carries.
        name: The name of that thing.
        files: The files by their paths in the archive, in the order in which they are written.
        volume_bytes: The largest size of a volume, or 0 for an archive in one file.
        checksums: The checksums of files, if known already; the written files are compared with these too.

    Raises:
        CorpusError: The file exists, or a file changes while it is read.
    """
    check_new(path)
    known = {each: checksums.get(each) or compute_checksum(file) for each, file in files.items()}
    header = ArchiveHeader(kind=kind, name=name, files=known)
    part = path.with_name(f".{path.name}.part")
    written: Sequence[Path] = [part]
    try:
        with _written(part, volume_bytes) as (stream, written), _tar(stream) as archive:
            data = json.dumps(asdict(header), ensure_ascii=False, indent=1).encode()
            archive.addfile(_member(HEADER, len(data)), io.BytesIO(data))
            for each, file in files.items():
                with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as source:
                    archive.addfile(_member(each, header.files[each].bytes), source)
        verify_archive(part, kind)
        for number, file_written in enumerate(written, start=1):
            sync_file(file_written)
            file_written.rename(volume_path(path, number) if volume_bytes else path)
        sync_file(path.parent)
    finally:
        for file_written in written:
            file_written.unlink(missing_ok=True)
    return header


def verify_archive(path: Path, kind: ArchiveKind) -> ArchiveHeader:
    """Read a whole archive, compare its files with the header, and return the header.

    Raises:
        CorpusError: The archive cannot be read, is not an archive of that kind, or a file is not as the header says.
    """
    with open_archive(path, kind) as archive:
        archive.compare_rest()
    return archive.header


def read_header(path: Path, kind: ArchiveKind) -> ArchiveHeader:
    """Return the header of an archive without reading its files.

    Raises:
        CorpusError: The archive cannot be read, or is not an archive of that kind.
    """
    with open_archive(path, kind) as archive:
        return archive.header


def read_files(path: Path, kind: ArchiveKind, names: Iterable[str]) -> tuple[ArchiveHeader, dict[str, bytes]]:
    """Return the header of an archive and the contents of its files ``names``; compare all files with their checksums.

    Nothing is extracted. Names that the archive does not have are left out. Raises ``CorpusError`` as
    :func:`extract_archive` does.
    """
    wanted = set(names)
    found = {}
    with open_archive(path, kind) as archive:
        for name, chunks in archive.members:
            if name in wanted:
                found[name] = b"".join(chunks)
            for _ in chunks:
                pass  # reading a file compares it
    return archive.header, found


def extract_archive(path: Path, kind: ArchiveKind, folder: Path) -> ArchiveHeader:
    """Extract an archive into ``folder``, which must not exist yet; on any error the folder is removed again.

    Raises:
        CorpusError: The archive cannot be read, is not an archive of that kind, or a file is not as the header says.
        DiskFull: There is no room for its files.
    """
    with open_archive(path, kind) as archive:
        check_room(path, archive.header.total_bytes, folder.parent)
        folder.mkdir()
        try:
            for name, chunks in archive.members:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as stream:
                    for chunk in chunks:
                        stream.write(chunk)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return archive.header


def check_new(path: Path) -> None:
    """Raise :class:`CorpusError` if the archive ``path``, or its first volume, exists already."""
    for existing in (path, volume_path(path, 1)):
        if existing.exists():
            raise CorpusError(Text("{path} exists already: name another file, or delete it first.", path=existing))


def is_inside(name: str) -> bool:
    """Return whether a path in an archive is normalized and stays in the folder that the archive is extracted to.

    >>> is_inside("a/b.txt"), is_inside("../b.txt"), is_inside("/b.txt"), is_inside("a//b.txt")
    (True, False, False, False)
    """
    parts = PurePosixPath(name).parts
    return bool(parts) and name == "/".join(parts) and parts[0] != "/" and ".." not in parts and "\0" not in name


def check_room(path: Path, needed: int, folder: Path) -> None:
    """Raise :class:`DiskFull` unless ``folder`` has ``needed`` free bytes for the contents of ``path``."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DiskFull(
            Text(
                "{path} needs {bytes:,} bytes, and {free:,} are left under {parent}: free some space and run again.",
                path=path,
                bytes=needed,
                free=free,
                parent=folder,
            )
        )


@contextmanager
def open_archive(path: Path, kind: ArchiveKind) -> Iterator[OpenedArchive]:
    """Open an archive in one file or in volumes, and read and check its header.

    Raises:
        CorpusError: As :func:`read_header`; within the context, if a file is not as the header says.
    """
    volumes = [path]
    try:
        volumes = find_volumes(path)
        for volume in volumes:
            if volume.exists() and not volume.is_file():
                raise CorpusError(Text("{path} is not a regular file: give the path of the archive.", path=volume))
        with io.BufferedReader(VolumeReader(volumes), _CHUNK) as stream, _tar(stream) as archive:
            header = _read_header(path, archive, kind)
            yield OpenedArchive(header, _read_members(path, archive, header))
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise CorpusError(
            Text(
                "{path} is damaged or no archive ({error}): {copy_again}.",
                path=path,
                error=error,
                copy_again=_COPY_AGAIN,
            )
        ) from None
    except OSError as error:
        if error.filename is not None and Path(error.filename) in volumes:  # else it is of what the caller writes
            raise CorpusError(
                Text("{path} cannot be read: {strerror}.", path=path, strerror=error.strerror or error)
            ) from None
        raise


_COPY_AGAIN = Text("copy it again from where it was exported")


def _read_header(path: Path, archive: tarfile.TarFile, kind: ArchiveKind) -> ArchiveHeader:
    member = archive.next()
    if member is None or member.name != HEADER or not _is_plain(member) or member.size > _LARGEST_HEADER:
        raise CorpusError(
            Text(
                "{path} was not written by `shrag {kind} export`: its first member is not {header}.",
                path=path,
                kind=kind,
                header=HEADER,
            )
        )
    data = b"".join(_read(path, archive, member))
    try:
        header = _decode_header(data)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorpusError(
            Text(
                "{path} has a header that cannot be read ({error}): {copy_again}.",
                path=path,
                error=error,
                copy_again=_COPY_AGAIN,
            )
        ) from None
    if header.format != _FORMAT:
        raise CorpusError(
            Text(
                "{path} has archive format {found}, this SHRAG reads {known}: export it again.",
                path=path,
                found=header.format,
                known=_FORMAT,
            )
        )
    if header.kind != kind:
        raise CorpusError(
            Text(
                "{path} holds the {kind} {name}: use `shrag {kind} import`.",
                path=path,
                kind=header.kind,
                name=header.name,
            )
        )
    for name in header.files:
        if not is_inside(name):
            raise CorpusError(
                Text(
                    "{path} names the file {name!r}, which is outside its folder: it is refused.",
                    path=path,
                    name=name[:100],
                )
            )
    return header


def _decode_header(data: bytes) -> ArchiveHeader:
    """Decode a header; raises ``ValueError``, ``TypeError`` or ``KeyError`` if ``data`` is not a header."""
    values: dict[str, Any] = json.loads(data)
    files = decode_checksums(values.pop("files"))
    header = ArchiveHeader(**values, files=files)
    if not isinstance(values["name"], str):
        raise TypeError("its name is not a string")
    return header


def _read_members(path: Path, archive: tarfile.TarFile, header: ArchiveHeader) -> Iterator[tuple[str, Iterator[bytes]]]:
    left = dict(header.files)
    while (member := archive.next()) is not None:
        file = left.pop(member.name, None)
        if file is None or not _is_plain(member) or member.size != file.bytes:
            raise CorpusError(
                Text(
                    "{path} holds {name!r}, which differs from its header: {copy_again}.",
                    path=path,
                    name=member.name[:100],
                    copy_again=_COPY_AGAIN,
                )
            )
        yield member.name, _compared(path, _read(path, archive, member), member.name, file)
    if left:
        raise CorpusError(
            Text("{path} breaks off before {left}: {copy_again}.", path=path, left=min(left), copy_again=_COPY_AGAIN)
        )


def _compared(path: Path, chunks: Iterator[bytes], name: str, file: FileChecksum) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != file.sha256:
        raise CorpusError(
            Text(
                "{path}: {name} does not have the checksum of the header: {copy_again}.",
                path=path,
                name=name,
                copy_again=_COPY_AGAIN,
            )
        )


def _read(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    source = archive.extractfile(member)
    if source is None:
        raise CorpusError(
            Text(
                "{path} holds {name!r}, which is not a file: {copy_again}.",
                path=path,
                name=member.name[:100],
                copy_again=_COPY_AGAIN,
            )
        )
    left = member.size
    while left:
        chunk = source.read(min(_CHUNK, left))
        if not chunk:
            raise CorpusError(
                Text("{path} breaks off in {name}: {copy_again}.", path=path, name=member.name, copy_again=_COPY_AGAIN)
            )
        left -= len(chunk)
        yield chunk


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.isreg() and not member.issparse()


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member


@contextmanager
def _written(part: Path, volume_bytes: int) -> Iterator[tuple[BinaryIO, Sequence[Path]]]:
    """Open the file or its volumes for writing; yield the stream and the paths of the files written so far."""
    for left in (part, *part.parent.glob(f"{glob.escape(part.name)}.[0-9]*")):
        left.unlink(missing_ok=True)  # of an export that was killed; it would be read with the new volumes
    if not volume_bytes:
        with part.open("wb") as stream:
            yield stream, [part]
        return
    writer = VolumeWriter(part, volume_bytes)
    with io.BufferedWriter(cast(io.RawIOBase, writer), _CHUNK) as stream:
        yield stream, writer.paths


def _tar(stream: BinaryIO) -> tarfile.TarFile:
    mode: Literal["r|", "w|"] = "w|" if stream.writable() else "r|"
    return tarfile.open(fileobj=stream, mode=mode, format=tarfile.PAX_FORMAT)
