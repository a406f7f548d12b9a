"""How many documents of one index have a term, those asked for lately kept.

A question's terms are wanted several times: for its keywords' weights, for re-ranking, for choosing sentences. A
look-up in Lucene's dictionary takes some 15 µs a field, one kept here less than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.jvm import JavaClass, java_ints
from shrag.indexing.lexical_query import join_texts

_KEPT = 100_000


class TermFrequency(NamedTuple):
    """How many documents have a term in the contents, which are title and text, and in the title."""

    in_contents: int
    in_title: int


class IndexTerms:
    """The terms of one open index, which does not change. Safe to share between threads."""

    def __init__(self, search: JavaClass) -> None:
        self._search = search
        self._kept: dict[str, TermFrequency] = {}

    def look_up(self, terms: Sequence[str]) -> list[TermFrequency]:
        """Return what the index has of each term: nothing of one that it does not have."""
        kept = self._kept
        known = {term: kept.get(term) for term in terms}
        new = [term for term, found in known.items() if found is None]
        if new:
            counts = java_ints(self._search.frequencies(join_texts(new)))
            found = dict(zip(new, map(TermFrequency, counts[::2], counts[1::2]), strict=True))
            if len(kept) + len(new) > _KEPT:
                kept.clear()
            kept.update(found)
            known.update(found)
        return [frequency for term in terms if (frequency := known[term]) is not None]
