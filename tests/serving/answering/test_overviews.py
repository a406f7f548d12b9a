"""Tests of recognising questions that name a broad subject, and of choosing records that give an overview of it."""

from __future__ import annotations

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.translation.query_translation import Translation
from shrag.serving.answering.overviews import breadth, broad_subject, names_all
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.query_terms import QueryTerm, join_terms

ANALYZER = KoreanEnglishAnalyzer()


def _word(text: str, *translations: str) -> QueryTerm:
    translated = tuple(Translation(each, tuple(ANALYZER.terms([each])[0]), 1.0) for each in translations)
    return QueryTerm(text, tuple(ANALYZER.terms([text])[0]), 1.0, 1, keyword=True, known=True, translations=translated)


def _subject(question: str, keywords: str, others: str = "") -> list[str]:
    """Return the subject of a question with these keywords, separated by commas, and these other words."""
    phrases = [[_word(word) for word in keyword.split()] for keyword in keywords.split(", ")]
    words = [*(word for phrase in phrases for word in phrase), *map(_word, others.split())]
    subject = broad_subject(question, words, [join_terms(phrase) for phrase in phrases])
    return [" ".join(word.text for word in phrase) for phrase in subject]


@pytest.mark.parametrize(
    ("question", "keywords", "others", "subject"),
    [
        ("ESG", "ESG", "", ["ESG"]),
        ("recent trends in big data", "big data, trends", "recent", ["big data"]),
        ("What can AI do for agriculture?", "AI, agriculture", "", ["AI", "agriculture"]),
        ("What are the main challenges of smart cities?", "smart cities, challenges", "main", ["smart cities"]),
        ("인공지능 윤리 문제에 대해 알려줘", "인공지능 윤리, 문제", "", ["인공지능 윤리"]),
        ("스마트팜의 현황과 과제", "스마트팜, 현황, 과제", "", ["스마트팜"]),
    ],
)
def test_a_question_with_a_subject_and_words_for_any_subject_is_broad(
    question: str, keywords: str, others: str, subject: list[str]
) -> None:
    assert _subject(question, keywords, others) == subject


@pytest.mark.parametrize(
    ("question", "keywords", "others"),
    [
        ("How does sleep affect depression in nurses?", "sleep, depression, nurses", "affect"),
        ("How do bees detect nectar?", "bees, nectar", "detect"),
        ("CNN vs RNN", "CNN, RNN", ""),
        ("머신러닝과 딥러닝의 차이점은?", "머신러닝, 딥러닝", "차이점"),
        ("What is granite?", "granite", ""),
        ("What is 'grey literature'?", "grey", "literature"),
        ("딥러닝이란 무엇인가?", "딥러닝", ""),
        ("Where is Texas?", "Texas", ""),
        ("What were the effects of the reforms?", "reforms", "effects"),
        ("Why did he walk?", "walk", ""),
        ("추천 시스템은 몇 종류인가?", "추천 시스템", "종류"),
        ("recent studies", "studies", "recent"),
        ("2020년 논문", "2020", "논문"),
        ("COVID 19", "19", ""),
    ],
)
def test_a_question_that_says_more_or_asks_for_one_fact_is_not_broad(question: str, keywords: str, others: str) -> None:
    assert _subject(question, keywords, others) == []


SUBJECT = [[_word("big", "빅데이터"), _word("data", "빅데이터")]]


def _titled(title: str, text: str = "It was measured.") -> AnalyzedRecord:
    return analyze_record(Record("d", title, text, detect_language(text), complete=True), ANALYZER)


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Trends in big data analytics", True),
        ("의료 빅데이터 활용", True),
        ("Big questions in sleep research", False),
        ("", False),
    ],
)
def test_a_title_names_a_subject_with_all_of_its_words_in_either_language(title: str, names: bool) -> None:
    assert names_all(_titled(title), SUBJECT) is names


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Big data: a survey", "Big data: a system"),
        ("Big data systems", "Big data systems for the control of traffic at night"),
        ("Big data systems", "A survey of tourists using big data"),
        ("Big data systems", "빅데이터를 활용한 관광 동향 분석"),
        ("Big data systems", "Big data-based trends"),
    ],
)
def test_surveys_and_titles_about_nothing_else_give_the_better_overview(
    better: str, worse: str, language: AnswerLanguage
) -> None:
    assert breadth(_titled(better), SUBJECT, language) > breadth(_titled(worse), SUBJECT, language)


def test_of_similar_titles_the_one_with_an_abstract_in_the_readers_language_is_better() -> None:
    english, korean = _titled("Big data systems"), _titled("Big data systems", "빅데이터를 다룬다.")
    assert breadth(english, SUBJECT, "en") > breadth(korean, SUBJECT, "en")
    assert breadth(korean, SUBJECT, "ko") > breadth(english, SUBJECT, "ko")
