"""The ladder of queries that keywords make: step 2 of SHRAG."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.indexing.carrying import is_korean
from shrag.indexing.query import Best, Or, Query, Term, Weighted, any_of
from shrag.serving.question import AnswerLanguage
from shrag.serving.words import Word

MOST_KEYWORDS = 10


def build_ladder(keywords: Sequence[Word]) -> list[Or]:
    """Return ``SQ_n = k_1 ∨ … ∨ k_n`` for n from all keywords down to one: ever fewer, the most important stay."""
    return [
        Or(tuple(Term(term) for keyword in keywords[:rung] for term in keyword.terms))
        for rung in range(len(keywords), 0, -1)
    ]


def choose_carried(keywords: Sequence[Word], language: AnswerLanguage) -> list[list[Word]]:
    """Return the keywords of the queries in the other language, the longest first; none where nothing was carried over.

    ``language`` is the question's.

    Documents of the question's language match all its words, those of the other only what was carried over or is
    written alike in both: in one query with the others they would not come among the first ten.
    """
    korean = language == "ko"
    carried = [keyword for keyword in keywords if keyword.ways or _written_alike(keyword, korean=korean)]
    if not any(keyword.ways for keyword in carried):
        return []
    return [carried[:size] for size in dict.fromkeys(-(-len(carried) * part // 3) for part in (3, 2, 1))]


def build_carried(rungs: Sequence[Sequence[Word]], language: AnswerLanguage) -> list[Or]:
    """Return the queries of :func:`choose_carried`: a keyword is found by the best of its translations."""
    korean = language == "ko"
    return [Or(tuple(_carried_clause(keyword, korean=korean) for keyword in rung)) for rung in rungs]


def _carried_clause(keyword: Word, *, korean: bool) -> Query:
    ways: list[Query] = [Weighted(any_of(way.terms), way.weight) for way in keyword.ways]
    return Best((any_of(keyword.terms), *ways)) if _written_alike(keyword, korean=korean) else Best(tuple(ways))


def _written_alike(keyword: Word, *, korean: bool) -> bool:
    """Say whether the other language's documents may have the keyword as it is: LSTM, GPT-4."""
    latin = not any(is_korean([term]) for term in keyword.terms)
    return latin and (korean or any(character.isupper() or character.isdigit() for character in keyword.text[1:]))
