"""The query tree in Lucene's own objects."""

from __future__ import annotations

from shrag.indexing.index_terms import IndexTerms
from shrag.indexing.jvm import JavaClass, java, lucene
from shrag.indexing.query import And, Best, Not, Or, Query, Term, Weighted


class QueryTranslation:
    """Translates queries over the terms of one index. Safe to share between threads."""

    def __init__(self, terms: IndexTerms) -> None:
        self._terms = terms
        self._boost_query = lucene("search.BoostQuery")
        self._best_query = lucene("search.DisjunctionMaxQuery")
        self._list = java("java.util.ArrayList")
        self._builder = lucene("search.BooleanQuery$Builder")
        occur = lucene("search.BooleanClause$Occur")
        self._should, self._must, self._must_not = occur.SHOULD, occur.MUST, occur.MUST_NOT

    def translate(self, query: Query) -> JavaClass:
        """Return the Lucene query that matches and scores as ``query`` says."""
        if isinstance(query, Best | Weighted):
            return self._scored(query)
        builder = self._builder()
        match query:
            case Term(term):
                self._add_term(builder, term)
            case Or(clauses):
                for clause in clauses:
                    if isinstance(clause, Term):
                        # Flat, so that Lucene can skip over documents that cannot enter the top k.
                        self._add_term(builder, clause.term)
                    else:
                        builder.add(self.translate(clause), self._should)
            case And(clauses):
                for clause in clauses:
                    builder.add(self.translate(clause), self._must)
            case Not(wanted, unwanted):
                builder.add(self.translate(wanted), self._must)
                builder.add(self.translate(unwanted), self._must_not)
        return builder.build()

    def _scored(self, query: Best | Weighted) -> JavaClass:
        """Translate what changes scores and not what matches."""
        if isinstance(query, Weighted):
            return self._boost_query(self.translate(query.query), query.weight)
        ways = self._list()
        for clause in query.clauses:
            ways.add(self.translate(clause))
        return self._best_query(ways, 0.0)

    def _add_term(self, builder: JavaClass, term: str) -> None:
        for leaf in self._terms.look_up(term).queries:
            builder.add(leaf, self._should)
