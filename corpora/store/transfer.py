"""Export a corpus as one file and import it on another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import FolderBusy, check_name, disk_errors, lock_folder, sync_file
from shrag.corpora.store.archive import ArchiveHeader, extract_archive, read_header, write_archive
from shrag.corpora.store.manifest import (
    MANIFEST_FILE,
    CorpusManifest,
    encode_manifest,
    read_manifest,
    read_previous,
    write_manifest,
)
from shrag.corpora.store.open_corpus import check_files, hold_corpus, remove_old_files
from shrag.messages.text import Text, message_of


def export_corpus(corpora: Path, name: str, path: Path) -> ArchiveHeader:
    """Check every record of the current version of a corpus, then write it as the archive ``path``.

    Raises:
        CorpusError: There is no such corpus, it is damaged, or the file exists.
    """
    folder = corpora / check_name(name)
    with hold_corpus(corpora, name) as manifest, disk_errors(path.parent):
        check_files(folder, manifest)
        stored = (manifest.records_file, manifest.rejects_file)
        files: dict[str, Path | bytes] = {MANIFEST_FILE: encode_manifest(manifest)}
        files |= {each: folder / each for each in stored}
        return write_archive(path, "corpus", name, files)


def import_corpus(corpora: Path, path: Path, name: str = "", *, replace: bool = False) -> tuple[CorpusManifest, bool]:
    """Store the corpus of an archive; return its manifest, and whether anything changed.

    A stored corpus with the same records is kept, unless its files are damaged.

    Args:
        corpora: The folder of all corpora.
        path: The archive.
        name: The name under which to store the corpus; empty for the name in the archive.
        replace: Whether to replace a corpus of that name with other records; it becomes the previous version.

    Raises:
        CorpusError: The archive is damaged or of another format, or a corpus of that name has other records.
    """
    folder = corpora / check_name(name or read_header(path, "corpus").name)
    try:
        with disk_errors(folder), lock_folder(folder):
            draft = folder / ".import"
            shutil.rmtree(draft, ignore_errors=True)
            header = extract_archive(path, "corpus", draft)
            try:
                manifest = msgspec.structs.replace(_checked(draft, header, path), name=folder.name)
                stored = read_manifest(folder) if (folder / MANIFEST_FILE).exists() else None
                same = stored is not None and stored.fingerprint == manifest.fingerprint
                if stored is not None and same and _is_whole(folder, stored):
                    return stored, False
                if stored is not None and not same and not replace:
                    raise CorpusError(
                        Text(
                            "Corpus {name} has other records than {path}: replace them with --replace, or store the "
                            "new ones under another name with --name.",
                            name=folder.name,
                            path=path,
                        )
                    )
                for each in (manifest.records_file, manifest.rejects_file):
                    (draft / each).replace(folder / each)
                    sync_file(folder / each)
                sync_file(folder)
                # Of a corpus whose files were damaged, the version before stays the previous one.
                previous = read_previous(folder) if same else stored
                write_manifest(folder, manifest, previous)
                remove_old_files(folder, manifest, previous)
                return manifest, True
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except FolderBusy as busy:
        raise CorpusError(message_of(busy)) from None


def _is_whole(folder: Path, stored: CorpusManifest) -> bool:
    try:
        check_files(folder, stored)
    except CorpusError:
        return False
    return True


def _checked(draft: Path, header: ArchiveHeader, path: Path) -> CorpusManifest:
    """Return the manifest among the extracted files after comparing the files with it."""
    if MANIFEST_FILE not in header.files:
        raise CorpusError(
            Text("{path} has no {manifest_file}: export the corpus again.", path=path, manifest_file=MANIFEST_FILE)
        )
    manifest = read_manifest(draft)
    if set(header.files) != {MANIFEST_FILE, manifest.records_file, manifest.rejects_file}:
        raise CorpusError(
            Text("{path} has other files than the manifest in it names: export the corpus again.", path=path)
        )
    check_files(draft, manifest)
    return manifest
