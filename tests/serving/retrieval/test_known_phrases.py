"""Known phrases: what is joined to one keyword, what it is searched for by, what stays single."""

from __future__ import annotations

import pytest

from shrag.indexing.bm25 import idf
from shrag.indexing.query import And, Boost, DisjunctionMax, Or, Term, any_of
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine
from shrag.serving.retrieval.known_phrases import join_known_phrases
from shrag.serving.retrieval.query_builder import (
    build_subqueries,
    build_translated_queries,
    reduce_query,
    reduce_translated_query,
    show_translation,
)
from shrag.serving.retrieval.query_terms import QueryTerm, query_terms, searchable
from shrag.serving.search_settings import SearchSettings


def _keywords(demo: Engine, question: str) -> list[QueryTerm]:
    index = demo.open_index
    analyzed = analyze_question(question, index.analyzer, index.searcher, index.glossary)
    return join_known_phrases(analyzed, searchable(query_terms(analyzed)), index.searcher)


@pytest.mark.parametrize(
    ("question", "keywords"),
    [
        ("딥러닝과 강화학습", ["딥러닝", "강화학습"]),
        ("미세 먼지 농도의 예측", ["미세 먼지", "농도", "예측"]),
        ("convolutional neural network", ["convolutional neural network"]),
        ("long short-term memory and levels", ["long short-term memory", "levels"]),
        # The longer phrase, though its first words are one too.
        ("sea surface temperature", ["sea surface temperature"]),
        ("life cycle assessment of soil", ["life cycle assessment", "soil"]),
        ("salt marsh soil", ["salt", "marsh", "soil"]),
        ("neural, network", ["neural", "network"]),
        ("", []),
    ],
)
def test_compounds_and_phrases_of_the_glossary_are_one_keyword(
    demo: Engine, question: str, keywords: list[str]
) -> None:
    assert [word.text for word in _keywords(demo, question)] == keywords


def test_a_word_that_is_also_used_alone_stays_a_keyword(demo: Engine) -> None:
    words = _keywords(demo, "강화학습과 학습, 강화 학습, 강화학습")
    assert [(word.text, word.frequency) for word in words] == [("강화학습", 3), ("학습", 1)]


def test_a_name_is_joined_where_the_index_has_its_words_together(demo: Engine) -> None:
    """The records with Forest have Random too; those with Korea do not have South."""
    assert [word.text for word in _keywords(demo, "Random Forest in South Korea")] == [
        "Random Forest",
        "South",
        "Korea",
    ]


def test_a_compound_is_as_rare_as_its_term_and_another_phrase_as_its_rarest_word(demo: Engine) -> None:
    (compound,) = _keywords(demo, "딥러닝")
    statistics = demo.open_index.searcher.statistics(["딥러닝"]).contents
    assert (compound.whole, compound.terms) == ("딥러닝", ("딥러닝", "딥", "러닝"))
    assert compound.idf == idf(statistics.document_frequencies["딥러닝"], statistics.documents)
    (phrase,) = _keywords(demo, "convolutional neural network")
    assert phrase.whole == ""
    assert phrase.idf == max(part.idf for part in phrase.parts)


def test_a_phrase_is_searched_for_by_its_term_or_all_of_its_words_but_by_any_in_the_longest_query(demo: Engine) -> None:
    (compound, other) = _keywords(demo, "딥러닝 예측")
    words = And((Or((Term("딥"),)), Or((Term("러닝"),))))
    assert build_subqueries(reduce_query([compound, other])) == [
        any_of(["딥러닝", "딥", "러닝", "예측"]),
        Or((Term("딥러닝"), words)),
    ]
    assert build_subqueries(reduce_query([compound])) == [any_of(["딥러닝", "딥", "러닝"])]


def test_a_phrase_is_translated_as_one_or_else_by_its_words(demo: Engine) -> None:
    (phrase,) = _keywords(demo, "reinforcement learning")
    assert show_translation(phrase) == "강화 학습"
    assert reduce_translated_query([phrase], "en") == [[phrase]]
    (query,) = build_translated_queries([[phrase]], "en")
    best = DisjunctionMax(tuple(Boost(Or(tuple(map(Term, each.terms))), each.weight) for each in phrase.translations))
    assert query == Or((best,))
    (single,) = _keywords(demo, "carbon")
    untranslated = phrase._replace(translations=(), parts=(single, phrase.parts[0]._replace(translations=())))
    assert reduce_translated_query([untranslated], "en") == [[single]]
    assert reduce_translated_query([untranslated], "en", SearchSettings(words="compound")) == []


def test_queries_of_phrases_find_as_many_hits_as_those_of_their_words(demo: Engine) -> None:
    found = {
        words: demo.search("딥러닝과 강화학습의 예측", settings=SearchSettings.from_mapping({"words": words}))
        for words in ("known", "morphemes")
    }
    assert max(map(len, found["morphemes"].hits.hits)) <= 10
    assert 10 < max(map(len, found["known"].hits.hits)) <= 20
