"""Boolean queries from keywords: query reduction, AND/OR, cross-language queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shrag.indexing.glossary.query_translation import is_korean
from shrag.indexing.query import And, Best, Or, Query, Weighted, any_of
from shrag.serving.question import AnswerLanguage
from shrag.serving.retrieval.query_terms import Word
from shrag.serving.strategy import PRODUCT, Languages, SearchSettings


def build_ladder(keywords: Sequence[Word], settings: SearchSettings = PRODUCT) -> list[Query]:
    """Return ``SQ_n = k_1 ∨ … ∨ k_n`` for n from all keywords down to one: ever fewer, the most important stay."""
    return [join_clauses([_clause(keyword) for keyword in rung], settings) for rung in climb_down(keywords, settings)]


def climb_down(keywords: Sequence[Word], settings: SearchSettings = PRODUCT) -> list[Sequence[Word]]:
    """Return the keywords of each query of the ladder, the longest first."""
    rungs = [keywords[:size] for size in range(len(keywords), 0, -1)]
    return rungs[:1] if settings.ladder == "longest" else rungs


def choose_carried(
    keywords: Sequence[Word], language: AnswerLanguage, settings: SearchSettings = PRODUCT
) -> list[list[Word]]:
    """Return the keywords of the queries in the other language, the longest first; none where nothing was carried over.

    ``language`` is the question's.

    Documents of the question's language match all its words, those of the other only what was carried over or is
    written alike in both: in one query with the others they would not come among the first ten.
    """
    korean = language == "ko"
    carried = [keyword for keyword in keywords if _can_be_carried(keyword, korean=korean)]
    # What is written alike in both has been asked for already, unless the question's own language is not to be asked.
    if settings.languages == "both" and not any(_has_ways(keyword) for keyword in carried):
        return []
    rungs = [carried[:size] for size in dict.fromkeys(-(-len(carried) * part // 3) for part in (3, 2, 1)) if size]
    return rungs[:1] if settings.ladder == "longest" else rungs


def build_carried(
    rungs: Sequence[Sequence[Word]], language: AnswerLanguage, settings: SearchSettings = PRODUCT
) -> list[Query]:
    """Return the queries of :func:`choose_carried`: a keyword is found by the best of its translations."""
    korean = language == "ko"
    return [join_clauses([_carried_clause(keyword, korean=korean) for keyword in rung], settings) for rung in rungs]


def in_languages(keywords: Sequence[Word], languages: Languages, language: AnswerLanguage) -> list[Word]:
    """Return the keywords that can be searched for in ``languages``; ``language`` is the question's."""
    if languages == "both":
        return list(keywords)
    if languages == language:
        return [keyword for keyword in keywords if not any(way.terms == keyword.terms for way in keyword.ways)]
    return [keyword for keyword in keywords if _can_be_carried(keyword, korean=language == "ko")]


def join_clauses(clauses: Sequence[Query], settings: SearchSettings = PRODUCT) -> Query:
    """Return the query of a rung, from the most important keyword's clause to the least important one's.

    With ``ands``, that many ANDs stand between the last clauses; a rung of fewer has all of them. The SHRAG paper (5.1)
    writes ``free|textbook|mathematics+school`` for one AND, made "by starting from the lower priority keywords" and
    "adding the specified number of higher priority keywords": the last keyword and one above it, together, as one
    alternative among the others (``grouped``). Read from left to right, as engines without precedence do, the same
    line asks for the last keyword and any of the others (``required``).
    """
    ands = min(settings.ands, len(clauses) - 1)
    if ands <= 0:
        return Or(tuple(_flat(clauses)))
    if settings.and_reading == "required":
        return And((Or(tuple(_flat(clauses[:-ands]))), *clauses[-ands:]))
    return Or((*_flat(clauses[: -ands - 1]), And(tuple(clauses[-ands - 1 :]))))


def show_rung(words: Sequence[str], settings: SearchSettings = PRODUCT) -> tuple[str, ...]:
    """Return a rung's keywords as people read them: what OR joins side by side, what AND joins with a plus."""
    ands = min(settings.ands, len(words) - 1)
    if ands <= 0:
        return tuple(words)
    if settings.and_reading == "required":
        others = words[:-ands]
        return (" + ".join([others[0] if len(others) == 1 else f"({' | '.join(others)})", *words[-ands:]]),)
    return (*words[: -ands - 1], " + ".join(words[-ands - 1 :]))


def shown_carried(keyword: Word) -> str:
    """Return a keyword as the other language has it: its surest translation, or itself where it is written alike."""
    if keyword.parts:
        # The words of a phrase that was translated as one share its translation.
        return " ".join(dict.fromkeys(shown_carried(part) for part in keyword.parts))
    return keyword.ways[0].text if keyword.ways else keyword.text


def _clause(keyword: Word) -> Query:
    return And(tuple(_clause(part) for part in keyword.parts)) if keyword.parts else any_of(keyword.terms)


def _carried_clause(keyword: Word, *, korean: bool) -> Query:
    if keyword.parts:
        return And(tuple(_carried_clause(part, korean=korean) for part in keyword.parts))
    ways: list[Query] = [Weighted(any_of(way.terms), way.weight) for way in keyword.ways]
    return Best((any_of(keyword.terms), *ways)) if _written_alike(keyword, korean=korean) else Best(tuple(ways))


def _flat(clauses: Iterable[Query]) -> Iterator[Query]:
    """Yield the clauses with the terms of a disjunction in its place: a rung is one flat list of terms."""
    for clause in clauses:
        if isinstance(clause, Or):
            yield from clause.clauses
        else:
            yield clause


def _has_ways(keyword: Word) -> bool:
    return any(map(_has_ways, keyword.parts)) if keyword.parts else bool(keyword.ways)


def _can_be_carried(keyword: Word, *, korean: bool) -> bool:
    if keyword.parts:
        return all(_can_be_carried(part, korean=korean) for part in keyword.parts)
    return bool(keyword.ways) or _written_alike(keyword, korean=korean)


def _written_alike(keyword: Word, *, korean: bool) -> bool:
    """Say whether the other language's documents may have the keyword as it is: LSTM, GPT-4."""
    latin = not any(is_korean([term]) for term in keyword.terms)
    return latin and (korean or any(character.isupper() or character.isdigit() for character in keyword.text[1:]))
