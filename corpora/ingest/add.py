"""Add a corpus: sources to one Parquet file, rejects and manifest, published atomically."""

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

from shrag.corpora.errors import ConflictingRecords, CorpusError, TooManyRejects, Unaccounted
from shrag.corpora.files import FolderBusy, check_name, sole_writer, sync_file, telling_full_disk
from shrag.corpora.formats.registry import Format, find_files, find_format
from shrag.corpora.ingest.finalize import settle
from shrag.corpora.ingest.ledger import Ledger
from shrag.corpora.ingest.near_duplicates import PaperLinks
from shrag.corpora.ingest.reading import OnDuplicate, Parts, Reading, Report, file_digest, written_name
from shrag.corpora.store.manifest import (
    FORMAT_VERSION,
    Account,
    CorpusManifest,
    check_accounts,
    read_manifest,
    write_manifest,
)
from shrag.corpora.store.open_corpus import FAILED_REJECTS
from shrag.corpora.store.parquet import RecordWriter, read_digests, read_rows, summarise

__all__ = ["Addition", "Changes", "OnDuplicate", "Report", "add_corpus"]


class Changes(NamedTuple):
    """What an addition did to the records of the corpus, against those that were stored before."""

    added: int
    changed: int
    deleted: int
    unchanged: int


class Addition(NamedTuple):
    """The corpus as it is now, and what changed; ``stored`` is false where nothing did and no file was touched."""

    manifest: CorpusManifest
    changes: Changes
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
    report: Report = lambda stage, done: None,
) -> Addition:
    """Read ``sources`` into ``corpora/name`` and return what it is now.

    The sources are the whole corpus: what was stored and is not in them is deleted. With ``merge`` they are added to
    it: nothing is deleted, and a record of theirs takes the place of the stored one of the same identifier.

    A line that is no record is rejected with its reason; a record read twice, identical, is counted as a duplicate; of
    two with the same identifier and different contents ``on_duplicate`` keeps one. Records of the same paper under two
    identifiers are both kept, the later one linked to the first. Raises :class:`TooManyRejects` for more than
    ``max_rejects``, :class:`ConflictingRecords`, :class:`CorpusError` for a source that cannot be read, and
    ``DiskFull``: the corpus that was there then stays as it was.
    """
    folder = corpora / check_name(name)
    chosen = find_format(format)
    files = find_files(chosen, sources)
    stored = read_manifest(folder) if merge else None
    if stored is not None:
        files = [path for path in files if not _is_among(path, chosen, stored.sources)]
        if not files:
            return Addition(stored, Changes(0, 0, 0, stored.records), stored=False)
    try:
        with telling_full_disk(folder), sole_writer(folder):
            draft = folder / ".draft"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                return _Draft(folder, draft, report).make(chosen, files, max_rejects, on_duplicate, merge=merge)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except FolderBusy as busy:
        raise CorpusError(str(busy)) from None


class _Draft:
    """A corpus in the making, in a folder of its own inside the corpus's."""

    def __init__(self, folder: Path, draft: Path, report: Report) -> None:
        self._folder, self._draft, self._report = folder, draft, report

    def make(
        self, format: Format, files: Sequence[Path], max_rejects: int, on_duplicate: OnDuplicate, *, merge: bool
    ) -> Addition:
        with Ledger(self._draft / "ledger") as ledger, PaperLinks(self._draft / "links") as links:
            reading = self._read(ledger, links, format, files, on_duplicate, merge=merge)
            self._check(reading, max_rejects)
            records = self._draft / "records"
            settle(self._draft / "read", records, ledger, links, self._report)
            manifest = self._manifest(reading.accounts(), ledger, records)
            if not manifest.records:
                raise CorpusError(f"No record was found in {', '.join(map(str, files))}: check the files and --format.")
            stored, changes = self._compare(ledger, manifest)
        if stored is not None and self._is_stored(stored, manifest, records):
            self._tidy(stored)
            return Addition(stored, changes, stored=False)
        self._publish(manifest, records)
        return Addition(manifest, changes, stored=True)

    def _read(
        self,
        ledger: Ledger,
        links: PaperLinks,
        format: Format,
        files: Sequence[Path],
        on_duplicate: OnDuplicate,
        *,
        merge: bool,
    ) -> Reading:
        with (
            RecordWriter(self._draft / "read") as writer,
            (self._draft / "rejects").open("w", encoding="utf-8") as rejects,
        ):
            reading = Reading(Parts(writer, ledger, links, rejects), on_duplicate, self._report)
            if merge:
                stored = read_manifest(self._folder)
                with (self._folder / stored.rejects_file).open(encoding="utf-8") as before:
                    shutil.copyfileobj(before, rejects)
                reading.keep_stored(stored.sources, read_rows(self._folder / stored.records_file))
            for path in files:
                reading.read(path, format)
        return reading

    def _check(self, reading: Reading, max_rejects: int) -> None:
        left = self._folder / FAILED_REJECTS
        if reading.conflicts:
            (self._draft / "rejects").replace(left)
            raise ConflictingRecords(
                f"{reading.conflicts} of {reading.lines} lines hold an identifier that stands already with other "
                f"content (all of them in {left}), the first is {reading.first_conflict}; nothing was stored: mend "
                "the sources or choose with --on-duplicate newest or --on-duplicate first."
            )
        if reading.rejected > max_rejects:
            (self._draft / "rejects").replace(left)
            raise TooManyRejects(
                f"{reading.rejected} of {reading.lines} lines are no records (all of them in {left}), the first is "
                f"{reading.first_reject}; nothing was stored: mend the source or allow them with "
                f"--max-rejects {reading.rejected}."
            )

    def _manifest(self, accounts: tuple[Account, ...], ledger: Ledger, records: Path) -> CorpusManifest:
        """Describe what the draft holds, counted by reading it again, and not by what was meant to be written."""
        found = summarise(records)
        counted = {number: account.records for number, account in enumerate(accounts) if account.records}
        if not found.sources == ledger.counts() == counted:
            raise Unaccounted(
                f"The records of {self._folder.name} are {found.sources} by source in the file, {ledger.counts()} by "
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

    def _compare(self, ledger: Ledger, manifest: CorpusManifest) -> tuple[CorpusManifest | None, Changes]:
        """Return what is stored now, if it can be read, and what the draft changes of it."""
        changed = deleted = unchanged = 0
        try:
            stored = read_manifest(self._folder)
            for docid, digest in read_digests(self._folder / stored.records_file):
                now = ledger.digest(docid)
                deleted += now is None
                unchanged += now == digest
                changed += now is not None and now != digest
        except CorpusError:
            return None, Changes(manifest.records, 0, 0, 0)
        return stored, Changes(manifest.records - changed - unchanged, changed, deleted, unchanged)

    def _is_stored(self, stored: CorpusManifest, manifest: CorpusManifest, records: Path) -> bool:
        """Say whether the folder holds what was drafted, byte for byte, so that a damaged file is replaced."""
        pairs = ((records, stored.records_file), (self._draft / "rejects", stored.rejects_file))
        return stored.records_file == manifest.records_file and all(
            (self._folder / name).is_file() and filecmp.cmp(drafted, self._folder / name, shallow=False)
            for drafted, name in pairs
        )

    def _publish(self, manifest: CorpusManifest, records: Path) -> None:
        check_accounts(manifest)
        for drafted, final in ((records, manifest.records_file), (self._draft / "rejects", manifest.rejects_file)):
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


def _is_among(path: Path, format: Format, accounts: Sequence[Account]) -> bool:
    """Say whether the file was read into the corpus before, just as it is now."""
    own = [account for account in accounts if account.path == written_name(path) and account.format == format.written]
    return bool(own) and path.is_file() and any(account.sha256 == file_digest(path)[0] for account in own)
