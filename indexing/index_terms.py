"""The terms of one index as Lucene's dictionary has them, those asked for lately kept.

A question's terms are wanted several times: for its keywords' weights, in each query of the ladder, for re-ranking. A
look-up in Lucene's dictionary takes some 15 µs a field, one kept here less than one.
"""

from __future__ import annotations

from typing import NamedTuple

from shrag.indexing.bm25 import Bm25
from shrag.indexing.jvm import JavaClass, lucene
from shrag.indexing.lexical import CONTENTS, TITLE

# Java's collector looks at each of what Python holds of it: so many take it about a millisecond.
_KEPT = 10_000


class IndexTerm(NamedTuple):
    """``queries`` match and score the term in the fields searched; how many documents have it, by field."""

    queries: tuple[JavaClass, ...]
    in_contents: int
    in_title: int


class IndexTerms:
    """The terms of one open index, which does not change. Safe to share between threads."""

    def __init__(self, searcher: JavaClass, parameters: Bm25) -> None:
        self._searcher = searcher
        self._title_boost = parameters.title_boost
        self._term = lucene("index.Term")
        self._term_states = lucene("index.TermStates")
        self._term_query = lucene("search.TermQuery")
        self._boost_query = lucene("search.BoostQuery")
        self._kept: dict[str, IndexTerm] = {}

    def look_up(self, term: str) -> IndexTerm:
        """Return what the index has of ``term``; a term it does not have matches nothing."""
        found = self._kept.get(term)
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[term] = self._look_up(term)
        return found

    def _look_up(self, term: str) -> IndexTerm:
        contents, in_contents = self._leaf(CONTENTS, term)
        title, in_title = self._leaf(TITLE, term)
        if not self._title_boost:
            return IndexTerm((contents,), in_contents, in_title)
        return IndexTerm((contents, self._boost_query(title, self._title_boost)), in_contents, in_title)

    def _leaf(self, field: str, term: str) -> tuple[JavaClass, int]:
        in_field = self._term(field, term)
        # Given to the query, so that Lucene does not look the term up again for each query that has it.
        states = self._term_states.build(self._searcher, in_field, True)
        return self._term_query(in_field, states), int(states.docFreq())
