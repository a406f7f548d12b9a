"""Carry a generation of an index to another machine as one file: export and import."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from shrag.corpora.files import FolderBusy, check_name, disk_errors, keep_files, lock_folder
from shrag.corpora.store.archive import ArchiveHeader, extract_archive, read_files, read_header, write_archive
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.open_index import check_analyzer
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE
from shrag.indexing.storage.generations import (
    check_files,
    current_generation,
    current_number,
    generation_folder,
    next_generation,
    prune_generations,
    publish,
    read_current,
    read_generation,
)
from shrag.indexing.storage.manifest import IndexManifest, decode_manifest
from shrag.messages.text import Text, message_of

IMPORT_FOLDER = "import"
"""Name of the folder, in an index's folder, into which an archive is extracted."""


def export_index(indexes: Path, name: str, path: Path, generation: int | None = None) -> ArchiveHeader:
    """Check the files of a generation, the current one by default, and write them as the archive ``path``.

    Raises:
        IndexMissing: There is no such index or generation.
        IndexDamaged: A file of the generation is damaged.
        CorpusError: The archive's file exists already.
    """
    index = indexes / check_name(name)
    number = read_current(index)[0] if generation is None else generation
    folder = generation_folder(index, number)
    manifest = read_generation(index, number)
    with keep_files(folder), disk_errors(path.parent):
        check_files(folder, manifest)
        files = (MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, *sorted(manifest.files))
        return write_archive(path, "index", name, {each: folder / each for each in files})


def import_index(indexes: Path, path: Path, name: str = "") -> IndexManifest:
    """Publish the generation in an archive as the next one of its index. Running servers switch to it.

    A generation that is already the current one here is not published again.

    Args:
        indexes: The folder of all indexes.
        path: The archive.
        name: The index's name here, empty for that of the archive.

    Returns:
        The manifest of the generation that is current now.

    Raises:
        CorpusError: The archive is damaged.
        IndexDamaged: Its manifest is missing or damaged, or lists other files.
        IndexMismatch: The generation has another format or analyzer.
        IndexingError: A build writes the index.
    """
    index = indexes / check_name(name or read_header(path, "index").name)
    try:
        with disk_errors(index), lock_folder(index):
            draft = index / IMPORT_FOLDER
            shutil.rmtree(draft, ignore_errors=True)
            header = extract_archive(path, "index", draft)
            try:
                manifest = _checked(draft, header, path)
                if (here := _current_manifest(index)) is not None and here.files == manifest.files:
                    return here
                manifest = msgspec.structs.replace(manifest, generation=next_generation(index))
                check_files(draft, manifest)  # now, so that the first question need not wait for it
                before = current_number(index)
                publish(index, draft, manifest)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
            prune_generations(index, manifest.generation, before)
            return manifest
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


def _current_manifest(index: Path) -> IndexManifest | None:
    """Return the manifest of the current generation if its files are intact, else None."""
    try:
        folder, manifest = current_generation(index)
        check_files(folder, manifest)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    return manifest


def archived_manifest(path: Path) -> tuple[str, IndexManifest]:
    """Check all files of an archive without extracting them; return the name and the manifest of its index.

    Raises:
        CorpusError: The archive is damaged.
        IndexDamaged, IndexMismatch: The manifest is missing, damaged, or of another format.
    """
    header, found = read_files(path, "index", [MANIFEST_FILE])
    return header.name, _listed_manifest(header, path, found.get(MANIFEST_FILE, b""), header.name)


def _checked(draft: Path, header: ArchiveHeader, path: Path) -> IndexManifest:
    """Return the manifest among the extracted files, and check that it fits the header and the analyzer."""
    data = (draft / MANIFEST_FILE).read_bytes() if MANIFEST_FILE in header.files else b""
    manifest = _listed_manifest(header, path, data, draft.parent.name)
    check_analyzer(draft.parent.name, manifest, analyzer_fingerprint(load_dictionary(draft)))
    return manifest


def _listed_manifest(header: ArchiveHeader, path: Path, data: bytes, name: str) -> IndexManifest:
    """Return the manifest ``data`` of an archive, which must list the files of the header."""
    found = dict(header.files)
    if not found.keys() >= {MANIFEST_FILE, MANIFEST_CHECKSUM_FILE}:
        raise IndexDamaged(
            Text("{path} has no {manifest_file}: export the index again.", path=path, manifest_file=MANIFEST_FILE)
        )
    manifest = decode_manifest(data, Path(name, IMPORT_FOLDER, MANIFEST_FILE))
    del found[MANIFEST_FILE], found[MANIFEST_CHECKSUM_FILE]
    if found != manifest.files:
        raise IndexDamaged(
            Text("{path} has other files than the manifest in it names: export the index again.", path=path)
        )
    return manifest
