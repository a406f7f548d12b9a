"""Export an index as Parquet files for Milvus's bulk import, in the form of pymilvus's own bulk writer.

FOLDER/COLLECTION-000001.parquet    documents in the order of their numbers, one column for each field
FOLDER/COLLECTION-000001.json       its manifest: the first document, rows, bytes, SHA-256

COLLECTION is the name of the target collection, so the files of two generations cannot be confused. A file gets its
manifest once it is complete and on the disk. The division into files depends only on the documents and the size of a
file. A killed export that is run again writes the missing files, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import msgspec

from shrag.corpora.files import FolderBusy, check_name, disk_errors, lock_folder, sync_file, write_atomically
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum
from shrag.corpora.store.parquet import ColumnKind, TableWriter
from shrag.indexing.distributed.collection import Row
from shrag.indexing.distributed.database import collection_name
from shrag.indexing.distributed.load import OpenDocuments, open_documents
from shrag.indexing.distributed.milvus import row_fields
from shrag.indexing.errors import IndexingError
from shrag.indexing.storage.checksums import file_damage
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.manifest import IndexManifest
from shrag.messages.text import Text, message_of

FILE_BYTES = 512 << 20
"""Bytes after which a file is complete; Milvus refuses files of more than 16 GiB."""

COLUMNS: Mapping[str, ColumnKind] = {
    "number": "integer",
    "docid": "text",
    "docid_number": "integer",
    "year": "integer",
    "keys": "integers",
    "terms": "integers",
    "stored": "texts",
    "sparse": "text",  # a JSON object from dimensions to weights, which every Milvus since 2.4.4 reads
}
"""The columns of a collection without vectors."""

DENSE: ColumnKind = "vector"
"""The kind of the column ``dense``, in a collection with vectors."""

_GROUP_BYTES = 16 << 20  # Milvus reads a row group's whole column at once
_GROUP_ROWS = 10_000


class BulkFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file's manifest.

    Attributes:
        name: The file's name.
        first: The number of its first document.
        rows: The number of its documents.
        bytes: Its size.
        sha256: Its SHA-256.
    """

    name: str
    first: int
    rows: int
    bytes: int
    sha256: str


def export_milvus(
    indexes: Path,
    name: str,
    folder: Path,
    report: Callable[[str, int], None] = lambda what, done: None,
    file_bytes: int = FILE_BYTES,
) -> list[BulkFile]:
    """Write the current generation of an index as files for Milvus's bulk import, or continue a killed export.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        folder: A new folder, or the folder of the export to continue.
        report: Called with the progress.
        file_bytes: Bytes after which a file is complete.

    Returns:
        The manifests of all files.

    Raises:
        IndexingError: The folder has other files, the index cannot be read, or a record is larger than Milvus stores.
    """
    index = indexes / check_name(name)
    generation, manifest = current_generation(index)
    stem = collection_name(name, manifest)
    _check_folder(folder, stem)
    files: list[BulkFile] = []
    try:
        with disk_errors(folder.parent), lock_folder(index), open_documents(generation, manifest) as documents:
            folder.mkdir(parents=True, exist_ok=True)
            done = 0
            while done < manifest.records:
                path = folder / f"{stem}-{len(files) + 1:06d}.parquet"
                whole = _whole(path, done)
                files.append(whole or _write(path, documents, range(done, manifest.records), file_bytes))
                done += files[-1].rows
                report("records written", done)
            _remove_others(folder, files)
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None
    return files


def read_manifests(folder: Path, name: str, manifest: IndexManifest) -> list[BulkFile]:
    """Return the manifests of an export. The files themselves may be elsewhere.

    Args:
        folder: The folder of the export.
        name: The index.
        manifest: The manifest of the exported generation.

    Raises:
        IndexingError: The export is incomplete, or of another generation.
    """
    files: list[BulkFile] = []
    done = 0
    for number in count(1):
        path = folder / f"{collection_name(name, manifest)}-{number:06d}.parquet"
        file = _read(path)
        if file is None or file.first != done or done >= manifest.records:
            break
        files.append(file)
        done += file.rows
    if done != manifest.records:
        raise IndexingError(
            Text(
                "{folder} has manifests of {done:,} of the {records:,} records of generation {generation} of index "
                "{name}: write it with `shrag index export {name} {folder} --milvus`.",
                folder=folder,
                done=done,
                records=manifest.records,
                generation=manifest.generation,
                name=name,
            )
        )
    return files


def _check_folder(folder: Path, stem: str) -> None:
    for path in sorted(folder.iterdir()) if folder.is_dir() else [folder] if folder.exists() else []:
        if not path.name.removeprefix(".").startswith(f"{stem}-"):
            raise IndexingError(
                Text(
                    "{folder} has {file}, which does not belong to this export: choose a new folder, or the folder "
                    "of an unfinished export of the same generation, which is then continued.",
                    folder=folder,
                    file=path.name,
                )
            )


def _write(path: Path, documents: OpenDocuments, numbers: range, file_bytes: int) -> BulkFile:
    """Write the documents with these numbers until the file is large enough."""
    _manifest(path).unlink(missing_ok=True)
    rows = size = 0
    columns = dict(COLUMNS) if documents.vectors is None else {**COLUMNS, "dense": DENSE}
    with TableWriter(path, columns) as writer:
        for group in _groups(documents.rows(numbers), min(_GROUP_BYTES, file_bytes)):
            size = writer.write(group)
            rows += len(group)
            if size >= file_bytes:
                break
    sync_file(path)
    sync_file(path.parent)
    checksum = compute_checksum(path)
    file = BulkFile(path.name, numbers.start, rows, checksum.bytes, checksum.sha256)
    write_atomically(_manifest(path), msgspec.json.encode(file) + b"\n")
    return file


def _groups(rows: Iterator[Row], most_bytes: int) -> Iterator[list[dict[str, object]]]:
    """Yield the documents, one row group at a time."""
    group: list[dict[str, object]] = []
    size = 0
    for row in rows:
        fields = row_fields(row)
        sparse = row.sparse
        # Nine digits distinguish all 32-bit floating-point numbers.
        pairs = (f'"{d}":{w:.9g}' for d, w in zip(sparse.dimensions.tolist(), sparse.weights.tolist(), strict=True))
        fields["sparse"] = f"{{{','.join(pairs)}}}"
        group.append(fields)
        size += len(row.stored) + len(fields["sparse"]) + 8 * len(row.terms)
        size += 0 if row.dense is None else row.dense.nbytes
        if size >= most_bytes or len(group) == _GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _whole(path: Path, first: int) -> BulkFile | None:
    """Return the manifest of a file if the file is intact and begins with the document ``first``, else None."""
    file = _read(path)
    if file is None or file.first != first or not file.rows:
        return None
    return None if file_damage(path, FileChecksum(file.bytes, file.sha256)) else file


def _read(path: Path) -> BulkFile | None:
    try:
        file = msgspec.json.decode(_manifest(path).read_bytes(), type=BulkFile)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return file if file.name == path.name else None


def _manifest(path: Path) -> Path:
    return path.with_suffix(".json")


def _remove_others(folder: Path, files: list[BulkFile]) -> None:
    """Remove the files that an earlier export left, which divided the same generation in another way."""
    kept = {name for file in files for name in (file.name, _manifest(folder / file.name).name)}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
