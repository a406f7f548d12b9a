from __future__ import annotations

from shrag.indexing.glossary.query_translation import Way
from shrag.indexing.query import And, Not, Or, Term, any_of
from shrag.serving.retrieval.keywords import Chosen
from shrag.serving.retrieval.query_builder import exclude_phrases, make_queries
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.strategy import SearchSettings


def _word(text: str, *ways: Way) -> QueryTerm:
    return QueryTerm(text, (text.lower(),), 1.0, 1, keyword=True, known=True, ways=ways)


KOREAN, ENGLISH = SearchSettings(languages="ko"), SearchSettings(languages="en")
MILK = _word("우유", Way("milk", ("milk",), 1.0))
PRICE = _word("시세")
MARKET = _word("시장", Way("stock market", ("stock", "market"), 0.5))


def test_the_queries_are_the_ladder_what_is_carried_over_and_the_questions_own_words() -> None:
    told, queries = make_queries(Chosen([], [MILK, PRICE], [PRICE]), "ko")
    assert told.queries == (("우유", "시세"), ("우유",), ("milk",), ("시세",))
    assert len(queries) == 4
    assert queries[3] == any_of(["시세"])


def test_the_queries_are_those_of_the_languages_wanted() -> None:
    chosen = Chosen([], [MILK, PRICE], [PRICE])
    korean, english = (make_queries(chosen, "ko", settings) for settings in (KOREAN, ENGLISH))
    assert korean[0].queries == (("우유", "시세"), ("우유",), ("시세",))
    assert english[0].queries == (("milk",),)
    assert make_queries(chosen, "en", ENGLISH)[0].queries == korean[0].queries


def test_what_is_excluded_is_left_out_of_every_query_and_shown_behind_a_minus() -> None:
    chosen = Chosen([], [MILK, PRICE], [PRICE], [[MARKET, PRICE]])
    told, queries = make_queries(chosen, "ko")
    assert {query[-1] for query in told.queries} == {"− 시장 시세"}
    assert all(isinstance(query, Not) for query in queries)


def test_a_document_is_left_out_for_all_words_of_a_phrase_in_either_language() -> None:
    wanted = any_of(["우유"])
    assert exclude_phrases(wanted, []) is wanted
    market = Or((any_of(["시장"]), And((Term("stock"), Term("market")))))
    assert exclude_phrases(wanted, [[MARKET, PRICE], [PRICE]]) == Not(
        wanted, Or((And((market, Or((any_of(["시세"]),)))), And((Or((any_of(["시세"]),)),))))
    )


def test_nothing_to_search_for_makes_no_query() -> None:
    told, queries = make_queries(Chosen([], [], []), "ko", SearchSettings(ands=3, ladder="longest"))
    assert (told.queries, queries) == ((), [])
