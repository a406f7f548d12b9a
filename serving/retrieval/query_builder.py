"""Boolean queries from keywords: query reduction, AND and OR, queries in the other language (step 2 of SHRAG)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, any_of
from shrag.serving.events import Queries
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.query_terms import QueryTerm, forms_of
from shrag.serving.search_settings import WITHOUT_MODEL, Languages, SearchSettings

_HANGUL = re.compile("[\uac00-\ud7a3]")


class QueryPlan(NamedTuple):
    """The queries to run, and the event that shows the keywords of each."""

    event: Queries
    queries: list[Query]


def build_queries(
    keywords: Sequence[QueryTerm],
    language: AnswerLanguage,
    settings: SearchSettings = WITHOUT_MODEL,
    own: Sequence[QueryTerm] = (),
    excluded: Sequence[Sequence[QueryTerm]] = (),
) -> QueryPlan:
    """Return the queries of query reduction and the further ones that the settings ask for.

    Args:
        keywords: The keywords, the most important first.
        language: The language in which words without a translation are searched.
        settings: The resolved settings (:meth:`~shrag.serving.search_settings.SearchSettings.resolve`): which queries
            are made, and how keywords are joined.
        own: The question's own keywords if a model chose ``keywords``. If the settings ask for it, one more query joins
            them.
        excluded: Phrases. Every query excludes the documents that have all words of one of them.
    """
    shown: list[list[str]] = []
    queries: list[Query] = []
    if settings.languages in {"both", language}:
        subqueries = reduce_query(keywords, settings)
        shown += [_texts(subquery) for subquery in subqueries]
        queries += build_subqueries(subqueries, settings)
    if settings.languages != language and (
        settings.languages != "both" or settings.extra_queries in {"translated", "all"}
    ):
        translated = reduce_translated_query(keywords, language, settings)
        shown += [[show_translation(keyword) for keyword in subquery] for subquery in translated]
        queries += build_translated_queries(translated, language, settings)
    if own and settings.own_query and settings.languages in {"both", language}:
        shown.append(_texts(own))
        queries += _join_each([own], _clause, settings)
    minus = [f"− {' '.join(_texts(phrase))}" for phrase in excluded]
    event = Queries(tuple([(*show_query(texts, settings), *minus) for texts in shown]))
    return QueryPlan(event, [exclude_phrases(query, excluded) for query in queries])


def reduce_query(keywords: Sequence[QueryTerm], settings: SearchSettings = WITHOUT_MODEL) -> list[Sequence[QueryTerm]]:
    """Return the keywords of ``SQ_n = k_1 ∨ … ∨ k_n``, from all keywords down to the most important one."""
    subqueries = [keywords[:size] for size in range(len(keywords), 0, -1)]
    return subqueries[:1] if settings.queries == "longest" else subqueries


def build_subqueries(
    subqueries: Sequence[Sequence[QueryTerm]], settings: SearchSettings = WITHOUT_MODEL
) -> list[Query]:
    """Return the queries of :func:`reduce_query`.

    The longest query asks for any word of the phrases that the index knows, so that it finds records with some of the
    words. The other queries ask for whole phrases.
    """
    queries = _join_each(subqueries, _clause, settings)
    if settings.words == "known" and not settings.ands and queries:
        queries[0] = _any_word(subqueries[0])
    return queries


def reduce_translated_query(
    keywords: Sequence[QueryTerm], language: AnswerLanguage, settings: SearchSettings = WITHOUT_MODEL
) -> list[list[QueryTerm]]:
    """Return the keywords of the queries in the other language, the longest first; none without translations.

    They are separate queries because documents of the other language match only words that have a translation or are
    spelled alike. In one query with all words, such documents would not be among the first ten.
    """
    korean = language == "ko"
    if settings.words == "known":
        # A phrase that is not translated as a whole is searched for by its words.
        parts = [keyword.parts if not keyword.translations else () for keyword in keywords]
        keywords = [word for keyword, own in zip(keywords, parts, strict=True) for word in own or (keyword,)]
    translated = [keyword for keyword in keywords if _is_translatable(keyword, korean=korean)]
    # The queries in the question's language, if there are any, have the words that both languages spell alike already.
    if settings.languages == "both" and not any(_has_translations(keyword) for keyword in translated):
        return []
    sizes = dict.fromkeys([-(-len(translated) * part // 3) for part in (3, 2, 1)])
    subqueries = [translated[:size] for size in sizes if size]
    return subqueries[:1] if settings.queries == "longest" else subqueries


def build_translated_queries(
    subqueries: Sequence[Sequence[QueryTerm]], language: AnswerLanguage, settings: SearchSettings = WITHOUT_MODEL
) -> list[Query]:
    """Return the queries of :func:`reduce_translated_query`; a keyword is scored by its best translation."""
    return _join_each(subqueries, partial(_translated_clause, korean=language == "ko"), settings)


def filter_languages(keywords: Sequence[QueryTerm], languages: Languages, language: AnswerLanguage) -> list[QueryTerm]:
    """Return the keywords that can be searched in ``languages``; ``language`` is the question's."""
    if languages == "both":
        return list(keywords)
    if languages == language:
        return [
            keyword for keyword in keywords if not any(each.terms == keyword.terms for each in keyword.translations)
        ]
    return [keyword for keyword in keywords if _is_translatable(keyword, korean=language == "ko")]


def join_clauses(clauses: Sequence[Query], settings: SearchSettings = WITHOUT_MODEL) -> Query:
    """Join the clauses by OR, and the last ones of them by ``settings.ands`` ANDs.

    The most important clause comes first. A query with fewer clauses has ANDs only. The query
    ``free|textbook|mathematics+school`` in the SHRAG paper (5.1) has one AND. It can be read in two ways
    (``settings.and_reading``): the last two keywords together are one alternative (``grouped``), or, as an engine
    without precedence reads it, the last keyword is required with any of the others (``required``).
    """
    ands = min(settings.ands, len(clauses) - 1)
    if ands <= 0:
        return Or(tuple(_flat(clauses)))
    if settings.and_reading == "required":
        return And((Or(tuple(_flat(clauses[:-ands]))), *clauses[-ands:]))
    return Or((*_flat(clauses[: -ands - 1]), And(tuple(clauses[-ands - 1 :]))))


def exclude_phrases(query: Query, phrases: Sequence[Sequence[QueryTerm]]) -> Query:
    """Exclude from ``query`` the documents that have all words of one of the ``phrases``, in either language."""
    if not phrases:
        return query
    return Not(query, Or(tuple(And(tuple(map(in_any_language, phrase))) for phrase in phrases)))


def in_any_language(word: QueryTerm) -> Query:
    """Return the query for documents that have all parts of a word, in either language."""
    if word.parts and not word.translations:
        return And(tuple(map(in_any_language, word.parts)))
    own = map(_all_of, map(sorted, forms_of(word)))
    return Or((*own, *(_all_of(each.all_terms) for each in word.translations)))


def show_query(texts: Sequence[str], settings: SearchSettings = WITHOUT_MODEL) -> tuple[str, ...]:
    """Return a query's keywords for display; those joined by AND are one text with plus signs."""
    ands = min(settings.ands, len(texts) - 1)
    if ands <= 0:
        return tuple(texts)
    if settings.and_reading == "required":
        others = texts[:-ands]
        return (" + ".join([others[0] if len(others) == 1 else f"({' | '.join(others)})", *texts[-ands:]]),)
    return (*texts[: -ands - 1], " + ".join(texts[-ands - 1 :]))


def show_translation(keyword: QueryTerm) -> str:
    """Return a keyword in the other language: its most confident translation, or itself if it is spelled alike."""
    if keyword.parts and not keyword.translations:
        # The words of a phrase that was translated as one share its translation.
        return " ".join(dict.fromkeys(show_translation(part) for part in keyword.parts))
    return keyword.translations[0].text if keyword.translations else keyword.text


def _texts(keywords: Sequence[QueryTerm]) -> list[str]:
    return [keyword.text for keyword in keywords]


def _any_word(keywords: Sequence[QueryTerm]) -> Query:
    wholes = [Term(keyword.whole) for keyword in keywords if keyword.whole]
    words = dict.fromkeys(word.terms for keyword in keywords for word in keyword.parts or (keyword,))
    return Or((*wholes, *(Term(term) for terms in words for term in terms)))


def _join_each(
    subqueries: Sequence[Sequence[QueryTerm]], make_clause: Callable[[QueryTerm], Query], settings: SearchSettings
) -> list[Query]:
    """Join the clauses of each subquery; all share the clauses of the longest one, which are made once."""
    clauses = list(map(make_clause, subqueries[0] if subqueries else ()))
    return [join_clauses(clauses[: len(subquery)], settings) for subquery in subqueries]


def _clause(keyword: QueryTerm) -> Query:
    if not keyword.parts:
        return any_of(keyword.terms)
    every = And(tuple(_clause(part) for part in keyword.parts))
    return Or((Term(keyword.whole), every)) if keyword.whole else every


def _translated_clause(keyword: QueryTerm, *, korean: bool) -> Query:
    if keyword.parts and not keyword.translations:
        return And(tuple(_translated_clause(part, korean=korean) for part in keyword.parts))
    translations = [Boost(any_of(each.terms), each.weight) for each in keyword.translations]
    own = [_clause(keyword)] if _is_written_alike(keyword, korean=korean) else []
    return DisjunctionMax((*own, *translations))


def _all_of(terms: Sequence[str]) -> Query:
    return And(tuple(map(Term, terms))) if len(terms) > 1 else Term(terms[0])


def _flat(clauses: Iterable[Query]) -> Iterator[Query]:
    """Yield the clauses, and instead of a disjunction its own clauses, so that a query is one flat list of terms."""
    for clause in clauses:
        if isinstance(clause, Or):
            yield from clause.clauses
        else:
            yield clause


def _has_translations(keyword: QueryTerm) -> bool:
    return bool(keyword.translations) or any(map(_has_translations, keyword.parts))


def _is_translatable(keyword: QueryTerm, *, korean: bool) -> bool:
    if keyword.parts and not keyword.translations:
        return all(_is_translatable(part, korean=korean) for part in keyword.parts)
    return bool(keyword.translations) or _is_written_alike(keyword, korean=korean)


def _is_written_alike(keyword: QueryTerm, *, korean: bool) -> bool:
    """Return whether documents of the other language may spell the keyword alike: LSTM, GPT-4."""
    latin = not any(map(_HANGUL.search, keyword.terms))
    return latin and (korean or any(character.isupper() or character.isdigit() for character in keyword.text[1:]))
