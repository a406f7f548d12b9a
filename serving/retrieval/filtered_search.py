"""FilteredSearcher: searches a request's questions in the records that pass its filter, and counts the hits."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from shrag.indexing.query import Boost, DisjunctionMax, Or, Query
from shrag.indexing.record_filter import EVERY_RECORD, FacetCounts, RecordFilter
from shrag.indexing.search_engine import Hit, SearchEngine, Statistics
from shrag.serving.events import Event, Facets, Ranking, Timings


class FilteredSearcher:
    """Implements :class:`~shrag.indexing.search_engine.SearchEngine`, for one request.

    Only searches are filtered. Statistics are those of the whole index, so that a filter changes no score by words.
    """

    def __init__(self, engine: SearchEngine, record_filter: RecordFilter) -> None:
        self._engine = engine
        self._filter = record_filter
        self._clauses: dict[Query, None] = {}

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; the request's filter is the default."""
        for query in queries:
            self._clauses.update(dict.fromkeys(_alternatives(query)))
        return self._engine.search(queries, k, record_filter or self._filter)

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._engine.count_hits(queries, most)

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._engine.count_facets(queries, record_filter)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._engine.statistics(terms)

    def frequencies(self, term: str, most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._engine.frequencies(term, most)

    def add_facets(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Yield the events of a question; the counts over its hits follow the ranking, when all searches are done."""
        seconds: dict[str, float] = {}
        with closing(events):
            for event in events:
                yield replace(event, seconds=event.seconds | seconds) if isinstance(event, Timings) else event
                if isinstance(event, Ranking):
                    started = time.perf_counter()
                    counts = self._engine.count_facets(list(self._clauses), self._filter)
                    seconds["facets"] = time.perf_counter() - started
                    yield Facets(counts)


def _alternatives(query: Query) -> Iterator[Query]:
    """Yield the alternatives of a query: a document matches ``query`` if and only if it matches one of them.

    The reduced queries of a question share alternatives, so that each alternative is counted once.
    """
    match query:
        case Or(clauses) | DisjunctionMax(clauses):
            for clause in clauses:
                yield from _alternatives(clause)
        case Boost(inner):
            yield from _alternatives(inner)
        case _:
            yield query
