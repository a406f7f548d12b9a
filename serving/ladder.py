"""Keywords and the ladder: step 1 and 2 of SHRAG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shrag.indexing.carrying import word_query
from shrag.indexing.query import Best, Or, Query, Term, Weighted, any_of
from shrag.serving.words import Word

MOST_KEYWORDS = 10


def choose_keywords(words: Sequence[Word], most: int = MOST_KEYWORDS) -> list[Word]:
    """Return at most ``most`` keywords, most important first: by tf-idf over the index's statistics, ties as asked.

    Only nouns, foreign words and numbers that the index has can be keywords: a query for any other finds nothing.
    """
    candidates = [word for word in words if word.keyword and word.known]
    return sorted(candidates, key=lambda word: -word.uses * word.idf)[:most]


def build_ladder(keywords: Sequence[Word]) -> list[Or]:
    """Return ``SQ_n = k_1 ∨ … ∨ k_n`` for n from all keywords down to one: ever fewer, the most important stay.

    A keyword with translations is found by them as well, and counts once.
    """
    return [Or(tuple(_clauses(keywords[:rung]))) for rung in range(len(keywords), 0, -1)]


def build_carried_ladder(keywords: Sequence[Word]) -> list[list[Word]]:
    """Return the keywords of the queries that are put in the other language alone, the longest first.

    Documents of the question's language match all its words, those of the other only the words that were carried over:
    without queries of their own they would not come among the first ten.
    """
    carried = [keyword for keyword in keywords if keyword.ways]
    sizes = dict.fromkeys(size for size in (len(carried), (2 * len(carried) + 2) // 3, (len(carried) + 2) // 3) if size)
    return [carried[:size] for size in sizes]


def carried_query(keywords: Sequence[Word]) -> Or:
    """Return the disjunction of the keywords' translations."""
    return Or(
        tuple(Best(tuple(Weighted(any_of(way.terms), way.weight) for way in keyword.ways)) for keyword in keywords)
    )


def _clauses(keywords: Iterable[Word]) -> Iterator[Query]:
    for keyword in keywords:
        if keyword.ways:
            yield word_query(keyword.terms, keyword.ways)
        else:
            yield from map(Term, keyword.terms)
