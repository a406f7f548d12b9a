"""Rows as they were read → the rows that stay: superseded ones left out, near-duplicates linked to the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shrag.corpora.ingest.ledger import SeenIds
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.ingest.reading import REPORT_EVERY, ProgressCallback
from shrag.corpora.store.parquet import RecordWriter, StoredRow, read_rows, record_digest


def finalize_rows(
    read: Path, final: Path, seen: SeenIds, duplicates: DuplicateFinder, report: ProgressCallback
) -> None:
    """Make the file ``final`` of the file ``read``, which is used up; ``seen`` gets the digests of linked records."""
    candidates, dropped = _SortedRows(duplicates.candidates()), _SortedRows(seen.dropped())
    if candidates.next is None and dropped.next is None:
        read.replace(final)
        return
    compared = 0
    with RecordWriter(final) as writer:
        for number, row in enumerate(read_rows(read)):
            is_candidate = candidates.take(number)
            if dropped.take(number):
                continue
            if is_candidate:
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
    record = replace(row.record, duplicate_of=first)
    digest = record_digest(record)
    seen.change_digest(record.docid, digest)
    return StoredRow(record, digest, row.origin)


class _SortedRows:
    """Row numbers in rising order, asked for in rising order."""

    def __init__(self, rows: Iterator[int]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def take(self, number: int) -> bool:
        """Say whether ``number`` is the next of them, and go past it."""
        if number != self.next:
            return False
        self.next = next(self._rows, None)
        return True
