from __future__ import annotations

from shrag.serving.composition.hypotheses import FIRST_SEARCH, suppose_by_sentences
from shrag.serving.composition.queries import LONGEST_QUERY, SearchQuery, query_of_text
from shrag.serving.engine import Engine
from shrag.serving.words import question_words


def _supposed(demo: Engine, question: str, count: int) -> list[SearchQuery]:
    index = demo.open_index
    words = question_words(question, index.analyzer, index.engine, index.glossary)
    return suppose_by_sentences(words, query_of_text(question, index, "question"), count, index)


def test_the_sentences_that_hold_most_of_the_question_are_supposed_to_answer_it_one_a_record(demo: Engine) -> None:
    made = _supposed(demo, "How fast does a restored salt marsh bury blue carbon?", 3)
    assert len(made) == 3
    assert made[0].text.startswith("We collected 24 sediment cores from a salt marsh restored by breaching")
    assert all(query.kind == "hypothesis" and len(query.text) <= LONGEST_QUERY for query in made)


def test_no_more_are_supposed_than_the_first_search_finds(demo: Engine) -> None:
    assert 0 < len(_supposed(demo, "How fast does a restored salt marsh bury blue carbon?", 50)) <= FIRST_SEARCH


def test_nothing_is_supposed_where_nothing_is_found(demo: Engine) -> None:
    assert _supposed(demo, "…?!", 2) == []
    assert _supposed(demo, "zzzz qqqq", 2) == []
