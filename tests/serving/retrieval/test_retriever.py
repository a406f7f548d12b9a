from __future__ import annotations

from shrag.indexing.query import And, Not, Or, Term, any_of
from shrag.indexing.translation.query_translation import Translation
from shrag.serving.retrieval.query_builder import build_queries, exclude_phrases
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.search_settings import SearchSettings


def _word(text: str, *translations: Translation) -> QueryTerm:
    return QueryTerm(text, (text.lower(),), 1.0, 1, keyword=True, known=True, translations=translations)


KOREAN, ENGLISH = SearchSettings(languages="ko"), SearchSettings(languages="en")
ALL = SearchSettings(extra_queries="all")
MILK = _word("우유", Translation("milk", ("milk",), 1.0))
PRICE = _word("시세")
MARKET = _word("시장", Translation("stock market", ("stock", "market"), 0.5))


def test_queries_are_reduced_translated_and_made_of_the_questions_own_words_where_all_are_wanted() -> None:
    told, queries = build_queries([MILK, PRICE], "ko", ALL, own=[PRICE])
    assert told.queries == (("우유", "시세"), ("우유",), ("milk",), ("시세",))
    assert len(queries) == 4
    assert queries[3] == any_of(["시세"])


def test_each_setting_adds_its_queries_to_those_of_query_reduction() -> None:
    def queries(extra: str) -> tuple[tuple[str, ...], ...]:
        settings = SearchSettings.from_mapping({"extra_queries": extra})
        return build_queries([MILK, PRICE], "ko", settings, [PRICE])[0].queries

    reduced = (("우유", "시세"), ("우유",))
    assert queries("none") == reduced
    assert queries("translated") == (*reduced, ("milk",))
    assert queries("question") == (*reduced, ("시세",))
    # In the other language alone there are no others.
    assert build_queries([MILK, PRICE], "ko", SearchSettings(extra_queries="none", languages="en"))[0].queries == (
        ("milk",),
    )


def test_the_queries_are_those_of_the_languages_wanted() -> None:
    korean, english = (build_queries([MILK, PRICE], "ko", settings, [PRICE]) for settings in (KOREAN, ENGLISH))
    assert korean[0].queries == (("우유", "시세"), ("우유",))
    assert english[0].queries == (("milk",),)
    assert build_queries([MILK, PRICE], "en", ENGLISH, [PRICE])[0].queries == korean[0].queries


def test_what_is_excluded_is_left_out_of_every_query_and_shown_behind_a_minus() -> None:
    told, queries = build_queries([MILK, PRICE], "ko", ALL, own=[PRICE], excluded=[[MARKET, PRICE]])
    assert {query[-1] for query in told.queries} == {"− 시장 시세"}
    assert all(isinstance(query, Not) for query in queries)


def test_a_document_is_left_out_for_all_words_of_a_phrase_in_either_language() -> None:
    wanted = any_of(["우유"])
    assert exclude_phrases(wanted, []) is wanted
    market = Or((Term("시장"), And((Term("stock"), Term("market")))))
    assert exclude_phrases(wanted, [[MARKET, PRICE], [PRICE]]) == Not(
        wanted, Or((And((market, any_of(["시세"]))), And((any_of(["시세"]),))))
    )


def test_a_document_with_one_part_of_an_excluded_word_is_not_left_out() -> None:
    wanted = any_of(["우유"])
    gpt = _word("GPT-4")._replace(terms=("gpt", "gpt4", "4"), forms=(frozenset({"gpt4"}), frozenset({"gpt", "4"})))
    assert exclude_phrases(wanted, [[gpt]]) == Not(
        wanted, Or((And((Or((Term("gpt4"), And((Term("4"), Term("gpt"))))),)),))
    )


def test_nothing_to_search_for_makes_no_query() -> None:
    told, queries = build_queries([], "ko", SearchSettings(ands=3, queries="longest"))
    assert (told.queries, queries) == ((), [])
