"""Light words: what makes one, and that it is no keyword, is not translated and weighs little."""

from __future__ import annotations

import pytest

from shrag.indexing.analysis.light_words import LIGHT_WEIGHT, LIGHT_WORDS
from shrag.indexing.analysis.stopwords import ENGLISH_STOPWORDS
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.evidence import distinctive_segments
from shrag.indexing.lexical.reranker import weigh_question
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.serving.engine import Engine
from shrag.serving.retrieval.query_terms import query_terms, searchable


def _ask(demo: Engine, question: str) -> AnalyzedQuestion:
    index = demo.open_index
    return analyze_question(question, index.analyzer, index.searcher, index.glossary)


def _light(asked: AnalyzedQuestion) -> list[str]:
    return [asked.text[each.start : each.end] for each in asked.segments if each.is_light]


def test_light_words_are_in_lower_case_and_no_stop_words() -> None:
    assert len(LIGHT_WORDS) == 155
    assert all(map(str.islower, LIGHT_WORDS))
    assert not LIGHT_WORDS & ENGLISH_STOPWORDS


@pytest.mark.parametrize(
    ("question", "light"),
    [
        ("Does graphene actually help batteries get lighter?", ["actually", "help", "get"]),
        ("decision making of nurses", []),  # translated as one
        ("making decisions of nurses", ["making"]),
        ("graphene at Make", []),  # a name
        ("What makes things happen?", []),  # nothing else to search for
        ("Could you tell me how graphene is made?", ["made"]),  # tell me frames the request
    ],
)
def test_these_words_of_questions_are_light(demo: Engine, question: str, light: list[str]) -> None:
    assert _light(_ask(demo, question)) == light


def test_a_light_word_is_no_keyword_is_not_translated_and_has_three_tenths_of_its_idf(demo: Engine) -> None:
    asked = _ask(demo, "Does graphene actually help batteries?")
    assert {"graphene", "batteries"} == {word.text for word in searchable(query_terms(asked))}
    light = {number for number, each in enumerate(asked.segments) if each.is_light}
    assert light
    assert light.isdisjoint(distinctive_segments(asked))
    assert not any(asked.translations[number] for number in light)
    weights = weigh_question(asked, Bm25())
    assert asked.light == {"actual", "help"}
    assert LIGHT_WEIGHT == 0.3
    assert weights.in_contents["help"] == pytest.approx(0.3 * asked.idf["help"])
    assert weights.in_contents["graphen"] == asked.idf["graphen"]


def test_a_term_that_another_word_has_too_is_not_light(demo: Engine) -> None:
    asked = _ask(demo, "the looks of looks and LOOK of graphene")
    assert _light(asked) == ["looks", "looks"]
    assert asked.light == set()
