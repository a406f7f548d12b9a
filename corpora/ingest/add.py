"""Add records to a corpus, or replace it.

:func:`add_corpus` reads the sources into a draft, links near-duplicates, and publishes the result: one Parquet file of
records, one file of rejects, and the manifest.
"""

from __future__ import annotations

import dataclasses
import filecmp
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.errors import ConflictingRecords, CorpusError, TooManyRejectedLines, UnaccountedLines
from shrag.corpora.files import FolderBusy, check_name, disk_errors, lock_folder, sync_file
from shrag.corpora.formats.columns import NO_COLUMNS, Columns
from shrag.corpora.formats.registry import Format, find_format, with_columns
from shrag.corpora.ingest.ledger import SeenIds
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.ingest.parser import Parser, ParserLimits
from shrag.corpora.ingest.reading import (
    REPORT_EVERY,
    DraftFiles,
    DraftReader,
    OnDuplicate,
    ProgressCallback,
    printable_path,
    unlinked,
)
from shrag.corpora.ingest.sources import AnnounceCallback, find_sources, resolve_formats
from shrag.corpora.records import RecordChanges
from shrag.corpora.store.manifest import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    CorpusManifest,
    SourceAccount,
    read_manifest,
    read_previous,
    write_manifest,
)
from shrag.corpora.store.open_corpus import FAILED_REJECTS, remove_old_files
from shrag.corpora.store.parquet import (
    RecordWriter,
    StoredRow,
    read_digests,
    read_parquet,
    read_rows,
    record_digest,
    summarise,
)
from shrag.corpora.store.versions import SHOWN_TITLES, Deletion
from shrag.messages.text import Text, joined, message_of

UNREPAIRED = "no-repair"
"""The option that a format has in the manifest if its records were stored without repairs."""


class AdditionResult(NamedTuple):
    """The corpus after an addition, and its changes; ``stored`` is false if nothing changed and no file was written."""

    manifest: CorpusManifest
    changes: RecordChanges
    stored: bool


def add_corpus(
    corpora: Path,
    name: str,
    format: str | Format | None,
    sources: Sequence[Path],
    *,
    columns: Columns = NO_COLUMNS,
    max_rejects: int = 0,
    on_duplicate: OnDuplicate = "error",
    replace: bool = False,
    confirm: Callable[[Deletion], None] = lambda deletion: None,
    repair: bool = True,
    limits: ParserLimits | None = None,
    report: ProgressCallback = lambda stage, done: None,
    announce: AnnounceCallback = lambda path, guess: None,
) -> AdditionResult:
    """Read ``sources`` into the corpus ``name``, which need not exist; keep its state before as the previous version.

    A line that is not a record is rejected with a reason. A record that is read twice with equal content counts as a
    duplicate. If the contents differ, ``on_duplicate`` decides. Two records of one paper with different identifiers are
    both kept, and the later one is linked to the first.

    Stored records stay. A new record replaces a stored one with the same identifier, and a paper all chunks of the
    stored one, unless ``on_duplicate`` is ``first``. A file that was read before and has not changed is not read again.

    Args:
        corpora: The folder of all corpora.
        name: The name of the corpus and of its folder.
        format: The format of all sources, or its name in the registry; None to guess the format of each file.
        sources: Files and folders. From a folder, the files of the format are read, or all files if ``format`` is None.
        columns: The columns of tables and JSON objects that the caller names; the others are found by their names.
        max_rejects: How many lines may be rejected.
        on_duplicate: Which of two records with one identifier to keep.
        replace: Whether the sources are the whole corpus, so that other stored records are deleted.
        confirm: Called before stored records are deleted; raises to refuse.
        repair: Whether to repair fused words, wrong blanks, hyphenation and section labels
            (:mod:`shrag.corpora.text.repairs`). Stored records stay as they are.
        limits: The limits for reading a file, or None for the default limits. A file that exceeds them is rejected.
        report: Called with the progress.
        announce: Called with each file and its guessed format.

    Raises:
        TooManyRejectedLines: More than ``max_rejects`` lines were rejected.
        ConflictingRecords: An identifier has two contents and ``on_duplicate`` is ``error``.
        CorpusError: A source cannot be read, its format is not known, or another process writes the corpus.
        DiskFull: There is no space left.
        DiskFailed: A temporary database cannot be read or written.

    In all these cases the stored corpus does not change.
    """
    folder = corpora / check_name(name)
    chosen = None if format is None else with_columns(find_format(format), columns)
    paths = find_sources(chosen, sources)
    draft = folder / ".draft"
    try:
        with disk_errors(folder), lock_folder(folder), Parser(limits or ParserLimits()) as parser:
            stored = None if replace or not (folder / MANIFEST_FILE).exists() else read_manifest(folder)
            files = list(resolve_formats(parser, chosen, paths, columns, announce))
            if not repair:
                files = [(path, dataclasses.replace(each, options=_unrepaired(each))) for path, each in files]
            if stored is not None:
                accounts = _accounts_by_name(stored.sources)
                files = [(path, each) for path, each in files if not _is_among(path, each, accounts)]
                if not files:
                    return AdditionResult(stored, RecordChanges(0, 0, 0, stored.records), stored=False)
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                return _Draft(folder, draft, parser, report, repair=repair).make(
                    files, max_rejects, on_duplicate, stored, confirm
                )
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except FolderBusy as busy:
        raise CorpusError(message_of(busy)) from None


def _unrepaired(format: Format) -> str:
    return f"{format.options} {UNREPAIRED}".lstrip()


class _Draft:
    """The next version of a corpus, written in a temporary folder inside the corpus's folder."""

    def __init__(self, folder: Path, draft: Path, parser: Parser, report: ProgressCallback, *, repair: bool) -> None:
        self._folder, self._parser, self._report, self._repair = folder, parser, report, repair
        self._read, self._records, self._rejects = draft / "read", draft / "records", draft / "rejects"
        self._seen, self._keys = draft / "seen", draft / "keys"

    def make(
        self,
        files: Sequence[tuple[Path, Format]],
        max_rejects: int,
        on_duplicate: OnDuplicate,
        stored: CorpusManifest | None,
        confirm: Callable[[Deletion], None],
    ) -> AdditionResult:
        with SeenIds(self._seen) as seen, DuplicateFinder(self._keys) as duplicates:
            with RecordWriter(self._read) as writer, self._rejects.open("w", encoding="utf-8") as rejects:
                draft = DraftFiles(writer, seen, duplicates, rejects, self._parser)
                reader = DraftReader(draft, on_duplicate, self._report, repair=self._repair)
                if stored is not None:
                    with (self._folder / stored.rejects_file).open(encoding="utf-8") as before:
                        shutil.copyfileobj(before, rejects)
                    reader.keep_stored(stored.sources, read_rows(self._folder / stored.records_file))
                for path, format in files:
                    reader.read(path, format)
            self._check(reader, max_rejects)
            _finalize_rows(self._read, self._records, seen, duplicates, reader.stored, self._report)
            manifest = self._manifest(reader.accounts(), seen)
            if not manifest.records:
                raise self._no_record(", ".join((str(path) for path, _ in files)), reader)
            stored_before, changes = self._compare(seen, manifest)
            if deletion := self._deletion(seen, stored_before, changes):
                confirm(deletion)
        if stored_before is not None and self._is_stored(stored_before, manifest):
            remove_old_files(self._folder, stored_before, read_previous(self._folder))
            return AdditionResult(stored_before, changes, stored=False)
        self._publish(manifest, stored_before)
        return AdditionResult(manifest, changes, stored=True)

    def _deletion(self, seen: SeenIds, stored: CorpusManifest | None, changes: RecordChanges) -> Deletion | None:
        """Return what publishing the draft deletes, or None if it deletes nothing."""
        if stored is None:
            return Deletion(None, ()) if (self._folder / MANIFEST_FILE).exists() else None
        if not changes.deleted:
            return None
        try:
            deleted = (
                record.title or record.docid
                for record in read_parquet(self._folder / stored.records_file)
                if seen.digest(record.docid) is None
            )
            return Deletion(changes.deleted, tuple(islice(deleted, SHOWN_TITLES)))
        except CorpusError:  # the identifiers can be read, but not the titles: the damaged file is to be replaced
            return Deletion(changes.deleted, ())

    def _check(self, reader: DraftReader, max_rejects: int) -> None:
        left = self._folder / FAILED_REJECTS
        problems: list[Text] = []
        if reader.conflicts:
            problems.append(
                Text(
                    "{conflicts} of {lines} lines hold an identifier that was read before with other content "
                    "(all of them in {left}), the first is {first_conflict}; nothing was stored: correct the "
                    "sources or choose with --on-duplicate newest or --on-duplicate first.",
                    conflicts=reader.conflicts,
                    lines=reader.lines,
                    left=left,
                    first_conflict=reader.first_conflict,
                )
            )
        if reader.rejected > max_rejects:
            problems.append(
                Text(
                    "{rejected} of {lines} lines are not records (all of them in {left}), the first is "
                    "{first_reject}; nothing was stored: correct the source or allow them with --max-rejects "
                    "{rejected}.",
                    rejected=reader.rejected,
                    lines=reader.lines,
                    left=left,
                    first_reject=reader.first_reject,
                )
            )
        if problems:
            self._rejects.replace(left)
            error = ConflictingRecords if reader.conflicts else TooManyRejectedLines
            raise error(joined(problems, "\n"))

    def _no_record(self, path: str, reader: DraftReader) -> CorpusError:
        if not reader.rejected:
            return CorpusError(Text("No record was found in {path}: check the files and --format.", path=path))
        left = self._folder / FAILED_REJECTS
        self._rejects.replace(left)
        return CorpusError(
            Text(
                "No record was found in {path}: {rejected} lines were rejected (all of them in {left}), the first is "
                "{first_reject}; nothing was stored: check the files and --format.",
                path=path,
                rejected=reader.rejected,
                left=left,
                first_reject=reader.first_reject,
            )
        )

    def _manifest(self, accounts: tuple[SourceAccount, ...], seen: SeenIds) -> CorpusManifest:
        """Describe the draft after reading it once more; raise :class:`UnaccountedLines` if the counts differ."""
        found = summarise(self._records)
        counted = {number: account.records for number, account in enumerate(accounts) if account.records}
        if not found.sources == seen.counts() == counted:
            raise UnaccountedLines(
                Text(
                    "The records of {name} do not add up ({sources} by source in the file, {counts} by identifier, "
                    "{counted} counted): nothing was stored; this is an error of SHRAG, please report it.",
                    name=self._folder.name,
                    sources=found.sources,
                    counts=seen.counts(),
                    counted=counted,
                )
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

    def _compare(self, seen: SeenIds, manifest: CorpusManifest) -> tuple[CorpusManifest | None, RecordChanges]:
        """Return the stored manifest, or None if the corpus cannot be read, and the changes that the draft makes."""
        changed = deleted = unchanged = 0
        try:
            stored = read_manifest(self._folder)
            for docid, digest in read_digests(self._folder / stored.records_file):
                now = seen.digest(docid)
                deleted += now is None
                unchanged += now == digest
                changed += now is not None and now != digest
        except CorpusError:
            return None, RecordChanges(manifest.records, 0, 0, 0)
        return stored, RecordChanges(manifest.records - changed - unchanged, changed, deleted, unchanged)

    def _is_stored(self, stored: CorpusManifest, manifest: CorpusManifest) -> bool:
        """Return whether the stored files equal the draft's byte for byte; if not, they may be damaged."""
        pairs = ((self._records, stored.records_file), (self._rejects, stored.rejects_file))
        return stored.records_file == manifest.records_file and all(
            (self._folder / name).is_file() and filecmp.cmp(drafted, self._folder / name, shallow=False)
            for drafted, name in pairs
        )

    def _publish(self, manifest: CorpusManifest, stored: CorpusManifest | None) -> None:
        # If the draft only replaces a damaged file of the current version, the previous version stays the same.
        again = stored is not None and stored.records_file == manifest.records_file
        previous = read_previous(self._folder) if again else stored
        for drafted, final in ((self._records, manifest.records_file), (self._rejects, manifest.rejects_file)):
            sync_file(drafted)
            drafted.replace(self._folder / final)
        sync_file(self._folder)  # the new files must be on the disk before the manifest names them
        write_manifest(self._folder, manifest, previous)
        remove_old_files(self._folder, manifest, previous)


def _accounts_by_name(accounts: Sequence[SourceAccount]) -> dict[tuple[str, str], list[SourceAccount]]:
    """Return the accounts of files by their names without folders and their formats, each in the order of reading."""
    by_name: dict[tuple[str, str], list[SourceAccount]] = {}
    for account in accounts:
        by_name.setdefault((Path(account.path).name, account.format), []).append(account)
    return by_name


def _is_among(path: Path, format: Format, accounts: dict[tuple[str, str], list[SourceAccount]]) -> bool:
    """Return whether a file of the same name, format and content was read before and its records are still the stored.

    They may not be if a later file of the name had other records; the earlier content is then read again.
    """
    same = accounts.get((printable_path(Path(path.name)), format.label), [])
    known = {account.sha256 for account in same if account is same[-1] or not account.superseded}
    if not known or not path.is_file():
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() in known


def _finalize_rows(
    read: Path, final: Path, seen: SeenIds, duplicates: DuplicateFinder, stored: int, report: ProgressCallback
) -> None:
    """Rewrite the draft's rows without the superseded ones, and link near-duplicates to the first of their group.

    The file ``read`` becomes ``final``, and ``seen`` gets the new digests of linked records. The first ``stored`` rows
    keep their links, since they were compared with each other when they were added. If one of them is superseded, all
    rows are compared again.
    """
    dropped = _SortedRows(seen.dropped())
    if dropped.next is not None and dropped.next < stored:
        stored = 0
    if stored:
        seen.restore_links()
    candidates = _SortedRows(duplicates.candidates(stored))
    if candidates.next is None and dropped.next is None:
        read.replace(final)
        return
    compared = 0
    with RecordWriter(final) as writer:
        for number, row in enumerate(read_rows(read)):
            is_candidate = candidates.take(number)
            if dropped.take(number):
                continue
            if number >= stored:
                row = unlinked(row)  # noqa: PLW2901
            if is_candidate and number < stored and not row.record.duplicate_of:
                duplicates.add_first(number, row.record)
            elif is_candidate and number >= stored:
                row = _linked(number, row, seen, duplicates)  # noqa: PLW2901
                compared += 1
                if compared % REPORT_EVERY == 0:
                    report("records compared", compared)
            writer.write(row)
    read.unlink()


def _linked(number: int, row: StoredRow, seen: SeenIds, duplicates: DuplicateFinder) -> StoredRow:
    first = duplicates.link(number, row.record)
    if first is None:
        return row
    record = dataclasses.replace(row.record, duplicate_of=first)
    digest = record_digest(record)
    seen.change_digest(record.docid, digest)
    return StoredRow(record, digest, row.origin)


class _SortedRows:
    """Ascending row numbers; callers test for rows in ascending order too."""

    def __init__(self, rows: Iterator[int]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def take(self, number: int) -> bool:
        """Return whether ``number`` is the next row; if so, move on to the row after it."""
        if number != self.next:
            return False
        self.next = next(self._rows, None)
        return True
