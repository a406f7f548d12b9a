"""Read sources into the draft of a corpus; count every line and keep one record per identifier."""

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
from shrag.corpora.formats.registry import Format
from shrag.corpora.ingest.ledger import SeenIds, SeenRecord
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.ingest.parser import Parser
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Origin, Record, Reject
from shrag.corpora.store.manifest import SourceAccount
from shrag.corpora.store.parquet import RecordWriter, StoredRow, record_digest
from shrag.corpora.text.repairs import REPAIR_KINDS, UNREAD_YEARS
from shrag.messages.text import Text

OnDuplicate = Literal["error", "first", "newest"]
"""Which record to keep if an identifier has different contents: none (an error), the first one read or the last one."""

ProgressCallback = Callable[[str, int], None]
"""A function that is called with the name of the current stage and the number of its items that are done."""

REPORT_EVERY = 1_000

_COUNTS = ("lines", "records", "rejected", "duplicates", "superseded", "blank")


class DraftFiles(NamedTuple):
    """The files of a corpus's draft, and the parser of its sources."""

    writer: RecordWriter
    seen: SeenIds
    duplicates: DuplicateFinder
    rejects: TextIO
    parser: Parser


class _Source:
    """A source file and the counts of its lines; ``stored`` says whether an earlier addition read it."""

    def __init__(self, path: str, format: str, account: SourceAccount | None = None) -> None:
        self.path, self.format, self.stored = path, format, account is not None
        self.sha256 = account.sha256 if account else ""
        self.bytes = account.bytes if account else 0
        self.counts: Counter[str] = Counter({name: getattr(account, name, 0) for name in _COUNTS})
        self.repairs: Counter[str] = Counter(account.repairs if account else {})

    def account(self) -> SourceAccount:
        counts = {name: self.counts[name] for name in _COUNTS}
        repairs = {kind: self.repairs[kind] for kind in (*REPAIR_KINDS, UNREAD_YEARS) if self.repairs[kind]}
        return SourceAccount(self.path, self.format, self.sha256, self.bytes, **counts, repairs=repairs)


class DraftReader:
    """Reads sources into a draft and counts the lines of each by outcome."""

    def __init__(
        self, files: DraftFiles, on_duplicate: OnDuplicate, report: ProgressCallback, *, repair: bool = True
    ) -> None:
        self._files, self._on_duplicate, self._report, self._repair = files, on_duplicate, report, repair
        self._sources: list[_Source] = []
        self._paper = ("", 0)  # the paper whose chunks are being read, and the number of those read
        self._kept: Origin | None = None  # of its version that was read before and is kept
        self.stored = 0
        """The number of rows that were copied from the stored corpus; they are the first rows of the draft."""
        self.lines = 0
        self.rejected = 0
        self.first_reject = ""
        self.conflicts = 0
        self.first_conflict = ""

    def accounts(self) -> tuple[SourceAccount, ...]:
        """Return the counts of all sources so far."""
        return tuple(source.account() for source in self._sources)

    def keep_stored(self, accounts: Iterable[SourceAccount], rows: Iterable[StoredRow]) -> None:
        """Copy the counts and rows of a stored corpus into the draft; must be called before :meth:`read`."""
        self._sources = [_Source(account.path, account.format, account) for account in accounts]
        for done, row in enumerate(rows, 1):
            # Records that are read later have no link yet, so they are compared with this one without its link.
            digest = unlinked(row).digest
            self._files.seen.add(row.record.docid, SeenRecord(digest, row.origin, self._files.writer.rows))
            if row.record.duplicate_of:
                self._files.seen.keep_link(row.record.docid, row.digest)
            self._write(row)
            self.stored = done
            if done % REPORT_EVERY == 0:
                self._report("stored records copied", done)

    def read(self, path: Path, format: Format) -> None:
        """Read one file to its end."""
        source = _Source(printable_path(path), format.label)
        self._sources.append(source)
        before = _file_state(path)
        for items, repairs in self._files.parser.read(path, format, repair=self._repair):
            source.repairs.update(repairs)
            for item in items:
                if format.chunks and isinstance(item.outcome, Record):
                    self._begin_chunk(item.outcome.docid)
                self._count(source, item)
        self._drop_later_chunks()
        self._report("lines read", self.lines)
        if _file_state(path) != before:
            raise _changed(path)
        try:
            with path.open("rb") as stream:
                source.sha256, source.bytes = hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell()
        except OSError as error:
            raise CorpusError(
                Text("{path} cannot be read: {strerror}.", path=path, strerror=error.strerror or error)
            ) from error
        if _file_state(path) != before:
            raise _changed(path)

    def _count(self, source: _Source, item: ParsedItem) -> None:
        source.counts["lines"] += 1
        self.lines += 1
        origin = Origin(len(self._sources) - 1, item.number, item.offset, item.element)
        if isinstance(item.outcome, Record):
            self._add(source, item.outcome, origin)
        elif item.outcome is None:
            source.counts["blank"] += 1
        else:
            self._reject(source, origin, item.outcome)
        if self.lines % REPORT_EVERY == 0:
            self._report("lines read", self.lines)

    def _add(self, source: _Source, record: Record, origin: Origin) -> None:
        """Write a record, or count it as a duplicate, as superseded or as a conflict."""
        row = StoredRow(record, record_digest(record), origin)
        if self._kept is not None and self._files.seen.find(record.docid) is None:
            source.counts["superseded"] += 1
            there = self._name(self._kept)
            self._write_reject(origin, f"paper {self._paper[0]} is already in {there}, without this chunk")
            return
        now = SeenRecord(row.digest, origin, self._files.writer.rows)
        earlier = self._files.seen.add(record.docid, now)
        if earlier is None:
            source.counts["records"] += 1
            self._write(row)
        elif earlier.digest == row.digest:
            source.counts["duplicates"] += 1
        elif self._on_duplicate == "first":
            source.counts["superseded"] += 1
            self._write_reject(origin, f"identifier {record.docid} is already in {self._name(earlier.origin)}")
        elif self._on_duplicate == "newest" or self._sources[earlier.origin.source].stored:
            self._files.seen.replace(record.docid, now)
            source.counts["records"] += 1
            self._write(row)
            self._sources[earlier.origin.source].counts.update(records=-1, superseded=1)
            self._write_reject(earlier.origin, f"identifier {record.docid} is again in {self._name(origin)}")
        else:
            there = self._name(earlier.origin)
            self.conflicts += 1
            self.first_conflict = self.first_conflict or Text(
                "{docid}, in {there} and in {here}", docid=record.docid, there=there, here=self._name(origin)
            )
            source.counts["rejected"] += 1
            self._write_reject(origin, conflict_reason(record.docid, there))

    def _begin_chunk(self, docid: str) -> None:
        paper, _, number = docid.rpartition("#")
        if number == "0":
            self._drop_later_chunks()
            earlier = self._files.seen.find(docid) if self._on_duplicate == "first" else None
            self._kept = earlier.origin if earlier else None
        self._paper = (paper, int(number) + 1)

    def _drop_later_chunks(self) -> None:
        """Drop the chunks of the paper just read that only its earlier version has, since it was longer."""
        (paper, number), self._paper, self._kept = self._paper, ("", 0), None
        if not paper or self._on_duplicate == "first":
            return
        while (chunk := self._files.seen.find(docid := f"{paper}#{number}")) is not None:
            source = self._sources[chunk.origin.source]
            if not source.stored and self._on_duplicate == "error":
                return
            self._files.seen.remove(docid)
            source.counts.update(records=-1, superseded=1)
            self._write_reject(chunk.origin, f"paper {paper} is again in {self._sources[-1].path}, without this chunk")
            number += 1

    def _write(self, row: StoredRow) -> None:
        self._files.duplicates.add(self._files.writer.rows, row.record)
        self._files.writer.write(row)

    def _reject(self, source: _Source, origin: Origin, reason: str) -> None:
        source.counts["rejected"] += 1
        self.rejected += 1
        self._write_reject(origin, reason)
        # The reason for an element that is not an object already names the element.
        element = 0 if reason.startswith("element ") else origin.element
        place = line_name(self._sources[origin.source].path, origin.line, element)
        self.first_reject = self.first_reject or Text("{place}: {reason}", place=place, reason=reason)

    def _write_reject(self, origin: Origin, reason: str) -> None:
        reject = Reject(self._sources[origin.source].path, origin.line, origin.offset, str(reason))  # stored in English
        self._files.rejects.write(msgspec.json.encode(reject._asdict()).decode() + "\n")

    def _name(self, origin: Origin) -> str:
        return line_name(self._sources[origin.source].path, origin.line, origin.element)


def unlinked(row: StoredRow) -> StoredRow:
    """Return a row without the link to a record of the same paper."""
    if not row.record.duplicate_of:
        return row
    record = replace(row.record, duplicate_of="")
    return StoredRow(record, record_digest(record), row.origin)


def line_name(path: str, line: int, element: int = 0) -> Text:
    """Return the name of a line in messages, or of an element of an array, since one line may hold many elements."""
    if element:
        return Text("{file} element {element}", file=path, element=element)
    return Text("{file} line {line}", file=path, line=line)


def conflict_reason(docid: str, there: str) -> str:
    """Return the reason for rejecting a record whose identifier was read before, in the line named ``there``."""
    return Text("identifier {docid} is already in {there}, with other content", docid=docid, there=there)


def printable_path(path: Path) -> str:
    """Return a path as text, with escapes for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _changed(path: Path) -> CorpusError:
    return CorpusError(
        Text("{path} changed while it was read: wait until nothing writes to it and add it again.", path=path)
    )


def _file_state(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is written or replaced, or None if they cannot be read."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
