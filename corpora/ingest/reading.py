"""Read sources into the draft of a corpus: count every line, keep one record of each identifier."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import Format
from shrag.corpora.ingest.ledger import SeenIds, SeenRecord
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.records import Origin, Record, Reject
from shrag.corpora.store.manifest import SourceAccount
from shrag.corpora.store.parquet import RecordWriter, StoredRow, record_digest

OnDuplicate = Literal["error", "first", "newest"]
"""Which record of an identifier that comes with different contents stays; ``error``: none, the caller must choose.

``first`` and ``newest`` are by the order of reading: of the sources as they are named, of the lines in each."""

ProgressCallback = Callable[[str, int], None]
"""Called with what is being done and how much of it is done so far; the caller decides how to show it."""

REPORT_EVERY = 1_000

_COUNTS = ("lines", "records", "rejected", "duplicates", "superseded", "blank")


class DraftFiles(NamedTuple):
    """Where the draft of a corpus is written."""

    writer: RecordWriter
    seen: SeenIds
    duplicates: DuplicateFinder
    rejects: TextIO


class _Source:
    """One file, and what has been counted of it so far; ``stored`` where an earlier addition has read it."""

    def __init__(self, path: str, format: str, account: SourceAccount | None = None) -> None:
        self.path, self.format, self.stored = path, format, account is not None
        self.sha256 = account.sha256 if account else ""
        self.bytes = account.bytes if account else 0
        self.counts: Counter[str] = Counter({name: getattr(account, name, 0) for name in _COUNTS})

    def account(self) -> SourceAccount:
        return SourceAccount(
            self.path, self.format, self.sha256, self.bytes, **{name: self.counts[name] for name in _COUNTS}
        )


class DraftReader:
    """Reads one source after the other into the same draft, and counts what became of the lines of each."""

    def __init__(self, parts: DraftFiles, on_duplicate: OnDuplicate, report: ProgressCallback) -> None:
        self._parts, self._on_duplicate, self._report = parts, on_duplicate, report
        self._sources: list[_Source] = []
        self.lines = 0
        self.rejected = 0
        self.first_reject = ""
        self.conflicts = 0
        self.first_conflict = ""

    def accounts(self) -> tuple[SourceAccount, ...]:
        """Return the accounts of all sources as they stand now."""
        return tuple(source.account() for source in self._sources)

    def keep_stored(self, accounts: Iterable[SourceAccount], rows: Iterable[StoredRow]) -> None:
        """Begin with a stored corpus: its accounts and its rows. Must be called before anything is read."""
        self._sources = [_Source(account.path, account.format, account) for account in accounts]
        for done, row in enumerate(rows, 1):
            record, digest = row.record, row.digest
            if record.duplicate_of:
                record = replace(record, duplicate_of="")
                digest = record_digest(record)
            self._parts.seen.add(record.docid, SeenRecord(digest, row.origin, self._parts.writer.rows))
            self._write(StoredRow(record, digest, row.origin))
            if done % REPORT_EVERY == 0:
                self._report("stored records copied", done)

    def read(self, path: Path, format: Format) -> None:
        """Read one file to its end."""
        source = _Source(printable_path(path), format.written)
        self._sources.append(source)
        before = _state(path)
        for line in read_source(path, format):
            source.counts["lines"] += 1
            self.lines += 1
            if isinstance(line.outcome, Record):
                self._add(source, line.outcome, Origin(len(self._sources) - 1, line.number, line.offset))
            elif line.outcome is None:
                source.counts["blank"] += 1
            else:
                self._reject(source, Origin(len(self._sources) - 1, line.number, line.offset), line.outcome)
            if self.lines % REPORT_EVERY == 0:
                self._report("lines read", self.lines)
        self._report("lines read", self.lines)
        try:
            with path.open("rb") as stream:
                source.sha256, source.bytes = hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell()
        except OSError as error:
            raise CorpusError(f"{path} cannot be read: {error.strerror or error}.") from error
        if _state(path) != before:
            raise CorpusError(f"{path} changed while it was read: wait until nothing writes to it and add it again.")

    def _add(self, source: _Source, record: Record, origin: Origin) -> None:
        """Write a record, or count it as a duplicate, as superseded or as a conflict."""
        row = StoredRow(record, record_digest(record), origin)
        now = SeenRecord(row.digest, origin, self._parts.writer.rows)
        earlier = self._parts.seen.add(record.docid, now)
        if earlier is None:
            source.counts["records"] += 1
            self._write(row)
        elif earlier.digest == row.digest:
            source.counts["duplicates"] += 1
        elif self._on_duplicate == "first":
            source.counts["superseded"] += 1
            self._leave_out(origin, f"identifier {record.docid} stands already in {self._name(earlier.origin)}")
        elif self._on_duplicate == "newest" or self._sources[earlier.origin.source].stored:
            self._parts.seen.replace(record.docid, now)
            source.counts["records"] += 1
            self._write(row)
            self._sources[earlier.origin.source].counts.update(records=-1, superseded=1)
            self._leave_out(earlier.origin, f"identifier {record.docid} stands again in {self._name(origin)}")
        else:
            there = self._name(earlier.origin)
            self.conflicts += 1
            self.first_conflict = self.first_conflict or f"{record.docid}, in {there} and in {self._name(origin)}"
            self._reject(source, origin, f"identifier {record.docid} stands already in {there}, with other content")

    def _write(self, row: StoredRow) -> None:
        self._parts.duplicates.add(self._parts.writer.rows, row.record)
        self._parts.writer.write(row)

    def _reject(self, source: _Source, origin: Origin, reason: str) -> None:
        source.counts["rejected"] += 1
        self.rejected += 1
        self._leave_out(origin, reason)
        self.first_reject = self.first_reject or f"{self._name(origin)}: {reason}"

    def _leave_out(self, origin: Origin, reason: str) -> None:
        reject = Reject(self._sources[origin.source].path, origin.line, origin.offset, reason)
        self._parts.rejects.write(msgspec.json.encode(reject._asdict()).decode() + "\n")

    def _name(self, origin: Origin) -> str:
        return f"{self._sources[origin.source].path} line {origin.line}"


def printable_path(path: Path) -> str:
    """Return a path as text; bytes of the name that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written to or replaced; None where its state cannot be read."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
