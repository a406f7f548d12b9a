"""A store whose records, or some of them, lack a title or an abstract by their own account."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from msgspec import structs

from shrag.indexing.analyzed_record import AnalyzedRecord, RecordStore


def incomplete(analyzed: AnalyzedRecord) -> AnalyzedRecord:
    """Return the record marked as incomplete, with the text that it has."""
    return structs.replace(analyzed, record=replace(analyzed.record, complete=False))


class IncompleteStore:
    """Implements :class:`~shrag.indexing.analyzed_record.RecordStore`."""

    def __init__(self, store: RecordStore, docids: Set[str] | None = None) -> None:
        """Take the store, and the identifiers of the incomplete records; None for all."""
        self._store = store
        self._docids = docids

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the records of the store, some marked as incomplete."""
        return [each and self._marked(each) for each in self._store.fetch(docids)]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :meth:`fetch`."""
        return [self._marked(each) for each in self._store.sample(most)]

    def _marked(self, analyzed: AnalyzedRecord) -> AnalyzedRecord:
        return incomplete(analyzed) if self._docids is None or analyzed.record.docid in self._docids else analyzed
