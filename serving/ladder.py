"""Keywords and the ladder: step 1 and 2 of SHRAG."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.indexing.carrying import is_korean
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
    """Return ``SQ_n = k_1 ∨ … ∨ k_n`` for n from all keywords down to one: ever fewer, the most important stay."""
    return [
        Or(tuple(Term(term) for keyword in keywords[:rung] for term in keyword.terms))
        for rung in range(len(keywords), 0, -1)
    ]


def choose_carried(keywords: Sequence[Word]) -> list[list[Word]]:
    """Return the keywords of the queries in the other language, the longest first; none where nothing was carried over.

    Documents of the question's language match all its words, those of the other only what was carried over or is
    written alike in both: in one query with the others they would not come among the first ten.
    """
    korean = is_korean(term for keyword in keywords for term in keyword.terms)
    carried = [keyword for keyword in keywords if keyword.ways or _written_alike(keyword, korean=korean)]
    if not any(keyword.ways for keyword in carried):
        return []
    return [carried[:size] for size in dict.fromkeys(-(-len(carried) * part // 3) for part in (3, 2, 1))]


def build_carried(keywords: Sequence[Word], rungs: Sequence[Sequence[Word]]) -> list[Or]:
    """Return the queries of :func:`choose_carried`: a keyword is found by the best of its translations."""
    korean = is_korean(term for keyword in keywords for term in keyword.terms)
    return [Or(tuple(_carried_clause(keyword, korean=korean) for keyword in rung)) for rung in rungs]


def _carried_clause(keyword: Word, *, korean: bool) -> Query:
    ways: list[Query] = [Weighted(any_of(way.terms), way.weight) for way in keyword.ways]
    return Best((any_of(keyword.terms), *ways)) if _written_alike(keyword, korean=korean) else Best(tuple(ways))


def _written_alike(keyword: Word, *, korean: bool) -> bool:
    """Say whether the other language's documents may have the keyword as it is: LSTM, GPT-4."""
    latin = not any(is_korean([term]) for term in keyword.terms)
    return latin and (korean or any(character.isupper() or character.isdigit() for character in keyword.text[1:]))
