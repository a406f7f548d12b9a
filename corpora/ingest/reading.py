"""Read sources into a draft corpus, accounting for every line."""

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
from shrag.corpora.formats.reader import ReadLine, read_source
from shrag.corpora.formats.registry import Format
from shrag.corpora.ingest.ledger import Ledger, Place, Sighting
from shrag.corpora.ingest.near_duplicates import PaperLinks
from shrag.corpora.records import Record, Reject
from shrag.corpora.store.manifest import Account
from shrag.corpora.store.parquet import RecordWriter, Row, record_digest

OnDuplicate = Literal["error", "first", "newest"]
"""Which record of an identifier that comes with different contents is kept; ``error``: none, the caller is to choose.

``first`` and ``newest`` are by the order of reading: of the sources as they are named, of the lines in each."""

Report = Callable[[str, int], None]
"""Told what is being done and how much of it is done so far; the edge decides how to show it."""

REPORT_EVERY = 1_000


class Parts(NamedTuple):
    """Where the draft of a corpus is written."""

    writer: RecordWriter
    ledger: Ledger
    links: PaperLinks
    rejects: TextIO


class _Source:
    """One file, and what has been counted of it so far. A file that a stored corpus was made of has its account."""

    def __init__(self, path: str, format: str, account: Account | None = None) -> None:
        self.path, self.format, self.stored = path, format, account is not None
        self.sha256 = account.sha256 if account else ""
        self.bytes = account.bytes if account else 0
        self.lines = account.lines if account else 0
        kinds = ("records", "rejected", "duplicates", "superseded", "blank") if account else ()
        self.counts: Counter[str] = Counter({kind: getattr(account, kind) for kind in kinds})

    def account(self) -> Account:
        return Account(
            path=self.path,
            format=self.format,
            sha256=self.sha256,
            bytes=self.bytes,
            lines=self.lines,
            records=self.counts["records"],
            rejected=self.counts["rejected"],
            duplicates=self.counts["duplicates"],
            superseded=self.counts["superseded"],
            blank=self.counts["blank"],
        )


class Reading:
    """Reads one source after the other into the same draft, and keeps the account of each."""

    def __init__(self, parts: Parts, on_duplicate: OnDuplicate, report: Report) -> None:
        self._parts, self._on_duplicate, self._report = parts, on_duplicate, report
        self._sources: list[_Source] = []
        self.lines = 0
        self.rejected = 0
        self.first_reject = ""
        self.conflicts = 0
        self.first_conflict = ""

    def accounts(self) -> tuple[Account, ...]:
        """Return the accounts of all sources as they stand now."""
        return tuple(source.account() for source in self._sources)

    def keep_stored(self, accounts: Iterable[Account], rows: Iterable[Row]) -> None:
        """Begin with a stored corpus: its accounts and its rows. To be called before anything is read."""
        self._sources = [_Source(account.path, account.format, account) for account in accounts]
        for done, row in enumerate(rows, 1):
            record, digest = row.record, row.digest
            if record.duplicate_of:
                record = replace(record, duplicate_of="")
                digest = record_digest(record)
            self._parts.ledger.add(record.docid, Sighting(digest, row.place, self._parts.writer.rows))
            self._write(Row(record, digest, row.place))
            if done % REPORT_EVERY == 0:
                self._report("records kept", done)

    def read(self, path: Path, format: Format) -> None:
        """Read one file to its end."""
        source = _Source(written_name(path), format.written)
        self._sources.append(source)
        before = _state(path)
        for line in read_source(path, format):
            source.lines += 1
            self.lines += 1
            self._take(source, line)
            if self.lines % REPORT_EVERY == 0:
                self._report("lines read", self.lines)
        self._report("lines read", self.lines)
        source.sha256, source.bytes = file_digest(path)
        if _state(path) != before:
            raise CorpusError(f"{path} changed while it was read: wait until nothing writes to it and add it again.")

    def _take(self, source: _Source, line: ReadLine) -> None:
        """Put one line where it belongs, and count it."""
        if line.outcome is None:
            source.counts["blank"] += 1
        elif isinstance(line.outcome, str):
            self._reject(source, line, line.outcome)
        else:
            self._take_record(source, line, line.outcome)

    def _take_record(self, source: _Source, line: ReadLine, record: Record) -> None:
        place = Place(len(self._sources) - 1, line.number, line.offset)
        digest = record_digest(record)
        now = Sighting(digest, place, self._parts.writer.rows)
        earlier = self._parts.ledger.add(record.docid, now)
        if earlier is None:
            self._write(Row(record, digest, place))
            source.counts["records"] += 1
        elif earlier.digest == digest:
            source.counts["duplicates"] += 1
        elif self._on_duplicate == "first":
            source.counts["superseded"] += 1
            self._leave_out(place, f"identifier {record.docid} stands already in {self._name(earlier.place)}")
        elif self._on_duplicate == "newest" or self._sources[earlier.place.source].stored:
            self._parts.ledger.replace(record.docid, now)
            self._write(Row(record, digest, place))
            source.counts["records"] += 1
            self._sources[earlier.place.source].counts.update(records=-1, superseded=1)
            self._leave_out(earlier.place, f"identifier {record.docid} stands again in {self._name(place)}")
        else:
            reason = f"identifier {record.docid} stands already in {self._name(earlier.place)}, with other content"
            self.conflicts += 1
            self.first_conflict = self.first_conflict or (
                f"{record.docid}, in {self._name(earlier.place)} and in {self._name(place)}"
            )
            self._reject(source, line, reason)

    def _write(self, row: Row) -> None:
        self._parts.links.note(self._parts.writer.rows, row.record)
        self._parts.writer.write(row)

    def _reject(self, source: _Source, line: ReadLine, reason: str) -> None:
        source.counts["rejected"] += 1
        self.rejected += 1
        self._leave_out(Place(len(self._sources) - 1, line.number, line.offset), reason)
        self.first_reject = self.first_reject or f"{source.path} line {line.number}: {reason}"

    def _leave_out(self, place: Place, reason: str) -> None:
        reject = Reject(self._sources[place.source].path, place.line, place.offset, reason)
        self._parts.rejects.write(msgspec.json.encode(reject._asdict()).decode() + "\n")

    def _name(self, place: Place) -> str:
        return f"{self._sources[place.source].path} line {place.line}"


def written_name(path: Path) -> str:
    """Return a path as it is written down, which not every file name can be: bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def file_digest(path: Path) -> tuple[str, int]:
    """Return a file's SHA-256 and size; raises :class:`CorpusError` where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell()
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror or error}.") from error


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written to or replaced; None where it cannot be looked at."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
