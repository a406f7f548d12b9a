"""Open a stored corpus: its manifest, records and rejects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import check_name, is_name, keep_files, raise_if_unreadable, try_to_remove_files
from shrag.corpora.records import Record, Reject
from shrag.corpora.store.manifest import MANIFEST_FILE, CorpusManifest, read_manifest
from shrag.corpora.store.parquet import read_parquet, read_rows, record_digest
from shrag.messages.text import Text

FAILED_REJECTS = "failed-rejects.jsonl"
"""The name of the file with the rejects of a failed addition."""


def open_corpus(corpora: Path, name: str) -> tuple[CorpusManifest, Iterator[Record]]:
    """Return the manifest of a stored corpus and an iterator over its records in the stored order.

    Raises :class:`CorpusError` if the name is not valid, the corpus does not exist, or it is damaged; damage may also
    show while iterating.
    """
    folder = corpora / check_name(name)
    manifest = read_manifest(folder)
    return manifest, read_parquet(folder / manifest.records_file)


@contextmanager
def hold_corpus(corpora: Path, name: str) -> Iterator[CorpusManifest]:
    """Yield the manifest of a stored corpus, and keep its files while the context lasts, even if the corpus changes.

    Raises :class:`CorpusError` if the name is not valid or the corpus does not exist.
    """
    folder = corpora / check_name(name)
    with ExitStack() as held:
        with suppress(FileNotFoundError, NotADirectoryError):  # read_manifest says what is missing
            held.enter_context(keep_files(folder))
        yield read_manifest(folder)


def check_corpus(corpora: Path, name: str) -> int:
    """Check every record and reject of a stored corpus by reading it; return the number of records.

    Raises:
        CorpusError: The name is not valid, or the corpus is damaged.
    """
    with hold_corpus(corpora, name) as manifest:
        return check_files(corpora / name, manifest)


def list_corpora(corpora: Path) -> list[str]:
    """Return the names of the corpora in the folder ``corpora``, sorted; their manifests are not read."""
    return sorted(path.parent.name for path in corpora.glob(f"*/{MANIFEST_FILE}") if is_name(path.parent.name))


def stored_rejects(corpora: Path, name: str) -> Iterator[Reject]:
    """Return an iterator over the lines of a stored corpus that were rejected or superseded, in the order of reading.

    Raises :class:`CorpusError` as :func:`open_corpus` does.
    """
    folder = corpora / check_name(name)
    return _read_rejects(folder / read_manifest(folder).rejects_file)


def failed_rejects(corpora: Path, name: str) -> Iterator[Reject] | None:
    """Return an iterator over the rejects that made the latest addition fail, or None if rejects did not make it fail.

    The corpus need not exist.

    Raises:
        CorpusError: The name is not valid, or, while iterating, the file is damaged.
    """
    path = corpora / check_name(name) / FAILED_REJECTS
    return _read_rejects(path) if path.exists() else None


def check_files(folder: Path, manifest: CorpusManifest) -> int:
    """Check every record and reject of one version; return the number of records; raises as :func:`check_corpus`."""
    path = folder / manifest.records_file
    fingerprint, records = hashlib.sha256(), 0
    for row in read_rows(path):
        records += 1
        fingerprint.update(row.digest)
        if record_digest(row.record) != row.digest:
            raise CorpusError(
                Text(
                    "{path} has another record {docid} than was stored: read its sources again with `shrag "
                    "corpus replace`.",
                    path=path,
                    docid=row.record.docid,
                )
            )
    if (records, fingerprint.hexdigest()) != (manifest.records, manifest.fingerprint):
        raise CorpusError(
            Text(
                "The records in {path} differ from its manifest: read its sources again with `shrag corpus replace`.",
                path=path,
            )
        )
    for _ in _read_rejects(folder / manifest.rejects_file):
        pass
    return records


def remove_old_files(folder: Path, manifest: CorpusManifest, previous: CorpusManifest | None) -> None:
    """Remove the files of versions before ``previous`` and of killed or failed additions, unless a build reads one."""
    (folder / FAILED_REJECTS).unlink(missing_ok=True)
    kept = {name for each in (manifest, previous) if each for name in (each.records_file, each.rejects_file)}
    patterns = ("records-*.parquet", "rejects-*.jsonl", ".*.new")
    found = (path for pattern in patterns for path in folder.glob(pattern))
    try_to_remove_files(folder, [path for path in found if path.name not in kept])


def _read_rejects(path: Path) -> Iterator[Reject]:
    try:
        with path.open("rb") as stream:
            for line in stream:
                yield Reject(**msgspec.json.decode(line))
    except (OSError, TypeError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise_if_unreadable(path, error)
        raise CorpusError(
            Text(
                "{path} cannot be read ({error}): read its sources again with `shrag corpus replace`.",
                path=path,
                error=error,
            )
        ) from error
