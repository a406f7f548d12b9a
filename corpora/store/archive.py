"""One file that carries a corpus or an index to another machine: a tar whose first member names all others.

The first member, ``shrag-archive.json``, has the size and the SHA-256 of every file; the files follow in its order,
uncompressed. The same files give the same bytes. What is extracted is compared while it is written, so that a damaged,
cut, extended or malicious archive leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull, sync_file
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum
from shrag.messages.text import Text

HEADER = "shrag-archive.json"
"""Name of the first member."""

ArchiveKind = Literal["corpus", "index"]

_FORMAT = 1
_LARGEST_HEADER = 2**24
_CHUNK = 2**20


class ArchiveHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an archive holds: a corpus or an index by its name, and its files by their paths."""

    format: int = _FORMAT
    kind: ArchiveKind
    name: str
    files: dict[str, FileChecksum]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files.values())


def write_archive(path: Path, kind: ArchiveKind, name: str, files: Mapping[str, Path | bytes]) -> ArchiveHeader:
    """Write files, each a path or its content, as the archive ``path``, which must not exist yet.

    Raises:
        CorpusError: The file exists, or a file changes while it is read.
    """
    if path.exists():
        raise CorpusError(Text("{path} exists already: name another file, or delete it first.", path=path))
    header = ArchiveHeader(kind=kind, name=name, files={each: _checksum(file) for each, file in files.items()})
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as stream, tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            data = msgspec.json.format(msgspec.json.encode(header), indent=1)
            archive.addfile(_member(HEADER, len(data)), io.BytesIO(data))
            for each, file in files.items():
                with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as source:
                    archive.addfile(_member(each, header.files[each].bytes), source)
        with _opened(part, kind) as (_, members):
            for _, chunks in members:
                for _ in chunks:
                    pass  # compares them
        sync_file(part)
        part.rename(path)
        sync_file(path.parent)
    finally:
        part.unlink(missing_ok=True)
    return header


def read_header(path: Path, kind: ArchiveKind) -> ArchiveHeader:
    """Return what an archive says that it holds.

    Raises:
        CorpusError: It cannot be read, or is no archive of that kind.
    """
    with _opened(path, kind) as (header, _):
        return header


def read_files(path: Path, kind: ArchiveKind, names: Iterable[str]) -> tuple[ArchiveHeader, dict[str, bytes]]:
    """Compare every file of an archive with its checksum, extract none, and return its header and the files ``names``.

    What is named and not in the archive is left out. Raises as :func:`extract_archive` does.
    """
    wanted = set(names)
    found = {}
    with _opened(path, kind) as (header, members):
        for name, chunks in members:
            if name in wanted:
                found[name] = b"".join(chunks)
            for _ in chunks:
                pass  # compares them
    return header, found


def extract_archive(path: Path, kind: ArchiveKind, folder: Path) -> ArchiveHeader:
    """Extract an archive into ``folder``, which must not exist yet; on any error it does not exist afterwards either.

    Raises:
        CorpusError: The archive cannot be read, is no archive of that kind, or a file is not as the header says.
        DiskFull: There is no room for its files.
    """
    with _opened(path, kind) as (header, members):
        free = shutil.disk_usage(folder.parent).free
        if header.bytes > free:
            raise DiskFull(
                Text(
                    "{path} needs {bytes:,} bytes, and {free:,} are left under {parent}.",
                    path=path,
                    bytes=header.bytes,
                    free=free,
                    parent=folder.parent,
                )
            )
        folder.mkdir()
        try:
            for name, chunks in members:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as stream:
                    for chunk in chunks:
                        stream.write(chunk)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return header


@contextmanager
def _opened(path: Path, kind: ArchiveKind) -> Iterator[tuple[ArchiveHeader, Iterator[tuple[str, Iterator[bytes]]]]]:
    """Open an archive; give its header, and its files in order with their data, which is compared while it is read."""
    try:
        if path.exists() and not path.is_file():
            raise CorpusError(Text("{path} is not a regular file: give the path of the archive.", path=path))
        with path.open("rb") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            header = _read_header(path, archive, kind)
            yield header, _read_members(path, archive, header)
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
        if error.filename is None or Path(error.filename) == path:
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
                "{path} is no file that `shrag {kind} export` wrote: its first member is not {header}.",
                path=path,
                kind=kind,
                header=HEADER,
            )
        )
    data = b"".join(_read(path, archive, member))
    try:
        header = msgspec.json.decode(data, type=ArchiveHeader)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
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
        parts = PurePosixPath(name).parts
        if not parts or name != "/".join(parts) or parts[0] == "/" or ".." in parts or "\0" in name:
            raise CorpusError(
                Text(
                    "{path} names the file {name!r}, which is outside its folder: it is refused.",
                    path=path,
                    name=name[:100],
                )
            )
    return header


def _read_members(path: Path, archive: tarfile.TarFile, header: ArchiveHeader) -> Iterator[tuple[str, Iterator[bytes]]]:
    left = dict(header.files)
    while (member := archive.next()) is not None:
        file = left.pop(member.name, None)
        if file is None or not _is_plain(member) or member.size != file.bytes:
            raise CorpusError(
                Text(
                    "{path} holds {name!r}, which is not as its header says: {copy_again}.",
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
                "{path} holds {name!r}, which is no file: {copy_again}.",
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


def _checksum(file: Path | bytes) -> FileChecksum:
    if isinstance(file, bytes):
        return FileChecksum(len(file), hashlib.sha256(file).hexdigest())
    return compute_checksum(file)
