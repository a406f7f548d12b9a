"""LuceneSearcher with its term and record caches.

A call into Java releases the interpreter's lock and waits for it again, which under load takes longer than the call
itself. So each step is one call (``java/shrag/IndexSearch.java``): for all queries of a question, for the docids of
their hits, for the records. The call for the queries looks each term up once and runs the queries in parallel
(docs/en/explanation/benchmarks.md).

The index does not change, so recent terms, docids and records are cached. Looking a term up takes some 15 µs in
Lucene's dictionary, and less than 1 µs here. Records are cached as stored: reading one takes 30 µs, decoding one 8 µs.
Decoded records would take six times the memory, in objects that every garbage collection has to visit.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, islice, pairwise
from pathlib import Path

import msgspec
import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from shrag.indexing.analyzed_record import AnalyzedRecord, decode_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.filter_fields import read_facets, write_filter, write_limit, write_limits
from shrag.indexing.lexical.author_names import AuthorNames, fold_name
from shrag.indexing.lexical.jvm import (
    JavaClass,
    first_use,
    java_class,
    java_errors,
    java_exception,
    java_failure,
    java_message,
    lucene_class,
    project_class,
)
from shrag.indexing.lexical.packed_question import PackedQuestion, RecordScore
from shrag.indexing.lexical.schema import CONTENTS, DOCID, RAW, TITLE, similarity
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term
from shrag.indexing.record_filter import (
    EVERY_RECORD,
    FACET_VALUES,
    NO_FACETS,
    FacetCounts,
    RecordFilter,
    ValueField,
    value_key,
)
from shrag.indexing.search_engine import AuthorName, FieldStatistics, Hit, Statistics
from shrag.messages.text import Text

SEPARATOR = "\0"
"""Separates the nodes of queries, and texts, in strings from and to Java."""

_AUTHOR: ValueField = "author"
_VALUES_AT_ONCE = 100_000
_MOST_PARTS = 20  # with more names, which would take over 90 MB, no name is found by a word
_FEWEST_DOCUMENTS = 3  # of a term that may correct another; rarer terms are mostly misspelled themselves
_LETTERS_OF_TWO_EDITS = 8
_BATCH = 256
_CACHED_TERMS = 100_000
_CACHED_DOCIDS = 100_000

MOST_BYTES = 32 << 20
"""Size of the record cache, enough for some 20,000 abstracts with their terms."""


class RecordCache:
    """Cache of the stored records read last, by document number, in at most ``most_bytes``. Thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._cache = LRUCache[int, bytes](most_bytes, getsizeof=len)
        self._lock = threading.Lock()

    def get(self, numbers: Iterable[int]) -> dict[int, bytes | None]:
        """Return the record of each document number, or None if it is not cached."""
        with self._lock:
            return {number: self._cache.get(number) for number in numbers}

    def put(self, number: int, stored: bytes) -> None:
        """Cache a record, unless it would take more than a tenth of the cache."""
        if len(stored) <= self._cache.maxsize // 10:
            with self._lock:
                self._cache[number] = stored

    @property
    def bytes(self) -> int:
        """Size of the cached records."""
        return int(self._cache.currsize)


class LuceneSearcher:
    """Implements :class:`~shrag.indexing.search_engine.SearchEngine` over one commit of an index. Thread-safe."""

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"reading {folder}"
        self._java_exception = java_exception()
        with java_errors(self._doing), first_use:
            self._directory = lucene_class("store.FSDirectory").open(java_class("java.nio.file.Paths").get(str(folder)))
            self._reader = lucene_class("index.DirectoryReader").open(self._directory)
            searcher = lucene_class("search.IndexSearcher")(self._reader)
            searcher.setSimilarity(similarity(parameters))
            self._java = project_class("IndexSearch")(searcher, CONTENTS, TITLE, parameters.title_boost, DOCID, RAW)
            self._java_terms = project_class("IndexTerms")(searcher)
            data = self._reader.getIndexCommit().getUserData()
            self._commit_data = {str(key): str(data.get(key)) for key in data.keySet()}
            self._contents, self._title = self._collection(CONTENTS), self._collection(TITLE)
        self._documents = int(self._reader.numDocs())
        self._terms: dict[str, tuple[int, int]] = {}
        # Numbers and docids of the documents found last, to fetch their records without a search.
        self._number_of: dict[str, int] = {}
        self._docid_of: dict[int, str] = {}
        self._docid_lock = threading.Lock()
        self._records = RecordCache()

    def commit_data(self) -> dict[str, str]:
        """Return the data given to :meth:`LuceneIndexWriter.commit`."""
        return self._commit_data

    def close(self) -> None:
        """Close the files; later searches fail."""
        self._reader.close()
        self._directory.close()

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        if not self._documents or not queries:
            return [[] for _ in queries]
        with self._java_errors():
            written, most = write_queries(queries), min(k, self._documents)
            data = memoryview(bytes(memoryview(self._java.search(written, most, write_filter(record_filter)))))
            numbers, scores = data.cast("i").tolist(), data.cast("f").tolist()
            found: list[list[tuple[int, float]]] = []
            start = 0
            for _ in queries:
                end = start + 1 + 2 * numbers[start]
                found.append(list(zip(numbers[start + 1 : end : 2], scores[start + 2 : end : 2], strict=True)))
                start = end
            docids = self._docids({number for hits in found for number, _ in hits})
        return [
            sorted((Hit(docids[number], score) for number, score in hits), key=lambda hit: (-hit.score, hit.docid))
            for hits in found
        ]

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return [len(found) for found in self.search(queries, most)]

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        if not self._documents or not queries:
            return NO_FACETS
        with self._java_errors():
            written = self._java.facets(write_queries(queries), write_filter(record_filter), FACET_VALUES)
            return read_facets(str(written))

    def passing(self, record_filter: RecordFilter) -> NDArray[np.int64]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._java_errors():
            bits = np.frombuffer(bytes(memoryview(self._java.passing(write_filter(record_filter)))), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        with self._java_errors():
            found = self._document_frequencies(terms) if self._documents else [(0, 0)] * len(terms)
        in_contents = {term: count for term, (count, _) in zip(terms, found, strict=True)}
        in_title = {term: count for term, (_, count) in zip(terms, found, strict=True)}
        return Statistics(FieldStatistics(*self._contents, in_contents), FieldStatistics(*self._title, in_title))

    def frequencies(self, term: str, most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; the documents are the first ones of the index."""
        with self._java_errors():
            return _integers(self._java_terms.occurrences(CONTENTS, term, most))

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        with self._java_errors():
            return self._read([self._number(docid) for docid in docids])

    def newest_of_authors(
        self, names: Sequence[str], most: int, record_filter: RecordFilter = EVERY_RECORD
    ) -> list[str]:
        """See :class:`~shrag.indexing.search_engine.AuthorSearch`."""
        if not names:
            return []
        with self._java_errors():
            limits = join_texts([_limit_to_authors(names), *write_limits(record_filter)])
            return self.docids(_integers(self._java.newest(limits, most)))

    def facets_of_authors(self, names: Sequence[str], record_filter: RecordFilter) -> FacetCounts:
        """See :class:`~shrag.indexing.search_engine.AuthorSearch`."""
        if not names:
            return NO_FACETS
        with self._java_errors():
            written = self._java.facets("l" + _limit_to_authors(names), write_filter(record_filter), FACET_VALUES)
            return read_facets(str(written))

    def count_records(self, names: Sequence[str]) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.AuthorSearch`."""
        with self._java_errors():
            return _integers(self._java_terms.documents(_AUTHOR, join_texts(map(value_key, names)))) if names else []

    def names_with_word(self, word: str, most: int) -> list[AuthorName]:
        """See :class:`~shrag.indexing.search_engine.AuthorSearch`."""
        return self._author_names.with_word(fold_name(word), most)

    def similar_terms(self, term: str, most: int) -> list[str]:
        """See :class:`~shrag.indexing.search_engine.SpellingSearch`."""
        with self._java_errors():
            for edits in (1, 2) if len(term) >= _LETTERS_OF_TWO_EDITS else (1,):
                similar = str(self._java_terms.similar(CONTENTS, term, edits, _FEWEST_DOCUMENTS, most))
                if similar:
                    return similar.split(SEPARATOR)
            return []

    def score_records(self, question: PackedQuestion, docids: Sequence[str]) -> list[RecordScore]:
        """See :class:`~shrag.indexing.lexical.packed_question.RecordScorer`."""
        if not question.terms or not docids:
            return [RecordScore(0.0, 0.0)] * len(docids)
        numbers = self.numbers(docids)
        if None in numbers:
            raise ValueError(f"{docids[numbers.index(None)]!r} is not in the index.")
        with self._java_errors():
            scores = self._java.score(SEPARATOR.join(question.terms), question.integers, question.numbers, numbers)
            values = array("d", bytes(memoryview(scores)))
            return list(map(RecordScore, values[::2], values[1::2]))

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        with self._java_errors():
            return [decode_record(stored) for stored in self._stored(_integers(self._java.sample(most)))]

    def count(self) -> int:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`.

        Raises:
            IndexingError: Deleted documents still have numbers.
        """
        if int(self._reader.maxDoc()) != self._documents:
            raise IndexingError(
                Text("Lucene keeps deleted documents while {doing}: merge it to one segment first.", doing=self._doing)
            )
        return self._documents

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._java_errors():
            found = self._docids(numbers)
        return [found[number] for number in numbers]

    def terms(self) -> Iterator[str]:
        """Yield every term of the contents in the order of their UTF-8 bytes. They include every term of the titles."""
        return (term for part in self._values(CONTENTS) for term in part[:-1].split("\n"))

    def distinct_docids(self) -> int:
        """Return the number of different docids, of an index merged to one segment."""
        with self._java_errors():
            return int(self._java_terms.count(DOCID))

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._java_errors():
            return [self._number(docid) for docid in docids]

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        left = iter(numbers)
        with self._java_errors():
            while batch := list(islice(left, _BATCH)):
                yield from map(decode_record, self._stored(batch))

    @cached_property
    def _author_names(self) -> AuthorNames:
        parts = list(islice(self._values(_AUTHOR), _MOST_PARTS + 1))
        return AuthorNames("".join(parts) if len(parts) <= _MOST_PARTS else "")

    def _values(self, field: str) -> Iterator[str]:
        """Yield the values of a field in the order of their UTF-8 bytes, a line each, many lines at once."""
        last = ""
        while True:
            with self._java_errors():
                part = bytes(memoryview(self._java_terms.values(field, last, _VALUES_AT_ONCE))).decode()
            if not part:
                return
            yield part
            last = part[:-1].rpartition("\n")[2]

    @contextmanager
    def _java_errors(self) -> Iterator[None]:
        """Raise Java's exceptions, and errors of decoding what was read, as :class:`IndexDamaged`.

        A lack of memory is raised as :class:`IndexingError`, because it is no damage.
        """
        try:
            yield
        except self._java_exception as error:
            if type(error).__name__.endswith("OutOfMemoryError"):
                raise java_failure(error, self._doing) from error
            raise IndexDamaged(
                Text(
                    "Lucene failed while {doing}: {java_message}.", doing=self._doing, java_message=java_message(error)
                )
            ) from error
        except (msgspec.MsgspecError, ValueError) as error:
            raise IndexDamaged(
                Text("While {doing}, something was read that is not a record: {error}.", doing=self._doing, error=error)
            ) from error

    def _document_frequencies(self, terms: Sequence[str]) -> list[tuple[int, int]]:
        """Return for each term the number of documents with it in the contents, and with it in the title."""
        cached = self._terms
        known = {term: cached.get(term) for term in terms}
        new = [term for term, found in known.items() if found is None]
        if new:
            counts = _integers(self._java.frequencies(join_texts(new)))
            found = dict(zip(new, zip(counts[::2], counts[1::2], strict=True), strict=True))
            if len(cached) + len(new) > _CACHED_TERMS:
                cached.clear()
            cached.update(found)
            known.update(found)
        return [frequencies for term in terms if (frequencies := known[term]) is not None]

    def _docids(self, numbers: Iterable[int]) -> dict[int, str]:
        docids = {number: self._docid_of.get(number, "") for number in numbers}
        unknown = sorted(number for number, docid in docids.items() if not docid)  # doc values are read forwards only
        if unknown:
            docids.update(zip(unknown, str(self._java.docids(unknown)).split(SEPARATOR), strict=True))
            with self._docid_lock:
                if len(self._docid_of) > _CACHED_DOCIDS:
                    self._number_of.clear()
                    self._docid_of.clear()
                for number in unknown:
                    self._docid_of[number] = docids[number]
                    self._number_of[docids[number]] = number
        return docids

    def _read(self, numbers: Sequence[int | None]) -> list[AnalyzedRecord | None]:
        """Return the records of document numbers, from the cache or the index."""
        records = self._records.get(number for number in numbers if number is not None)
        missing = [number for number, stored in records.items() if stored is None]
        if missing:
            for number, stored in zip(missing, self._stored(missing), strict=True):
                records[number] = stored
                self._records.put(number, stored)
        found = (records[number] if number is not None else None for number in numbers)
        return [decode_record(stored) if stored is not None else None for stored in found]

    def _stored(self, numbers: Sequence[int]) -> list[bytes]:
        """Return the stored bytes of documents, for :func:`decode_record`."""
        data = bytes(memoryview(self._java.stored(numbers)))
        ends = list(accumulate(memoryview(data)[: 4 * len(numbers)].cast("i"), initial=4 * len(numbers)))
        return [data[start:end] for start, end in pairwise(ends)]

    def _number(self, docid: str) -> int | None:
        number = self._number_of.get(docid)
        if number is None:
            try:
                place = int(self._java.place(docid))
            except UnicodeEncodeError:  # half of a surrogate pair, which no docid has
                return None
            number = place if place >= 0 else None
        return number

    def _collection(self, field: str) -> tuple[int, float]:
        """Return the number of documents with the field, and its mean length."""
        documents, tokens = array("q", bytes(memoryview(self._java_terms.statistics(field))))
        return documents, tokens / documents if documents else 0.0


def _integers(data: JavaClass) -> list[int]:
    """Return the integers of a Java array of bytes."""
    return memoryview(bytes(memoryview(data))).cast("i").tolist()


def write_queries(queries: Sequence[Query]) -> str:
    """Encode queries for Java, as nodes separated by NUL, each before its clauses.

    The first letter of a node is its kind:

    - ``t``: a term
    - ``o`` (or), ``a`` (and), ``b`` (disjunction max): clauses, whose number follows the letter
    - ``n``: not, with an included and an excluded query
    - ``w``: a boost, with its factor and a query

    Java also reads ``l``: the documents that pass a limit of a filter, which the letter is followed by.
    """
    written: dict[int, str] = {}
    return SEPARATOR.join([_write(query, written) for query in queries])


def _limit_to_authors(names: Iterable[str]) -> str:
    return write_limit(_AUTHOR, map(value_key, names))


def join_texts(texts: Iterable[str]) -> str:
    """Join one or more texts for Java. A NUL in a text is replaced; no index has a text with one."""
    return SEPARATOR.join(map(_escape, texts))


def _write(query: Query, written: dict[int, str]) -> str:
    """Encode a query, or take its encoding from ``written``.

    ``written`` has encodings by the identity of the query, because the queries of a question share most clauses.
    """
    known = written.get(id(query))
    if known is None:
        known = written[id(query)] = _write_new(query, written)
    return known


def _write_new(query: Query, written: dict[int, str]) -> str:
    match query:
        case Term(term):
            return "t" + _escape(term)
        case Or(clauses):
            return _write_clauses("o", clauses, written)
        case And(clauses):
            return _write_clauses("a", clauses, written)
        case DisjunctionMax(clauses):
            return _write_clauses("b", clauses, written)
        case Not(wanted, unwanted):
            return SEPARATOR.join(("n", _write(wanted, written), _write(unwanted, written)))
        case Boost(inner, weight):
            return f"w{float(weight)!r}{SEPARATOR}{_write(inner, written)}"


def _write_clauses(kind: str, clauses: Sequence[Query], written: dict[int, str]) -> str:
    return SEPARATOR.join([f"{kind}{len(clauses)}", *[_write(clause, written) for clause in clauses]])


def _escape(text: str) -> str:
    return text if SEPARATOR not in text else text.replace(SEPARATOR, "\ufffd")
