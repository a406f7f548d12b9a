"""Load a generation into Milvus by its bulk import, and publish it there as any other load does.

Milvus reads the files of :mod:`shrag.indexing.distributed.bulk_files` from its own object storage, where the user has
put them. This module sends Milvus only their paths, and no records. One job imports one file. Importing a file twice
would store its documents twice, so a job is never repeated in a collection. Each state is on the disk before the next:

indexes/NAME/loads/gen-000007/milvus-DIGEST.jobs     what is imported; then a line for each state of a file

If a killed load cannot tell whether a file was imported, the next load begins again with an empty collection.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.files import append_line, check_name
from shrag.indexing.distributed.bulk_files import BulkFile, read_manifests
from shrag.indexing.distributed.database import alias_name
from shrag.indexing.distributed.load import LoadProgress, Report, check_count, open_documents, publishing
from shrag.indexing.distributed.milvus import MilvusCollection, MilvusDatabase
from shrag.indexing.errors import IndexingError
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.manifest import IndexManifest
from shrag.messages.text import Text

_MOST_JOBS = 64  # at once; Milvus takes 1,024 from all its users together
_ASKED, _ENDED = 0, -1  # noted instead of a job's number: the job is being requested, or has imported its file
_POLL_SECONDS = 2.0


def bulk_load(
    indexes: Path,
    name: str,
    folder: Path,
    choice: EngineChoice,
    prefix: str,
    report: Report = lambda what, done: None,
) -> bool:
    """Make Milvus import the files of the current generation, unless it is loaded, and publish it there.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        folder: The folder that :func:`~shrag.indexing.distributed.bulk_files.export_milvus` wrote. Only its manifests
            are needed.
        choice: The Milvus server.
        prefix: The folder of the files in the bucket that Milvus is configured with.
        report: Called with the progress.

    Returns:
        Whether anything was imported.

    Raises:
        IndexingError: The export is incomplete or of another generation, Milvus cannot import a file, the collection
            lacks records in the end, or Milvus does not answer.
    """
    index = indexes / check_name(name)
    generation, manifest = current_generation(index)
    files = read_manifests(folder, name, manifest)
    _check_prefix(prefix)
    if choice.name != "milvus" or "://" not in choice.address:
        raise _not_a_server(choice, name)
    with publishing(index, manifest, choice) as (database, progress):
        if not isinstance(database, MilvusDatabase):
            raise _not_a_server(choice, name)
        there = database.open(progress.collection)
        if there is not None and progress.read() == manifest.records == there.count():
            return False
        with open_documents(generation, manifest):
            pass  # opening writes the vocabulary, without which nothing is found
        jobs = _Jobs(progress.path.with_suffix(".jobs"), f"{progress.collection} {_digest(prefix, files)}")
        noted = jobs.read() if there is not None and progress.path.is_file() else None
        if there is None or noted is None:
            there, noted = _begin(database, there, name, manifest, progress), {}
            jobs.begin()
        _import(database, progress.collection, files, prefix, jobs, noted, report)
        there.finish_import()
        check_count(there, manifest, progress)
        progress.append(manifest.records)
        jobs.remove()
        return True


def _begin(
    database: MilvusDatabase,
    there: MilvusCollection | None,
    name: str,
    manifest: IndexManifest,
    progress: LoadProgress,
) -> MilvusCollection:
    """Create the collection anew, and delete the remains of an import that cannot be continued."""
    if there is not None:
        if database.target(alias_name(name)) == progress.collection:
            raise IndexingError(
                Text(
                    "The collection {collection} is published and lacks records: load what is missing with "
                    "`shrag index {name}`, which does not empty it first.",
                    collection=progress.collection,
                    name=name,
                )
            )
        database.drop(progress.collection)
    progress.begin(0)
    return database.create(progress.collection, manifest.vectors.dimension if manifest.vectors else 0)


def _import(
    database: MilvusDatabase,
    collection: str,
    files: Sequence[BulkFile],
    prefix: str,
    jobs: _Jobs,
    noted: Mapping[str, int],
    report: Report,
) -> None:
    """Import every file that has no note, several at a time, and wait until all are imported."""
    waiting = deque(file for file in files if file.name not in noted)
    running = {file: noted[file.name] for file in files if noted.get(file.name, _ENDED) != _ENDED}
    done = sum(file.rows for file in files if noted.get(file.name) == _ENDED)
    report("records loaded", done)
    while waiting or running:
        while waiting and len(running) < _MOST_JOBS:
            file = waiting.popleft()
            jobs.append(file, _ASKED)
            running[file] = database.start_import(collection, _path(prefix, file))
            jobs.append(file, running[file])
        for file, job in list(running.items()):
            state = database.import_state(job)
            if state.failure:
                jobs.remove()
                raise IndexingError(
                    Text(
                        "Milvus could not import {path} ({reason}): check that the files of {name} are in its "
                        "bucket under the prefix {prefix!r}, and run again; the import then begins with an empty "
                        "collection.",
                        path=_path(prefix, file),
                        reason=state.failure,
                        name=collection,
                        prefix=prefix,
                    )
                )
            if state.is_finished:
                jobs.append(file, _ENDED)
                del running[file]
                done += file.rows
                report("records loaded", done)
        if running:
            time.sleep(_POLL_SECONDS)


def _path(prefix: str, file: BulkFile) -> str:
    return f"{prefix}/{file.name}" if prefix else file.name


def _check_prefix(prefix: str) -> None:
    """Raise :class:`IndexingError` if the prefix cannot be a folder of a bucket, for example if it is an address."""
    parts = prefix.split("/")
    if prefix and (":" in prefix or "\\" in prefix or not prefix.isprintable() or {"", ".", ".."} & set(parts)):
        raise IndexingError(
            Text(
                "{prefix!r} is not a prefix of objects in Milvus's bucket: name the folder that the files were "
                "copied to, without the bucket, an address, or a slash at its ends, such as shrag/sci.",
                prefix=prefix,
            )
        )


def _not_a_server(choice: EngineChoice, name: str) -> IndexingError:
    return IndexingError(
        Text(
            "Only a Milvus server imports files, and the engine is {engine} at {address!r}: set --engine milvus and "
            "--engine-address http://HOST:PORT, or load with `shrag index {name}`.",
            name=name,
            engine=choice.name,
            address=choice.address,
        )
    )


def _digest(prefix: str, files: Sequence[BulkFile]) -> str:
    return hashlib.sha256(msgspec.json.encode((prefix, files))).hexdigest()


class _Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    job: int


class _Jobs:
    """The file of an import's jobs: a line that identifies the import, then a line for each new state of a file."""

    def __init__(self, path: Path, header: str) -> None:
        self._path = path
        self._header = _Job(header, _ASKED)

    def read(self) -> dict[str, int] | None:
        """Return each file's job; None if they are another import's, or if it is unknown whether a job was started."""
        found: dict[str, int] = {}
        lines = self._path.read_bytes().splitlines() if self._path.is_file() else []
        try:
            header, *rest = (msgspec.json.decode(line, type=_Job) for line in lines)
        except (msgspec.MsgspecError, ValueError):  # no line at all, or an incomplete last one
            return None
        for each in rest:
            found[each.file] = each.job
        return found if header == self._header and _ASKED not in found.values() else None

    def begin(self) -> None:
        """Start the file anew."""
        self._path.unlink(missing_ok=True)
        append_line(self._path, msgspec.json.encode(self._header))

    def append(self, file: BulkFile, job: int) -> None:
        """Note the state of a file."""
        append_line(self._path, msgspec.json.encode(_Job(file.name, job)))

    def remove(self) -> None:
        """Forget the import."""
        self._path.unlink(missing_ok=True)
