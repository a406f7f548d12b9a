"""A store whose records all lack a title or an abstract, by their own account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from shrag.indexing.analyzed_record import AnalyzedRecord, RecordStore


def incomplete(analyzed: AnalyzedRecord) -> AnalyzedRecord:
    """Return the record marked as incomplete, with the text that it has."""
    return structs.replace(analyzed, record=replace(analyzed.record, complete=False))


class IncompleteStore:
    """Implements :class:`~shrag.indexing.analyzed_record.RecordStore`."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the records of another store, marked as incomplete."""
        return [each and incomplete(each) for each in self._store.fetch(docids)]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :meth:`fetch`."""
        return [incomplete(each) for each in self._store.sample(most)]
