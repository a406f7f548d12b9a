"""Keywords and the ladder: step 1 and 2 of SHRAG."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.indexing.query import Or, Term
from shrag.serving.words import Word

MOST_KEYWORDS = 10


def choose_keywords(words: Sequence[Word], most: int = MOST_KEYWORDS) -> list[Word]:
    """Return at most ``most`` keywords, most important first: by tf-idf over the index's statistics, ties as asked.

    Only nouns, foreign words and numbers that the index has can be keywords: a query for any other finds nothing.
    """
    candidates = [word for word in words if word.keyword and word.known]
    return sorted(candidates, key=lambda word: -word.uses * word.idf)[:most]


def build_ladder(keywords: Sequence[Word]) -> list[Or]:
    """Return ``SQ_n = k_1 ∨ … ∨ k_n`` for n from all keywords down to one: ever fewer, the most important stay."""
    return [
        Or(tuple(Term(term) for keyword in keywords[:rung] for term in keyword.terms))
        for rung in range(len(keywords), 0, -1)
    ]
