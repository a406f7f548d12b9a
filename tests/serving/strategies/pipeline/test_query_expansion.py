from __future__ import annotations

from dataclasses import replace

from shrag.indexing.query import any_of
from shrag.serving.engine import Engine
from shrag.serving.retrieval.query_terms import text_terms
from shrag.serving.strategies.pipeline.query_expansion import (
    ExpandedQuery,
    augment_by_words,
    hypotheses_by_sentences,
    query_of_text,
)
from tests.support.incomplete_store import IncompleteStore

# Written out, so that a change of the module's own is noticed.
FIRST_SEARCH = 10
LONGEST_QUERY = 300


def _made(demo: Engine, question: str, language: str, count: int, *, glossary: bool = True) -> list[str]:
    index = demo.open_index if glossary else replace(demo.open_index, glossary=None)
    words = text_terms(question, index)
    made = augment_by_words(words, "ko" if language == "ko" else "en", count, index)
    assert all(query.kind == "augmentation" and query.terms for query in made)
    return [query.text for query in made]


def test_queries_by_words_are_the_translation_then_synonyms_then_parts_of_the_keywords(demo: Engine) -> None:
    question = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
    assert _made(demo, question, "ko", 8) == [
        "LSTM onion wholesale price prediction error",
        "long short-term memory 양파 도매 값 예측 오류",  # 오차 and 오류 are both "error"
        "양파 도매 가격",
        "도매 가격 LSTM 오차 예측",
        "LSTM 오차 예측",
    ]
    assert _made(demo, question, "ko", 1) == ["LSTM onion wholesale price prediction error"]


def test_untranslated_english_words_are_not_in_the_korean_query(demo: Engine) -> None:
    first, *_ = _made(demo, "How fast does a restored salt marsh bury blue carbon?", "en", 2)
    assert first == "복원 매몰 블루카본"


def test_without_a_glossary_queries_are_parts_of_the_keywords(demo: Engine) -> None:
    question = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
    assert _made(demo, question, "ko", 2, glossary=False) == ["도매 가격 LSTM", "가격 LSTM 오차 예측"]


def test_few_keywords_give_no_parts_and_no_keywords_give_no_queries(demo: Engine) -> None:
    assert _made(demo, "LSTM 오차", "ko", 8, glossary=False) == []
    assert _made(demo, "…?!", "ko", 8) == []
    assert _made(demo, "zzzz qqqq", "en", 8) == []


def _supposed(demo: Engine, question: str, count: int) -> list[ExpandedQuery]:
    index = demo.open_index
    words = text_terms(question, index)
    return hypotheses_by_sentences(words, query_of_text(question, index, "question"), count, index)


def test_no_hypothesis_is_taken_from_an_incomplete_record(demo: Engine) -> None:
    question = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
    index = replace(demo.open_index, store=IncompleteStore(demo.open_index.store))
    own = query_of_text(question, index, "question")
    assert len(_supposed(demo, question, 2)) == 2
    assert hypotheses_by_sentences(text_terms(question, index), own, 2, index) == []
    # One that is left out does not end the search.
    first, *_ = demo.open_index.searcher.search([any_of(own.terms)], FIRST_SEARCH)[0]
    others = replace(demo.open_index, store=IncompleteStore(demo.open_index.store, {first.docid}))
    assert len(hypotheses_by_sentences(text_terms(question, others), own, 2, others)) == 2


def test_hypotheses_by_sentences_hold_most_of_the_question_one_per_record(demo: Engine) -> None:
    made = _supposed(demo, "How fast does a restored salt marsh bury blue carbon?", 3)
    assert len(made) == 3
    assert made[0].text.startswith("We collected 24 sediment cores from a salt marsh restored by breaching")
    assert all(query.kind == "hypothesis" and len(query.text) <= LONGEST_QUERY for query in made)


def test_hypotheses_are_at_most_the_records_of_the_first_search(demo: Engine) -> None:
    assert 0 < len(_supposed(demo, "How fast does a restored salt marsh bury blue carbon?", 50)) <= FIRST_SEARCH


def test_without_hits_there_are_no_hypotheses(demo: Engine) -> None:
    assert _supposed(demo, "…?!", 2) == []
    assert _supposed(demo, "zzzz qqqq", 2) == []
