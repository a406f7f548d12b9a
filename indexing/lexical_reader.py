"""Searching the Lucene index: implements the seams :class:`SearchEngine` and :class:`RecordStore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shrag.indexing.analysed import AnalysedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.engine import FieldStatistics, Hit, Statistics
from shrag.indexing.jvm import JavaClass, java, java_errors, lucene
from shrag.indexing.lexical import CONTENTS, DOCID, STORED, TITLE, similarity
from shrag.indexing.query import And, Not, Or, Query, Term

_DECODER = msgspec.json.Decoder(AnalysedRecord)


class LexicalReader:
    """A searcher over one committed index; it sees that commit and no later one. Safe to share between threads."""

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._parameters = parameters
        self._doing = f"reading {folder}"
        self._term = lucene("index.Term")
        self._term_query = lucene("search.TermQuery")
        self._boost_query = lucene("search.BoostQuery")
        self._builder = lucene("search.BooleanQuery$Builder")
        occur = lucene("search.BooleanClause$Occur")
        self._should, self._must, self._must_not = occur.SHOULD, occur.MUST, occur.MUST_NOT
        self._doc_values = lucene("index.MultiDocValues")
        with java_errors(self._doing):
            self._directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)))
            self._reader = lucene("index.DirectoryReader").open(self._directory)
            self._searcher = lucene("search.IndexSearcher")(self._reader)
            self._searcher.setSimilarity(similarity(parameters))
        self._documents = int(self._reader.numDocs())

    def about(self) -> dict[str, str]:
        """Return what :meth:`LexicalWriter.commit` was told of this content."""
        data = self._reader.getIndexCommit().getUserData()
        return {str(key): str(data.get(key)) for key in data.keySet()}

    def close(self) -> None:
        """Let go of the files. Searches after this fail."""
        self._reader.close()
        self._directory.close()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """See :class:`~shrag.indexing.engine.SearchEngine`."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        if not self._documents:
            return [[] for _ in queries]
        with java_errors(self._doing):
            return [self._search_one(query, min(k, self._documents)) for query in queries]

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.engine.SearchEngine`."""
        with java_errors(self._doing):
            return Statistics(self._field_statistics(CONTENTS, terms), self._field_statistics(TITLE, terms))

    def fetch(self, docids: Sequence[str]) -> list[AnalysedRecord | None]:
        """See :class:`~shrag.indexing.engine.RecordStore`."""
        with java_errors(self._doing):
            fields = self._searcher.storedFields()
            return [self._fetch_one(fields, docid) for docid in docids]

    def _search_one(self, query: Query, k: int) -> list[Hit]:
        found = [(int(hit.doc), float(hit.score)) for hit in self._searcher.search(self._translate(query), k).scoreDocs]
        # Doc values are read forwards only.
        docids: dict[int, str] = {}
        values = self._doc_values.getSortedValues(self._reader, DOCID)
        for number in sorted(number for number, _ in found):
            values.advanceExact(number)
            docids[number] = str(values.lookupOrd(values.ordValue()).utf8ToString())
        hits = [Hit(docids[number], score) for number, score in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.docid))

    def _fetch_one(self, fields: JavaClass, docid: str) -> AnalysedRecord | None:
        found = self._searcher.search(self._term_query(self._term(DOCID, docid)), 1).scoreDocs
        if not len(found):
            return None
        return _DECODER.decode(str(fields.document(found[0].doc).get(STORED)))

    def _field_statistics(self, field: str, terms: Sequence[str]) -> FieldStatistics:
        collection = self._searcher.collectionStatistics(field)
        if collection is None:  # no document has a term in the field
            return FieldStatistics(0, 0.0, dict.fromkeys(terms, 0))
        documents = int(collection.docCount())
        return FieldStatistics(
            documents,
            int(collection.sumTotalTermFreq()) / documents,
            {term: int(self._reader.docFreq(self._term(field, term))) for term in terms},
        )

    def _translate(self, query: Query) -> JavaClass:
        builder = self._builder()
        match query:
            case Term():
                self._add_term(builder, query)
            case Or(clauses):
                for clause in clauses:
                    if isinstance(clause, Term):
                        # Flat, so that Lucene can skip over documents that cannot enter the top k.
                        self._add_term(builder, clause)
                    else:
                        builder.add(self._translate(clause), self._should)
            case And(clauses):
                for clause in clauses:
                    builder.add(self._translate(clause), self._must)
            case Not(wanted, unwanted):
                builder.add(self._translate(wanted), self._must)
                builder.add(self._translate(unwanted), self._must_not)
        return builder.build()

    def _add_term(self, builder: JavaClass, term: Term) -> None:
        builder.add(self._term_query(self._term(CONTENTS, term.term)), self._should)
        if self._parameters.title_boost:
            in_title = self._term_query(self._term(TITLE, term.term))
            builder.add(self._boost_query(in_title, self._parameters.title_boost), self._should)
