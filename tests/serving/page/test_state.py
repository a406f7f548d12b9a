"""The terms that a page highlights, and the languages it chooses."""

from __future__ import annotations

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.serving.events import Keyword, Keywords
from shrag.serving.page.request import InterfaceLanguage, PageRequest
from shrag.serving.page.state import PageState, content_terms, tree_language
from shrag.serving.request import AnswerLanguage


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("그래핀 논문을 찾아줘", {"그래핀"}),
        ("Show me papers about graphene", {"graphen"}),
        ("찾아줘", {"찾"}),  # it has no others
        ("Please tell me", {"pleas", "tell"}),
    ],
)
def test_the_words_that_frame_a_request_are_its_terms_only_where_it_has_no_others(
    analyzer: KoreanEnglishAnalyzer, question: str, terms: set[str]
) -> None:
    assert content_terms(question, analyzer) == terms


@pytest.mark.parametrize(("language", "terms"), [("ko", {"그래핀", "film"}), ("en", {"그래핀"})])
def test_a_frequent_word_in_latin_letters_is_highlighted_for_a_korean_question_alone(
    analyzer: KoreanEnglishAnalyzer, language: AnswerLanguage, terms: set[str]
) -> None:
    state = PageState("그래핀 film", language)
    state.add(Keywords((Keyword("그래핀", ("그래핀",), 9.0), Keyword("film", ("film",), 0.1)), ()))
    assert state.matching_terms(analyzer) == terms


@pytest.mark.parametrize(
    ("question", "interface", "language"),
    [("그래핀이란?", "en", "ko"), ("What is graphene?", "ko", "en"), ("1 + 1?", "ko", "ko"), ("1 + 1?", "en", "en")],
)
def test_a_tree_is_in_the_language_of_the_question_or_where_it_has_none_of_the_interface(
    question: str, interface: InterfaceLanguage, language: AnswerLanguage
) -> None:
    answered: AnswerLanguage = "ko" if question.startswith("그") else "en"
    assert tree_language(PageState(question, answered), PageRequest(question, interface)) == language
