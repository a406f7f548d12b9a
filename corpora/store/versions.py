"""Undo the last change of a corpus, or remove a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import FolderBusy, check_name, disk_errors, lock_folder, remove_folder, sole_user
from shrag.corpora.records import RecordChanges
from shrag.corpora.store.manifest import (
    MANIFEST_FILE,
    CorpusManifest,
    read_manifest,
    read_previous,
    write_manifest,
)
from shrag.corpora.store.open_corpus import check_files
from shrag.corpora.store.parquet import read_digests, read_parquet
from shrag.messages.text import Text, message_of

SHOWN_TITLES = 3
"""How many titles a deletion names."""


class Deletion(NamedTuple):
    """What a change of a corpus deletes: the number of records and the titles of the first ones.

    The number is None if the stored corpus cannot be read.
    """

    records: int | None
    titles: tuple[str, ...]


def undo_change(corpora: Path, name: str) -> tuple[CorpusManifest, RecordChanges | None]:
    """Make the previous version of a corpus the current one; return its manifest and the changes.

    The version that was current becomes the previous one, so a second call undoes the first. If it cannot be read, the
    changes are None.

    Raises:
        CorpusError: There is no such corpus or no previous version, the previous version's files are damaged, or
            another process writes the corpus.
    """
    folder = corpora / check_name(name)
    read_manifest(folder)
    with _locked(folder):
        current, previous = read_manifest(folder), read_previous(folder)
        if previous is None:
            raise CorpusError(
                Text(
                    "Corpus {name} has no earlier version: it was not changed since it was added. To delete "
                    "it, use `shrag corpus remove {name}`.",
                    name=name,
                )
            )
        check_files(folder, previous)
        after = dict(read_digests(folder / previous.records_file))
        try:
            before = dict(read_digests(folder / current.records_file))
        except CorpusError:  # a damaged version is a reason to go back, not an obstacle
            before = None
        write_manifest(folder, previous, current)
    if before is None:
        return previous, None
    same = sum(before.get(docid) == digest for docid, digest in after.items())
    common = len(before.keys() & after.keys())
    return previous, RecordChanges(len(after) - common, common - same, len(before) - common, same)


def stored_size(corpora: Path, name: str) -> Deletion:
    """Return what removing a corpus would delete; raises :class:`CorpusError` if there is no corpus of that name."""
    folder = corpora / check_name(name)
    if not (folder / MANIFEST_FILE).exists():
        read_manifest(folder)  # raises an error that says what to do
    try:
        manifest = read_manifest(folder)
        shown = islice(read_parquet(folder / manifest.records_file), SHOWN_TITLES)
        return Deletion(manifest.records, tuple(record.title or record.docid for record in shown))
    except CorpusError:
        return Deletion(None, ())


def remove_corpus(corpora: Path, name: str) -> None:
    """Delete a corpus with its previous version; indexes built from it stay.

    Raises:
        CorpusError: There is no corpus of that name, another process writes it, or a build reads it.
    """
    folder = corpora / check_name(name)
    if not (folder / MANIFEST_FILE).exists():
        read_manifest(folder)  # raises an error that says what to do
    with _locked(folder), sole_user(folder) as alone:
        if not alone:
            raise CorpusError(
                Text(
                    "Corpus {name} is being read by a build of its index: wait for it to end, or stop it.",
                    name=folder.name,
                )
            )
        remove_folder(folder, MANIFEST_FILE)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        with disk_errors(folder), lock_folder(folder):
            yield
    except FolderBusy as busy:
        raise CorpusError(message_of(busy)) from None
