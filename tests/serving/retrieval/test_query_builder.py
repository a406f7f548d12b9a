"""OR queries: reduction, translation, ANDs, and how they are shown."""

from __future__ import annotations

import pytest

from shrag.indexing.query import And, Boost, DisjunctionMax, Or, Query, Term, any_of
from shrag.indexing.translation.query_translation import Translation
from shrag.serving.engine import Engine
from shrag.serving.retrieval.query_builder import (
    build_subqueries,
    build_translated_queries,
    filter_languages,
    reduce_query,
    reduce_translated_query,
    show_query,
    show_translation,
)
from shrag.serving.retrieval.query_terms import QueryTerm, join_terms, matched_share
from shrag.serving.search_settings import PRODUCT, SearchSettings


def _word(text: str, *translations: Translation) -> QueryTerm:
    return QueryTerm(text, (text.lower(),), 1.0, 1, keyword=True, known=True, translations=translations)


MILK = Translation("milk", ("milk",), 1.0)
MARKET = Translation("market price", ("market", "price"), 0.5)


def test_the_other_languages_queries_have_what_was_carried_over_or_is_written_alike() -> None:
    words = [_word("우유", MILK), _word("동향"), _word("LSTM"), _word("시세", MARKET)]
    subqueries = reduce_translated_query(words, "ko")
    assert [[word.text for word in subquery] for subquery in subqueries] == [
        ["우유", "LSTM", "시세"],
        ["우유", "LSTM"],
        ["우유"],
    ]
    assert build_translated_queries(subqueries, "ko")[0] == Or(
        (
            DisjunctionMax((Boost(any_of(["milk"]), 1.0),)),
            DisjunctionMax((any_of(["lstm"]),)),
            DisjunctionMax((Boost(any_of(["market", "price"]), 0.5),)),
        )
    )


def test_without_a_translation_there_is_no_such_query() -> None:
    assert reduce_translated_query([_word("LSTM"), _word("동향")], "ko") == []
    assert reduce_translated_query([], "ko") == []


def test_an_english_word_is_not_taken_for_a_name() -> None:
    words = [_word("milk", Translation("우유", ("우유",), 1.0)), _word("price"), _word("ChatGPT")]
    assert [word.text for word in reduce_translated_query(words, "en")[0]] == ["milk", "ChatGPT"]


def test_a_translation_stands_in_a_text_where_all_its_terms_do() -> None:
    words = [_word("우유", MILK), _word("시세", MARKET)]
    texts: list[set[str]] = [{"milk"}, {"market"}, {"market", "price"}, {"우유", "price"}]
    assert [matched_share(words, terms) for terms in texts] == [
        0.5, 0.0, 0.5, 0.5,
    ]  # fmt: skip


FREE, BOOK, MATHS, SCHOOL = (_word(text) for text in ("free", "textbook", "mathematics", "school"))


def _t(text: str) -> Or:
    return any_of([text])


def _subqueries(words: list[QueryTerm], settings: SearchSettings = PRODUCT) -> list[Query]:
    return build_subqueries(reduce_query(words, settings), settings)


def test_one_and_is_as_the_paper_writes_it() -> None:
    words = [FREE, BOOK, MATHS, SCHOOL]
    one, two = (_subqueries(words, SearchSettings(ands=ands)) for ands in (1, 2))
    assert one == [
        Or((Term("free"), Term("textbook"), And((_t("mathematics"), _t("school"))))),
        Or((Term("free"), And((_t("textbook"), _t("mathematics"))))),
        Or((And((_t("free"), _t("textbook"))),)),
        _t("free"),
    ]
    assert two[0] == Or((Term("free"), And((_t("textbook"), _t("mathematics"), _t("school")))))


def test_read_from_left_to_right_the_last_keywords_are_required() -> None:
    words = [FREE, BOOK, MATHS, SCHOOL]
    settings = SearchSettings(ands=1, and_reading="required")
    assert _subqueries(words, settings)[0] == And((any_of(["free", "textbook", "mathematics"]), _t("school")))
    assert _subqueries(words, SearchSettings(ands=2, and_reading="required"))[0] == And(
        (any_of(["free", "textbook"]), _t("mathematics"), _t("school"))
    )


@pytest.mark.parametrize("reading", ["grouped", "required"])
def test_with_an_and_between_all_keywords_both_readings_ask_for_all(reading: str, demo: Engine) -> None:
    settings = SearchSettings.from_mapping({"ands": 9, "and_reading": reading, "languages": "ko", "words": "morphemes"})
    result = demo.search("그래핀 에어로겔 전자파 차폐", settings=settings)
    assert len(result.queries.queries) == 4
    assert len(result.queries.queries[0]) == 1
    for query, found in zip(result.queries.queries, result.hits.hits, strict=True):
        words = query[0].split(" + ")
        for hit in found:
            record = demo.document(hit.docid)
            assert record is not None
            assert all(word in f"{record.title} {record.text}" for word in words)


def test_more_ands_than_keywords_allow_are_as_many_as_there_can_be() -> None:
    assert _subqueries([FREE, BOOK], SearchSettings(ands=9)) == _subqueries([FREE, BOOK], SearchSettings(ands=1))
    assert _subqueries([], SearchSettings(ands=9)) == []


def test_the_longest_query_alone_is_the_first_of_all() -> None:
    words = [_word("우유", MILK), FREE, BOOK]
    longest = SearchSettings(queries="longest")
    assert _subqueries(words, longest) == _subqueries(words)[:1]
    assert reduce_translated_query(words, "ko", longest) == reduce_translated_query(words, "ko")[:1]


def test_people_read_an_and_as_a_plus() -> None:
    words = ["free", "textbook", "mathematics", "school"]
    assert show_query(words) == tuple(words)
    assert show_query(words, SearchSettings(ands=1)) == ("free", "textbook", "mathematics + school")
    assert show_query(words, SearchSettings(ands=9)) == ("free + textbook + mathematics + school",)
    required = SearchSettings(ands=1, and_reading="required")
    assert show_query(words, required) == ("(free | textbook | mathematics) + school",)
    assert show_query(words[:2], required) == ("free + textbook",)
    assert show_query([], required) == ()


def test_keywords_are_those_that_a_language_has() -> None:
    words = [_word("우유", MILK), _word("동향"), _word("LSTM"), _word("price", Translation("price", ("price",), 1.0))]
    assert filter_languages(words, "both", "ko") == words
    assert [word.text for word in filter_languages(words, "ko", "ko")] == ["우유", "동향", "LSTM"]
    assert [word.text for word in filter_languages(words, "en", "ko")] == ["우유", "LSTM", "price"]


def test_in_the_other_language_alone_what_is_written_alike_is_asked_for_without_a_translation() -> None:
    words = [_word("LSTM"), _word("동향")]
    assert reduce_translated_query(words, "ko") == []
    assert [
        [word.text for word in subquery]
        for subquery in reduce_translated_query(words, "ko", SearchSettings(languages="en"))
    ] == [["LSTM"]]


def test_a_compound_is_carried_over_where_all_its_words_are() -> None:
    both, half = (
        join_terms([_word("우유", MILK), _word("시세", MARKET)]),
        join_terms([_word("우유", MILK), _word("동향")]),
    )
    (subquery,) = reduce_translated_query([both, half], "ko", SearchSettings(words="compound"))
    assert subquery == [both]
    assert show_translation(both) == "milk market price"
    assert build_translated_queries([subquery], "ko") == [
        Or(
            (
                And(
                    (
                        DisjunctionMax((Boost(_t("milk"), 1.0),)),
                        DisjunctionMax((Boost(any_of(["market", "price"]), 0.5),)),
                    )
                ),
            )
        )
    ]
