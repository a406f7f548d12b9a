"""Adding a corpus: sources in; one Parquet file, its rejects and its manifest out, whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import msgspec

from shrag.corpora.durable import FolderBusy, sole_writer, sync_file, telling_full_disk
from shrag.corpora.errors import CorpusError, TooManyRejects
from shrag.corpora.formats import Format, find_files, find_format
from shrag.corpora.manifest import FORMAT_VERSION, Account, CorpusManifest, write_manifest
from shrag.corpora.names import check_name
from shrag.corpora.parquet import RecordWriter
from shrag.corpora.reader import ReadLine, read_source
from shrag.corpora.records import Reject
from shrag.corpora.seen import SeenDocids, Sighting

Report = Callable[[str, int], None]
"""Told what is being done and how much of it is done so far; the edge decides how to show it."""

FAILED_REJECTS = "failed-rejects.jsonl"
"""Where the rejects of an addition that was refused are left to be read."""

_REPORT_EVERY = 1_000


def add_corpus(
    corpora: Path,
    name: str,
    format: str | Format,
    sources: Sequence[Path],
    *,
    max_rejects: int = 0,
    report: Report = lambda stage, done: None,
) -> CorpusManifest:
    """Read ``sources`` into ``corpora/name``, replacing what is there, and return the new manifest.

    A line that is no record is rejected with its reason; a record read twice, identical, is counted as a duplicate; the
    same identifier with another content is rejected. Raises :class:`TooManyRejects` for more than ``max_rejects``, and
    :class:`CorpusError` for a source that cannot be read, ``DiskFull``: the corpus that was there then stays as it was.
    """
    folder = corpora / check_name(name)
    chosen = find_format(format)
    files = find_files(chosen, sources)
    try:
        with telling_full_disk(folder), sole_writer(folder):
            draft = folder / ".draft"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                return _read_and_publish(folder, draft, chosen, files, max_rejects, report)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except FolderBusy as busy:
        raise CorpusError(str(busy)) from None


def _read_and_publish(
    folder: Path, draft: Path, format: Format, files: list[Path], max_rejects: int, report: Report
) -> CorpusManifest:
    with (
        RecordWriter(draft / "records") as writer,
        SeenDocids(draft / "seen") as seen,
        (draft / "rejects").open("w", encoding="utf-8") as rejects,
    ):
        reading = _Reading(format, writer, seen, rejects, report)
        accounts = tuple(reading.read(path) for path in files)
    rejected = sum(account.rejected for account in accounts)
    if rejected > max_rejects:
        left = folder / FAILED_REJECTS
        (draft / "rejects").replace(left)
        raise TooManyRejects(
            f"{rejected} of {reading.lines} lines are no records (all of them in {left}), the first is "
            f"{reading.first_reject}; nothing was stored: mend the source or allow them with --max-rejects {rejected}."
        )
    records = sum(account.records for account in accounts)
    if not records:
        raise CorpusError(f"No record was found in {', '.join(map(str, files))}: check the files and --format.")
    fingerprint = reading.digest.hexdigest()
    manifest = CorpusManifest(
        format_version=FORMAT_VERSION,
        name=folder.name,
        format=format.name,
        fingerprint=fingerprint,
        records=records,
        complete=reading.complete,
        languages=dict(sorted(reading.languages.items())),
        records_file=f"records-{fingerprint[:16]}.parquet",
        rejects_file=f"rejects-{fingerprint[:16]}.jsonl",
        sources=accounts,
        shrag_version=version("shrag"),
    )
    _publish(folder, draft, manifest)
    return manifest


def _publish(folder: Path, draft: Path, manifest: CorpusManifest) -> None:
    for drafted, final in (("records", manifest.records_file), ("rejects", manifest.rejects_file)):
        sync_file(draft / drafted)
        (draft / drafted).replace(folder / final)
    write_manifest(folder, manifest)
    kept = {manifest.records_file, manifest.rejects_file}
    for pattern in ("records-*.parquet", "rejects-*.jsonl", FAILED_REJECTS):
        for old in folder.glob(pattern):
            if old.name not in kept:
                old.unlink()


class _Reading:
    """Reads one source after the other into the same writer, and keeps what the manifest will say of all of them."""

    def __init__(self, format: Format, writer: RecordWriter, seen: SeenDocids, rejects: TextIO, report: Report) -> None:
        self._format, self._writer, self._seen, self._rejects, self._report = format, writer, seen, rejects, report
        self.digest = hashlib.sha256()
        self.languages: Counter[str] = Counter()
        self.complete = 0
        self.lines = 0
        self.first_reject = ""

    def read(self, path: Path) -> Account:
        """Read one file to its end and return its account."""
        counts: Counter[str] = Counter()
        for line in read_source(path, self._format):
            counts[self._take(path, line)] += 1
            self.lines += 1
            if self.lines % _REPORT_EVERY == 0:
                self._report("lines read", self.lines)
        self._report("lines read", self.lines)
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return Account(
            path=str(path),
            sha256=sha256,
            bytes=path.stat().st_size,
            lines=counts.total(),
            records=counts["record"],
            rejected=counts["rejected"],
            duplicates=counts["duplicate"],
            blank=counts["blank"],
        )

    def _take(self, path: Path, line: ReadLine) -> str:
        """Put one line where it belongs; return what it counts as."""
        if line.outcome is None:
            return "blank"
        if isinstance(line.outcome, str):
            return self._reject(path, line, line.outcome)
        record = line.outcome
        digest = hashlib.sha256(msgspec.json.encode(record)).digest()
        earlier = self._seen.add(record.docid, Sighting(digest, str(path), line.number))
        if earlier is None:
            self._writer.write(record)
            self.digest.update(digest)
            self.languages[record.language] += 1
            self.complete += record.complete
            return "record"
        if earlier.digest == digest:
            return "duplicate"
        place = f"{earlier.file} line {earlier.line}"
        return self._reject(path, line, f"identifier {record.docid} stands already at {place}, with other content")

    def _reject(self, path: Path, line: ReadLine, reason: str) -> str:
        reject = Reject(str(path), line.number, line.offset, reason)
        self._rejects.write(msgspec.json.encode(reject._asdict()).decode() + "\n")
        self.first_reject = self.first_reject or f"{reject.file} line {reject.line}: {reject.reason}"
        return "rejected"
