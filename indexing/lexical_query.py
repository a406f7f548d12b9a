"""The query tree in Lucene's own objects."""

from __future__ import annotations

from shrag.indexing.bm25 import Bm25
from shrag.indexing.jvm import JavaClass, java, lucene
from shrag.indexing.lexical import CONTENTS, TITLE
from shrag.indexing.query import And, Best, Not, Or, Query, Term, Weighted


class QueryTranslation:
    """Translates the queries of one call, which mostly share their terms: each is looked up in the index once."""

    def __init__(self, searcher: JavaClass, parameters: Bm25) -> None:
        self._searcher = searcher
        self._title_boost = parameters.title_boost
        self._term = lucene("index.Term")
        self._term_states = lucene("index.TermStates")
        self._term_query = lucene("search.TermQuery")
        self._boost_query = lucene("search.BoostQuery")
        self._best_query = lucene("search.DisjunctionMaxQuery")
        self._list = java("java.util.ArrayList")
        self._builder = lucene("search.BooleanQuery$Builder")
        occur = lucene("search.BooleanClause$Occur")
        self._should, self._must, self._must_not = occur.SHOULD, occur.MUST, occur.MUST_NOT
        self._leaves: dict[str, list[JavaClass]] = {}

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
        if term not in self._leaves:
            self._leaves[term] = self._look_up(term)
        for leaf in self._leaves[term]:
            builder.add(leaf, self._should)

    def _look_up(self, term: str) -> list[JavaClass]:
        leaves = [self._leaf(CONTENTS, term)]
        if self._title_boost:
            leaves.append(self._boost_query(self._leaf(TITLE, term), self._title_boost))
        return leaves

    def _leaf(self, field: str, term: str) -> JavaClass:
        in_field = self._term(field, term)
        return self._term_query(in_field, self._term_states.build(self._searcher, in_field, True))
