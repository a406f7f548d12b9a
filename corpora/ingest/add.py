"""add_corpus(): sources → one Parquet file, its rejects and its manifest, published whole or not at all."""

from __future__ import annotations

import filecmp
import hashlib
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.errors import ConflictingRecords, CorpusError, TooManyRejectedLines, UnaccountedLines
from shrag.corpora.files import FolderBusy, check_name, disk_full_errors, lock_folder, sync_file
from shrag.corpora.formats.registry import Format, find_files, find_format
from shrag.corpora.ingest.finalize import finalize_rows
from shrag.corpora.ingest.ledger import SeenIds
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.ingest.reading import DraftFiles, DraftReader, OnDuplicate, ProgressCallback, printable_path
from shrag.corpora.store.manifest import FORMAT_VERSION, CorpusManifest, SourceAccount, read_manifest, write_manifest
from shrag.corpora.store.open_corpus import FAILED_REJECTS
from shrag.corpora.store.parquet import RecordWriter, read_digests, read_rows, summarise


class CorpusChanges(NamedTuple):
    """What an addition did to the records of the corpus, against those that were stored before."""

    added: int
    changed: int
    deleted: int
    unchanged: int


class AdditionResult(NamedTuple):
    """The corpus as it is now, and what changed; ``stored`` is false where nothing did and no file was touched."""

    manifest: CorpusManifest
    changes: CorpusChanges
    stored: bool


def add_corpus(
    corpora: Path,
    name: str,
    format: str | Format,
    sources: Sequence[Path],
    *,
    max_rejects: int = 0,
    on_duplicate: OnDuplicate = "error",
    merge: bool = False,
    report: ProgressCallback = lambda stage, done: None,
) -> AdditionResult:
    """Read ``sources`` into ``corpora/name`` and return what it is now.

    A line that is no record is rejected with its reason; a record read twice, identical, is counted as a duplicate; of
    two with the same identifier and different contents ``on_duplicate`` keeps one. Records of the same paper under two
    identifiers are both kept, the later one linked to the first.

    Args:
        corpora: The folder of all corpora.
        name: The corpus's name, that of its folder.
        format: How the sources are written: a name of the registry, or a format.
        sources: Files, and folders whose files of the format are read.
        max_rejects: So many lines may be rejected.
        on_duplicate: Which of two records with one identifier stays.
        merge: Add the sources to what is stored: nothing is deleted, and a record of theirs replaces the stored one of
            the same identifier. Otherwise the sources are the whole corpus, and a stored record that is not in them is
            deleted.
        report: Called with the progress.

    Raises:
        TooManyRejectedLines: More than ``max_rejects`` lines were rejected.
        ConflictingRecords: An identifier has two contents and ``on_duplicate`` is ``error``.
        CorpusError: A source cannot be read, or another process writes the corpus.
        DiskFull: There is no space left. In all these cases the corpus that was there stays as it was.
    """
    folder = corpora / check_name(name)
    chosen = find_format(format)
    files = find_files(chosen, sources)
    stored = read_manifest(folder) if merge else None
    if stored is not None:
        files = [path for path in files if not _is_among(path, chosen, stored.sources)]
        if not files:
            return AdditionResult(stored, CorpusChanges(0, 0, 0, stored.records), stored=False)
    draft = folder / ".draft"
    try:
        with disk_full_errors(folder), lock_folder(folder):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                return _Draft(folder, draft, report).make(chosen, files, max_rejects, on_duplicate, merge=merge)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except FolderBusy as busy:
        raise CorpusError(str(busy)) from None


class _Draft:
    """The next version of a corpus, written in a folder of its own inside the corpus's folder."""

    def __init__(self, folder: Path, draft: Path, report: ProgressCallback) -> None:
        self._folder, self._report = folder, report
        self._read, self._records, self._rejects = draft / "read", draft / "records", draft / "rejects"
        self._seen, self._keys = draft / "seen", draft / "keys"

    def make(
        self, format: Format, files: Sequence[Path], max_rejects: int, on_duplicate: OnDuplicate, *, merge: bool
    ) -> AdditionResult:
        with SeenIds(self._seen) as seen, DuplicateFinder(self._keys) as duplicates:
            with RecordWriter(self._read) as writer, self._rejects.open("w", encoding="utf-8") as rejects:
                reader = DraftReader(DraftFiles(writer, seen, duplicates, rejects), on_duplicate, self._report)
                if merge:
                    stored = read_manifest(self._folder)
                    with (self._folder / stored.rejects_file).open(encoding="utf-8") as before:
                        shutil.copyfileobj(before, rejects)
                    reader.keep_stored(stored.sources, read_rows(self._folder / stored.records_file))
                for path in files:
                    reader.read(path, format)
            self._check(reader, max_rejects)
            finalize_rows(self._read, self._records, seen, duplicates, self._report)
            manifest = self._manifest(reader.accounts(), seen)
            if not manifest.records:
                raise CorpusError(f"No record was found in {', '.join(map(str, files))}: check the files and --format.")
            before_it, changes = self._compare(seen, manifest)
        if before_it is not None and self._is_stored(before_it, manifest):
            self._tidy(before_it)
            return AdditionResult(before_it, changes, stored=False)
        self._publish(manifest)
        return AdditionResult(manifest, changes, stored=True)

    def _check(self, reader: DraftReader, max_rejects: int) -> None:
        left = self._folder / FAILED_REJECTS
        if reader.conflicts:
            self._rejects.replace(left)
            raise ConflictingRecords(
                f"{reader.conflicts} of {reader.lines} lines hold an identifier that stands already with other "
                f"content (all of them in {left}), the first is {reader.first_conflict}; nothing was stored: mend "
                "the sources or choose with --on-duplicate newest or --on-duplicate first."
            )
        if reader.rejected > max_rejects:
            self._rejects.replace(left)
            raise TooManyRejectedLines(
                f"{reader.rejected} of {reader.lines} lines are no records (all of them in {left}), the first is "
                f"{reader.first_reject}; nothing was stored: mend the source or allow them with "
                f"--max-rejects {reader.rejected}."
            )

    def _manifest(self, accounts: tuple[SourceAccount, ...], seen: SeenIds) -> CorpusManifest:
        """Describe what the draft holds, counted by reading it again, and not by what was meant to be written."""
        found = summarise(self._records)
        counted = {number: account.records for number, account in enumerate(accounts) if account.records}
        if not found.sources == seen.counts() == counted:
            raise UnaccountedLines(
                f"The records of {self._folder.name} are {found.sources} by source in the file, {seen.counts()} by "
                f"identifier and {counted} as counted: nothing was stored; this is an error of SHRAG, report it."
            )
        stem = hashlib.sha256(found.fingerprint.encode() + msgspec.json.encode(accounts)).hexdigest()[:16]
        return CorpusManifest(
            format_version=FORMAT_VERSION,
            name=self._folder.name,
            format="+".join(sorted({account.format for account in accounts})),
            fingerprint=found.fingerprint,
            records=found.records,
            complete=found.complete,
            linked=found.linked,
            languages=found.languages,
            records_file=f"records-{stem}.parquet",
            rejects_file=f"rejects-{stem}.jsonl",
            sources=accounts,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            shrag_version=version("shrag"),
        )

    def _compare(self, seen: SeenIds, manifest: CorpusManifest) -> tuple[CorpusManifest | None, CorpusChanges]:
        """Return what is stored now, if it can be read, and what the draft changes of it."""
        changed = deleted = unchanged = 0
        try:
            stored = read_manifest(self._folder)
            for docid, digest in read_digests(self._folder / stored.records_file):
                now = seen.digest(docid)
                deleted += now is None
                unchanged += now == digest
                changed += now is not None and now != digest
        except CorpusError:
            return None, CorpusChanges(manifest.records, 0, 0, 0)
        return stored, CorpusChanges(manifest.records - changed - unchanged, changed, deleted, unchanged)

    def _is_stored(self, stored: CorpusManifest, manifest: CorpusManifest) -> bool:
        """Say whether the folder holds what was drafted, byte for byte, so that a damaged file is replaced."""
        pairs = ((self._records, stored.records_file), (self._rejects, stored.rejects_file))
        return stored.records_file == manifest.records_file and all(
            (self._folder / name).is_file() and filecmp.cmp(drafted, self._folder / name, shallow=False)
            for drafted, name in pairs
        )

    def _publish(self, manifest: CorpusManifest) -> None:
        for drafted, final in ((self._records, manifest.records_file), (self._rejects, manifest.rejects_file)):
            sync_file(drafted)
            drafted.replace(self._folder / final)
        write_manifest(self._folder, manifest)
        self._tidy(manifest)

    def _tidy(self, manifest: CorpusManifest) -> None:
        """Remove what an earlier corpus, or an addition that was killed, has left."""
        kept = {manifest.records_file, manifest.rejects_file}
        for pattern in ("records-*.parquet", "rejects-*.jsonl", FAILED_REJECTS, ".*.new"):
            for old in self._folder.glob(pattern):
                if old.name not in kept:
                    old.unlink()


def _is_among(path: Path, format: Format, accounts: Sequence[SourceAccount]) -> bool:
    """Say whether the file was read into the corpus before, just as it is now."""
    known = {
        account.sha256
        for account in accounts
        if account.path == printable_path(path) and account.format == format.written
    }
    if not known or not path.is_file():
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() in known
