"""DistributedSearcher: search over an index's words, records and vectors in a collection of a vector database.

The database finds candidates by inner products that are at least their scores (``query_plan.py``). This process then
computes the scores from the stored vectors, so they are the same on every database. They equal those of
:class:`~shrag.indexing.lexical.searcher.LuceneSearcher` up to the rounding of single precision.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, get_args

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from shrag.corpora.records import Language
from shrag.indexing.analyzed_record import AnalyzedRecord, decode_record
from shrag.indexing.distributed.collection import (
    EVERYTHING,
    MOST_HITS,
    Between,
    Collection,
    Condition,
    Every,
    Has,
    Scored,
    SparseVector,
    VectorDatabase,
    Without,
    value_number,
)
from shrag.indexing.distributed.query_plan import (
    BoundedQuery,
    exact_scores,
    known_terms,
    matching_condition,
    plan_query,
)
from shrag.indexing.distributed.vocabulary import KnownTerm, Vocabulary
from shrag.indexing.errors import IndexDamaged, TooManyCandidates
from shrag.indexing.lexical.searcher import RecordCache
from shrag.indexing.query import Or, Query
from shrag.indexing.record_filter import (
    EVERY_RECORD,
    LATEST_YEAR,
    NO_FACETS,
    VALUE_FIELDS,
    FacetCounts,
    FacetValue,
    RecordFilter,
    count_records,
)
from shrag.indexing.search_engine import Hit, Statistics
from shrag.messages.text import Text
from shrag.models.encoder import Vectors

MOST_FACETED = 50_000
"""Most hits for which all facets are counted. Counting reads each hit."""

_EXTRA_CANDIDATES = 32
_DEPTH_FACTOR = 4
_SLACK = 1e-5  # relative rounding error of a sum in single precision
_EXTRA_NEIGHBOURS = 64
_BATCH = 256
_CACHED_VECTORS = 20_000


class _Candidate(NamedTuple):
    docid: str
    vector: SparseVector


class DistributedSearcher:
    """Implements :class:`~shrag.indexing.search_engine.SearchEngine` over a collection. Thread-safe.

    It is also the index's :class:`~shrag.indexing.analyzed_record.RecordStore`,
    :class:`~shrag.indexing.vectors.store.StoredDocuments` and
    :class:`~shrag.indexing.vectors.vector_index.VectorRows`.

    Args:
        database: The database of the collection, which :meth:`close` closes.
        collection: The documents.
        vocabulary: The vocabulary that they were loaded with.
    """

    def __init__(self, database: VectorDatabase, collection: Collection, vocabulary: Vocabulary) -> None:
        self._database = database
        self._collection = collection
        self._vocabulary = vocabulary
        self._documents = vocabulary.header.records
        self._lock = threading.Lock()
        self._candidates = LRUCache[int, _Candidate](_CACHED_VECTORS)
        self._number_of = LRUCache[str, int](_CACHED_VECTORS)
        self._records = RecordCache()

    def close(self) -> None:
        """Close the vocabulary and the database; later searches fail."""
        self._vocabulary.close()
        self._database.close()

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`.

        Raises:
            TooManyCandidates: More candidates than :data:`MOST_HITS` would have to be scored.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        hits: list[list[Hit]] = [[] for _ in queries]
        if not self._documents:
            return hits
        known = known_terms(queries, self._vocabulary)
        filtered = filter_condition(record_filter)
        plans = (plan_query(query, known, self._vocabulary.header) for query in queries)
        open_plans = {place: plan for place, plan in enumerate(plans) if plan is not None}
        k = min(k, self._documents)
        depth = min(k + _EXTRA_CANDIDATES, self._documents)
        while open_plans:
            if k > MOST_HITS:
                raise _too_many()
            found = self._search(open_plans, min(depth, MOST_HITS), filtered)
            there = self._load_candidates({number for each in found.values() for number, _ in each})
            for place, scored in found.items():
                ranked, is_complete = self._rank(open_plans[place], scored, there, k, min(depth, MOST_HITS), known)
                if is_complete:
                    hits[place] = ranked
                    del open_plans[place]
            if open_plans and depth >= MOST_HITS:
                raise _too_many()
            depth *= _DEPTH_FACTOR
        return hits

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        known = known_terms(queries, self._vocabulary)
        conditions = [matching_condition(query, known) for query in queries]
        return [0 if each is None else min(self._collection.count(each), most) for each in conditions]

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; reads each record that matches.

        If more than :data:`MOST_FACETED` records match, only the hits, the hits without a year, and the languages are
        counted.
        """
        condition = matching_condition(Or(tuple(queries)), known_terms(queries, self._vocabulary))
        if condition is None:
            return NO_FACETS
        if self._collection.count(condition) > MOST_FACETED:
            return self._count_languages(condition, record_filter)
        return count_records((each.record for each in self.documents(self._numbers(condition))), record_filter)

    def passing(self, record_filter: RecordFilter) -> NDArray[np.int64]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        return np.array(self._numbers(filter_condition(record_filter)), dtype=np.int64)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._vocabulary.statistics(terms)

    def frequencies(self, term: str, most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; reads the first records with the term."""
        known = self._vocabulary.terms([term]).get(term)
        if known is None:
            return []
        numbers = self._first_numbers(Has("terms", (known.number,)), known.in_contents, most)
        return [each.contents_terms.count(term) for each in self.documents(numbers)]

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        numbers = self.numbers(docids)
        stored = self._stored([number for number in numbers if number is not None])
        return [decode_record(stored[number]) if number is not None else None for number in numbers]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        places = range(most if self._documents else 0)
        return list(self.documents(dict.fromkeys(place * self._documents // most for place in places)))

    def count(self) -> int:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        return self._documents

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        found = self._load_candidates(set(numbers))
        return [found[number].docid for number in numbers]

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._lock:
            found = {docid: self._number_of.get(docid) for docid in docids}
        unknown = [docid for docid, number in found.items() if number is None]
        for start in range(0, len(unknown), _BATCH):
            part = unknown[start : start + _BATCH]
            values = tuple({value_number(docid) for docid in part})
            near = self._load_candidates(set(self._collection.find(Has("docid_number", values), 2 * _BATCH)))
            found.update((each.docid, number) for number, each in near.items() if each.docid in found)
        return [found[docid] for docid in docids]

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        left = iter(numbers)
        while batch := list(islice(left, _BATCH)):
            stored = self._stored(batch)
            for number in batch:
                yield decode_record(stored[number])

    def nearest(self, question_vector: Vectors, k: int, record_filter: RecordFilter) -> list[Hit]:
        """See :class:`~shrag.indexing.vectors.vector_index.VectorRows`. The database's HNSW index finds candidates."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        depth = min(k + _EXTRA_NEIGHBOURS, MOST_HITS, self._documents)
        if not depth or not question_vector.any():
            return []
        (found,) = self._collection.search_dense(question_vector, depth, filter_condition(record_filter))
        cosines = self._cosines(question_vector, [number for number, _ in found])
        docids = {number: each.docid for number, each in self._load_candidates(set(cosines)).items()}
        hits = ((-cosine, docids[number]) for number, cosine in cosines.items() if cosine > 0)
        return [Hit(docid, -cosine) for cosine, docid in heapq.nsmallest(k, hits)]

    def cosines(self, question_vector: Vectors, docids: Sequence[str]) -> list[float]:
        """See :class:`~shrag.indexing.vectors.vector_index.VectorRows`."""
        numbers = self.numbers(docids)
        found = self._cosines(question_vector, [number for number in numbers if number is not None])
        return [0.0 if number is None else found.get(number, 0.0) for number in numbers]

    def mean(self, numbers: Sequence[int]) -> Vectors:
        """See :class:`~shrag.indexing.vectors.vector_index.VectorRows`."""
        from shrag.indexing.vectors.exact_search import mean_vector

        batches = [numbers[start : start + _BATCH] for start in range(0, len(numbers), _BATCH)]
        return mean_vector(np.concatenate([self._dense(batch)[1] for batch in batches]))

    def _search(self, plans: Mapping[int, BoundedQuery], depth: int, filtered: Condition) -> dict[int, Scored]:
        """Search for all plans, with one request for all those that have the same condition."""
        groups: dict[Condition, list[int]] = {}
        for place, plan in plans.items():
            groups.setdefault(_both(plan.condition, filtered), []).append(place)
        found: dict[int, Scored] = {}
        for condition, places in groups.items():
            results = self._collection.search([plans[place].bound for place in places], depth, condition)
            found.update(zip(places, results, strict=True))
        return found

    def _rank(
        self,
        plan: BoundedQuery,
        scored: Scored,
        candidates: Mapping[int, _Candidate],
        k: int,
        depth: int,
        known: Mapping[str, KnownTerm],
    ) -> tuple[list[Hit], bool]:
        """Return the best ``k`` of the candidates, and whether no document beyond the candidates can be better."""
        theirs = [candidates[number] for number, _ in scored]
        matches, scores = exact_scores(plan.query, [each.vector for each in theirs], known, self._vocabulary.header)
        hits = (
            (-score, each.docid) for each, score, match in zip(theirs, scores.tolist(), matches, strict=True) if match
        )
        best = [Hit(docid, -score) for score, docid in heapq.nsmallest(k, hits)]
        if len(scored) < depth or depth == self._documents:
            return best, True
        unseen, last = scored[-1][1], best[-1].score if len(best) == k else 0.0
        # At MOST_HITS the search cannot go deeper, so documents that tie with the last hit may remain unseen.
        return best, last > unseen * (1 + _SLACK) or (depth == MOST_HITS and last >= unseen * (1 - _SLACK))

    def _load_candidates(self, numbers: Iterable[int]) -> dict[int, _Candidate]:
        """Return the docids and vectors of these documents, from the cache or the collection."""
        with self._lock:
            cached = {number: self._candidates.get(number) for number in numbers}
        found = {number: each for number, each in cached.items() if each is not None}
        missing = sorted(cached.keys() - found.keys())
        for start in range(0, len(missing), MOST_HITS):
            for number, parts in self._collection.read(missing[start : start + MOST_HITS], ("docid", "sparse")).items():
                if parts.sparse is not None:
                    found[number] = _Candidate(parts.docid, parts.sparse)
        if len(found) != len(cached):
            raise _lost(len(cached) - len(found))
        with self._lock:
            for number in missing:
                self._candidates[number] = found[number]
                self._number_of[found[number].docid] = number
        return found

    def _stored(self, numbers: Sequence[int]) -> dict[int, bytes]:
        records = self._records.get(numbers)
        found = {number: stored for number, stored in records.items() if stored is not None}
        missing = [number for number in records if number not in found]
        for start in range(0, len(missing), _BATCH):
            for number, parts in self._collection.read(missing[start : start + _BATCH], ("stored",)).items():
                found[number] = parts.stored.encode()
                self._records.put(number, found[number])
        if len(found) != len(records):
            raise _lost(len(records) - len(found))
        return found

    def _cosines(self, question_vector: Vectors, numbers: Sequence[int]) -> dict[int, float]:
        from shrag.indexing.vectors.exact_search import cosines

        if not numbers:
            return {}
        there, rows = self._dense(numbers)
        return dict(zip(there, cosines(rows, question_vector[0], range(len(rows))), strict=True))

    def _dense(self, numbers: Sequence[int]) -> tuple[list[int], NDArray[np.float16]]:
        """Return which of these documents have a vector, and the vectors."""
        read = self._collection.read(list(numbers), ("dense",))
        there = {number: parts.dense for number, parts in read.items() if parts.dense is not None}
        # The vectors had half precision when they were stored, so nothing is lost here.
        rows = np.stack(list(there.values())).astype(np.float16) if there else np.empty((0, 0), dtype=np.float16)
        return list(there), rows

    def _numbers(self, condition: Condition) -> list[int]:
        """Return the numbers of all documents that meet the condition, in ascending order."""
        found: list[int] = []
        ranges = [(0, self._documents - 1)]
        while ranges:
            first, last = ranges.pop()
            part = _both(condition, Between("number", first, last))
            if last - first >= MOST_HITS and self._collection.count(part) > MOST_HITS:
                middle = (first + last) // 2
                ranges += [(first, middle), (middle + 1, last)]
            else:
                found += self._collection.find(part, MOST_HITS)
        return sorted(found)

    def _count_languages(self, condition: Condition, record_filter: RecordFilter) -> FacetCounts:
        def count(passing: RecordFilter, also: Condition) -> int:
            return self._collection.count(_both(_both(condition, filter_condition(passing)), also))

        any_language = replace(record_filter, language=())
        any_year = replace(record_filter, year_from=None, year_to=None)
        languages = {
            language: count(any_language, Has("keys", (value_number("language", language),)))
            for language in get_args(Language)
        }
        most_first = sorted(languages.items(), key=lambda each: (-each[1], each[0]))
        return replace(
            NO_FACETS,
            total=count(record_filter, EVERYTHING),
            undated=count(any_year, Without(Between("year", 0, LATEST_YEAR))),
            language=tuple(FacetValue(language, found) for language, found in most_first if found),
        )

    def _first_numbers(self, condition: Condition, there: int, most: int) -> list[int]:
        """Return the lowest numbers, at most ``most``, of the ``there`` documents that meet the condition."""
        most = min(most, MOST_HITS // 2)
        # If these documents are spread evenly, the range to ``last`` has about ``most`` of them. An answer holds twice
        # as many.
        last = min(self._documents, self._documents * most // max(there, 1) + 1)
        found = sorted(self._collection.find(_both(condition, Between("number", 0, last)), MOST_HITS))
        while len(found) < min(there, most) and last < self._documents:
            last = min(self._documents, 2 * last)
            found = sorted(self._collection.find(_both(condition, Between("number", 0, last)), MOST_HITS))
        return found[:most]


def filter_condition(record_filter: RecordFilter) -> Condition:
    """Return the condition that exactly the records that pass a filter meet."""
    conditions: list[Condition] = []
    if record_filter.years is not None:
        conditions.append(Between("year", *record_filter.years))
    conditions += [
        Has("keys", tuple(value_number(name, key) for key in keys))
        for name in VALUE_FIELDS
        if (keys := record_filter.keys(name))
    ]
    return Every(tuple(conditions)) if conditions else EVERYTHING


def _both(condition: Condition, other: Condition) -> Condition:
    if EVERYTHING in {condition, other}:
        return other if condition == EVERYTHING else condition
    return Every((condition, other))


def _too_many() -> TooManyCandidates:
    return TooManyCandidates(
        Text(
            "The best records of this query cannot be determined from {candidates:,} candidates, and a vector "
            "database gives no more: ask for fewer records, use other words, or use the engine lucene.",
            candidates=MOST_HITS,
        )
    )


def _lost(count: int) -> IndexDamaged:
    return IndexDamaged(
        Text(
            "The vector database has lost {count} records of the index: load it again with `shrag index`.", count=count
        )
    )
