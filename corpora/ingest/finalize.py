"""Final rows of a corpus: drop superseded ones, link duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shrag.corpora.ingest.ledger import Ledger
from shrag.corpora.ingest.near_duplicates import PaperLinks
from shrag.corpora.ingest.reading import REPORT_EVERY, Report
from shrag.corpora.store.parquet import RecordWriter, Row, read_parquet, read_rows, record_digest


def settle(read: Path, settled: Path, ledger: Ledger, links: PaperLinks, report: Report) -> None:
    """Make ``settled`` of the file ``read``, which is used up. The ledger is told the digests of linked records."""
    linked = _link(read, ledger, links, report)
    if not linked and next(ledger.dropped(), None) is None:
        read.replace(settled)
        return
    dropped = _Ordered(ledger.dropped())
    firsts = links.links()
    row_linked, first = next(firsts, (-1, ""))
    with RecordWriter(settled) as writer:
        for number, row in enumerate(read_rows(read)):
            if dropped.reach(number):
                continue
            if number == row_linked:
                record = replace(row.record, duplicate_of=first)
                row = Row(record, record_digest(record), row.place)  # noqa: PLW2901
                ledger.change_digest(record.docid, row.digest)
                row_linked, first = next(firsts, (-1, ""))
            writer.write(row)
    read.unlink()


def _link(read: Path, ledger: Ledger, links: PaperLinks, report: Report) -> int:
    """Compare what is worth comparing; return how many rows are linked."""
    candidates, dropped = _Ordered(links.candidates()), _Ordered(ledger.dropped())
    if candidates.next is None:
        return 0
    linked = compared = 0
    for number, record in enumerate(read_parquet(read)):
        gone = dropped.reach(number)
        if candidates.reach(number) and not gone:
            linked += links.link(number, record) is not None
            compared += 1
            if compared % REPORT_EVERY == 0:
                report("records compared", compared)
    return linked


class _Ordered:
    """Row numbers in order, asked about in order."""

    def __init__(self, rows: Iterator[int]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def reach(self, number: int) -> bool:
        """Say whether ``number`` is among them, and go past it."""
        if number != self.next:
            return False
        self.next = next(self._rows, None)
        return True
