"""LuceneSearcher with its term and record caches.

A call into Java releases the interpreter's lock and waits for it again, which under load takes longer than the call
itself. So each step is one call (``java/shrag/IndexSearch.java``): all queries of a question, the docids of their hits,
the records. The queries are nested: one call looks each term up once and runs them in parallel (docs/benchmarks.md).

The index does not change, so recent terms, docids and records are cached. A term takes some 15 µs in Lucene's
dictionary, less than one here. Records are cached as stored: decoding one takes 8 µs, reading one 30, and decoded they
would take six times the memory, in objects that every garbage collection has to visit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cachetools import LRUCache

from shrag.indexing.analyzed_record import AnalyzedRecord, decode_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.jvm import JavaClass, java, java_errors, java_exception, java_failure, lucene, own
from shrag.indexing.lexical.schema import CONTENTS, DOCID, STORED, TITLE, similarity
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term
from shrag.indexing.search_engine import FieldStatistics, Hit, Statistics

SEPARATOR = "\0"
"""Stands between two parts of a query, and between two texts, in both directions."""

_CACHED_TERMS = 100_000
_CACHED_DOCIDS = 100_000

MOST_BYTES = 32 << 20
"""Some 20,000 abstracts with their terms."""


class RecordCache:
    """The records read last, by their document numbers, in at most ``most_bytes``. Safe to share between threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._cache = LRUCache[int, bytes](most_bytes, getsizeof=len)
        self._lock = threading.Lock()

    def get(self, places: Iterable[int]) -> dict[int, bytes | None]:
        """Return the record of each document number, None where it is not cached."""
        with self._lock:
            return {place: self._cache.get(place) for place in places}

    def keep(self, place: int, stored: bytes) -> None:
        """Cache a record, unless it alone would take more than a tenth of the room."""
        if len(stored) <= self._cache.maxsize // 10:
            with self._lock:
                self._cache[place] = stored

    @property
    def bytes(self) -> int:
        """The bytes cached."""
        return int(self._cache.currsize)


class LuceneSearcher:
    """A searcher over one committed index; it sees that commit and no later one. Safe to share between threads."""

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"reading {folder}"
        self._java_exception = java_exception()
        self._term = lucene("index.Term")
        self._term_query = lucene("search.TermQuery")
        self._doc_values = lucene("index.MultiDocValues")
        self._postings = lucene("index.MultiTerms")
        self._live_docs = lucene("index.MultiBits").getLiveDocs
        self._bytes = lucene("util.BytesRef")
        self._with_counts = lucene("index.PostingsEnum").FREQS
        with java_errors(self._doing):
            self._directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)))
            self._reader = lucene("index.DirectoryReader").open(self._directory)
            self._searcher = lucene("search.IndexSearcher")(self._reader)
            self._searcher.setSimilarity(similarity(parameters))
            self._java = own("IndexSearch")(self._searcher, CONTENTS, TITLE, parameters.title_boost, DOCID, STORED)
        self._documents = int(self._reader.numDocs())
        self._terms: dict[str, tuple[int, int]] = {}
        # Where the documents found lately stand, so that fetching them needs no second search.
        self._places: dict[str, int] = {}
        self._found: dict[int, str] = {}
        self._remembering = threading.Lock()
        self._recent = RecordCache()
        self._collections: dict[str, tuple[int, float]] = {}

    def commit_data(self) -> dict[str, str]:
        """Return the data given to :meth:`LuceneIndexWriter.commit`."""
        data = self._reader.getIndexCommit().getUserData()
        return {str(key): str(data.get(key)) for key in data.keySet()}

    def close(self) -> None:
        """Let go of the files. Searches after this fail."""
        self._reader.close()
        self._directory.close()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        if not self._documents or not queries:
            return [[] for _ in queries]
        with self._java_errors():
            data = memoryview(bytes(memoryview(self._java.search(write_queries(queries), min(k, self._documents)))))
            numbers, scores = data.cast("i").tolist(), data.cast("f").tolist()
            found: list[list[tuple[int, float]]] = []
            place = 0
            for _ in queries:
                end = place + 1 + 2 * numbers[place]
                found.append(list(zip(numbers[place + 1 : end : 2], scores[place + 2 : end : 2], strict=True)))
                place = end
            docids = self._docids({place for hits in found for place, _ in hits})
        return [
            sorted((Hit(docids[place], score) for place, score in hits), key=lambda hit: (-hit.score, hit.docid))
            for hits in found
        ]

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        with self._java_errors():
            contents, title = self._collection(CONTENTS), self._collection(TITLE)
            found = self._document_frequencies(terms) if self._documents else [(0, 0)] * len(terms)
            return Statistics(
                FieldStatistics(*contents, dict(zip(terms, [in_contents for in_contents, _ in found], strict=True))),
                FieldStatistics(*title, dict(zip(terms, [in_title for _, in_title in found], strict=True))),
            )

    def frequencies(self, term: str, most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; those that lie first in the index."""
        with self._java_errors():
            postings = self._postings.getTermPostingsEnum(self._reader, CONTENTS, self._bytes(term), self._with_counts)
            found: list[int] = []
            while postings is not None and len(found) < most and postings.nextDoc() != postings.NO_MORE_DOCS:
                found.append(int(postings.freq()))
            return found

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        with self._java_errors():
            return self._read([self._place(docid) for docid in docids])

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`; those that lie evenly spread over the index."""
        with self._java_errors():
            fields, live = self._searcher.storedFields(), self._live_docs(self._reader)
            end = int(self._reader.maxDoc())
            numbers: dict[int, None] = {}
            for place in range(most):
                number = place * end // most
                while live is not None and number < end and not live.get(number):
                    number += 1
                if number < end:
                    numbers[number] = None
            return [decode_record(_stored(fields, number)) for number in numbers]

    def count(self) -> int:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`.

        Raises:
            IndexingError: Deleted documents still have numbers.
        """
        if int(self._reader.maxDoc()) != self._documents:
            raise IndexingError(f"Lucene keeps deleted documents while {self._doing}: merge it to one segment first.")
        return self._documents

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._java_errors():
            found = self._docids(numbers)
        return [found[number] for number in numbers]

    def distinct_docids(self) -> int:
        """Return how many different identifiers there are."""
        with self._java_errors():
            return int(self._doc_values.getSortedValues(self._reader, DOCID).getValueCount()) if self._documents else 0

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """See :class:`~shrag.indexing.vectors.vector_index.DocumentNumbers`."""
        with self._java_errors():
            return [self._place(docid) for docid in docids]

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        with self._java_errors():
            fields = self._searcher.storedFields()
            for number in numbers:
                yield decode_record(_stored(fields, number))

    @contextmanager
    def _java_errors(self) -> Iterator[None]:
        """Turn Java's exceptions into one sentence, as :func:`~shrag.indexing.lexical.jvm.java_errors` does."""
        try:
            yield
        except self._java_exception as error:
            raise java_failure(error, self._doing) from error

    def _document_frequencies(self, terms: Sequence[str]) -> list[tuple[int, int]]:
        """Return how many documents have each term in the contents and in the title."""
        cached = self._terms
        known = {term: cached.get(term) for term in terms}
        new = [term for term, found in known.items() if found is None]
        if new:
            counts = memoryview(bytes(memoryview(self._java.frequencies(join_texts(new))))).cast("i").tolist()
            found = dict(zip(new, zip(counts[::2], counts[1::2], strict=True), strict=True))
            if len(cached) + len(new) > _CACHED_TERMS:
                cached.clear()
            cached.update(found)
            known.update(found)
        return [frequencies for term in terms if (frequencies := known[term]) is not None]

    def _docids(self, places: Iterable[int]) -> dict[int, str]:
        docids = {place: self._found.get(place, "") for place in places}
        unknown = sorted(place for place, docid in docids.items() if not docid)  # doc values are read forwards only
        if unknown:
            docids.update(zip(unknown, str(self._java.docids(unknown)).split(SEPARATOR), strict=True))
            with self._remembering:
                if len(self._found) > _CACHED_DOCIDS:
                    self._places.clear()
                    self._found.clear()
                for place in unknown:
                    self._found[place] = docids[place]
                    self._places[docids[place]] = place
        return docids

    def _read(self, places: Sequence[int | None]) -> list[AnalyzedRecord | None]:
        """Return the records at the places, those kept and those that have to be read."""
        kept = self._recent.get(place for place in places if place is not None)
        missing = [place for place, stored in kept.items() if stored is None]
        if missing:
            data = bytes(memoryview(self._java.stored(missing)))
            start = 4 * len(missing)
            lengths = memoryview(data)[:start].cast("i")
            for place, length in zip(missing, lengths, strict=True):
                stored = kept[place] = data[start : start + length]
                self._recent.keep(place, stored)
                start += length
        found = (kept[place] if place is not None else None for place in places)
        return [decode_record(stored) if stored is not None else None for stored in found]

    def _place(self, docid: str) -> int | None:
        place = self._places.get(docid)
        if place is None:
            found = self._searcher.search(self._term_query(self._term(DOCID, docid)), 1).scoreDocs
            place = int(found[0].doc) if len(found) else None
        return place

    def _collection(self, field: str) -> tuple[int, float]:
        """Return how many documents have the field, and its mean length; it is the same each time."""
        known = self._collections.get(field)
        if known is None:
            collection = self._searcher.collectionStatistics(field)
            if collection is None:  # no document has a term in the field
                known = 0, 0.0
            else:
                documents = int(collection.docCount())
                known = documents, int(collection.sumTotalTermFreq()) / documents
            self._collections[field] = known
        return known


def _stored(fields: JavaClass, place: int) -> bytes:
    stored = fields.document(place).getBinaryValue(STORED)
    return bytes(memoryview(stored.bytes)[stored.offset : stored.offset + stored.length])


def write_queries(queries: Iterable[Query]) -> str:
    """Return the queries as Java reads them, one after another.

    Parts are separated by NUL. Each is a node, by its first letter, and its clauses follow it: ``t`` a term; ``o`` or,
    ``a`` and, ``b`` the best of so many clauses; ``n`` the wanted and the unwanted query; ``w`` a weight and its query.
    """
    return SEPARATOR.join(part for query in queries for part in _parts(query))


def join_texts(texts: Iterable[str]) -> str:
    """Return several texts, at least one, as Java is given them; what has a NUL in it is in no index, then neither."""
    return SEPARATOR.join(map(_whole, texts))


def _parts(query: Query) -> Iterator[str]:
    match query:
        case Term(term):
            yield "t" + _whole(term)
        case Or(clauses):
            yield from _several("o", clauses)
        case And(clauses):
            yield from _several("a", clauses)
        case DisjunctionMax(clauses):
            yield from _several("b", clauses)
        case Not(wanted, unwanted):
            yield "n"
            yield from _parts(wanted)
            yield from _parts(unwanted)
        case Boost(inner, weight):
            yield f"w{float(weight)!r}"
            yield from _parts(inner)


def _several(kind: str, clauses: Sequence[Query]) -> Iterator[str]:
    yield f"{kind}{len(clauses)}"
    for clause in clauses:
        if isinstance(clause, Term):
            yield "t" + _whole(clause.term)
        else:
            yield from _parts(clause)


def _whole(text: str) -> str:
    return text if SEPARATOR not in text else text.replace(SEPARATOR, "\ufffd")
