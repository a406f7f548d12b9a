"""Tests of recognising questions that name a broad subject or compare two, and of choosing records for them."""

from __future__ import annotations

import re

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.translation.query_translation import Translation
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.broad_questions import (
    BroadQuestion,
    breadth,
    compare_subjects,
    names_all,
    read_broad_question,
)
from shrag.serving.retrieval.query_terms import QueryTerm, join_terms

ANALYZER = KoreanEnglishAnalyzer()


def _word(text: str, *translations: str) -> QueryTerm:
    translated = tuple(Translation(each, tuple(ANALYZER.terms([each])[0]), 1.0) for each in translations)
    return QueryTerm(text, tuple(ANALYZER.terms([text])[0]), 1.0, 1, keyword=True, known=True, translations=translated)


def _read(question: str, keywords: str, others: str = "") -> BroadQuestion | None:
    """Read a question with these keywords, separated by commas, and these other words."""
    phrases = [[_word(word) for word in keyword.split()] for keyword in keywords.split(", ")]
    words = [*(word for phrase in phrases for word in phrase), *map(_word, others.split())]
    return read_broad_question(question, words, [join_terms(phrase) for phrase in phrases])


def _subject(question: str, keywords: str, others: str = "") -> list[str]:
    broad = _read(question, keywords, others)
    return [" ".join(word.text for word in phrase) for phrase in broad.subject] if broad else []


@pytest.mark.parametrize(
    ("question", "keywords", "others", "subject"),
    [
        ("ESG", "ESG", "", ["ESG"]),
        ("recent trends in big data", "big data, trends", "recent", ["big data"]),
        ("What can AI do for agriculture?", "AI, agriculture", "", ["AI", "agriculture"]),
        ("What are the main challenges of smart cities?", "smart cities, challenges", "main", ["smart cities"]),
        ("인공지능 윤리 문제에 대해 알려줘", "인공지능 윤리, 문제", "", ["인공지능 윤리"]),
        ("스마트팜의 현황과 과제", "스마트팜, 현황, 과제", "", ["스마트팜"]),
        ("음성인식 기술 동향", "음성인식, 기술, 동향", "", ["음성인식"]),
        ("What is granite?", "granite", "", ["granite"]),
        ("딥러닝이란 무엇인가?", "딥러닝", "", ["딥러닝"]),
        ("What does grey literacy mean?", "grey literacy, mean", "", ["grey literacy"]),
        ("인공지능 윤리에는 어떤 쟁점이 있나요?", "인공지능 윤리, 쟁점", "", ["인공지능 윤리"]),
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
        ("What is 'grey literature'?", "grey", "literature"),
        ("Where is Texas?", "Texas", ""),
        ("What were the effects of the reforms?", "reforms", "effects"),
        ("Why did he walk?", "walk", ""),
        ("추천 시스템은 몇 종류인가?", "추천 시스템", "종류"),
        ("recent studies", "studies", "recent"),
        ("2020년 논문", "2020", "논문"),
        ("COVID 19", "19", ""),
        ("granite vs", "granite", ""),
        ("blockchain, trust and voting", "blockchain, trust, voting", ""),
    ],
)
def test_a_question_that_says_more_or_asks_for_one_fact_is_not_broad(question: str, keywords: str, others: str) -> None:
    assert _subject(question, keywords, others) == []


@pytest.mark.parametrize(
    ("question", "keywords", "others"),
    [
        ("CNN vs RNN", "CNN, RNN", ""),
        ("difference between CNN and RNN", "CNN, RNN", "difference"),
        ("머신러닝과 딥러닝의 차이점은?", "머신러닝, 딥러닝", "차이점"),
        ("CNN과 RNN 중 어느 것이 더 좋은가?", "CNN, RNN", "좋"),
    ],
)
def test_a_question_for_the_difference_between_two_subjects_compares(question: str, keywords: str, others: str) -> None:
    broad = _read(question, keywords, others)
    assert broad is not None
    assert broad.compares
    assert (broad.aspect, broad.purpose) == (None, ())


def _opposed(question: str, *keywords: str) -> tuple[list[str], list[str]]:
    """Return the two subjects that a question opposes to each other, and its other keywords."""
    phrases = [
        join_terms([_word(word)._replace(start=question.index(word), end=question.index(word) + len(word))])
        for word in keywords
    ]
    broad = read_broad_question(question, [], phrases)
    named = (broad.subject, broad.purpose) if broad else ((), ())
    subject, purpose = ([" ".join(word.text for word in phrase) for phrase in each] for each in named)
    return subject, purpose


@pytest.mark.parametrize(
    ("question", "keywords", "opposed"),
    [
        ("LSTM과 GRU 중 어느 쪽이 강수 예측에 더 좋은가?", ("GRU", "강수", "LSTM"), (["LSTM", "GRU"], ["강수"])),
        ("CNN vs SVM for images, which is better?", ("images", "SVM", "CNN"), (["CNN", "SVM"], ["images"])),
        (
            "For crops and soil, are trees better than forests?",
            ("trees", "forests", "crops", "soil"),
            (["trees", "forests"], ["crops", "soil"]),
        ),
        ("Is rice better for soil, for crops?", ("rice", "soil", "crops"), ([], [])),
        ("LSTM, GRU: which is better for rain, wind and snow?", ("LSTM", "GRU", "rain", "wind", "snow"), ([], [])),
    ],
    ids=["ko", "en", "than before and", "none side by side", "too many"],
)
def test_two_of_several_subjects_are_compared_if_the_question_opposes_them(
    question: str, keywords: tuple[str, ...], opposed: tuple[list[str], list[str]]
) -> None:
    assert _opposed(question, *keywords) == opposed


def test_a_sentence_names_a_subject_if_it_names_all_of_it_in_either_language() -> None:
    broad = BroadQuestion(((_word("AI", "인공지능"),), (_word("farming", "농업"),)))
    assert broad.is_named("농업에 인공지능을 쓴다.")
    assert broad.is_named("AI helps farming.")
    assert not broad.is_named("AI helps.")


@pytest.mark.parametrize(
    ("others", "sentence", "about"),
    [
        ("problems", "The main limitation is the lack of data.", True),
        ("problems", "It has many advantages.", False),
        ("advantages", "It has many advantages.", True),
        ("장단점", "데이터가 부족하다는 한계가 있다.", True),
        ("장단점", "빠르다는 장점이 있다.", True),
        ("활용", "의료에 적용한 사례이다.", True),
        ("trends", "The main limitation is the lack of data.", False),
    ],
)
def test_sentences_on_the_aspect_that_is_asked_for_are_recognized(others: str, sentence: str, about: bool) -> None:
    broad = _read("blockchain", "blockchain", others)
    assert broad is not None
    assert broad.is_about(sentence) is about


FOREST = (_word("random", "랜덤 포레스트"), _word("forest", "랜덤 포레스트"))
COMPARED = BroadQuestion(((_word("CNN"),), FOREST), compares=True)


@pytest.mark.parametrize(
    ("sentence", "compares"),
    [
        ("The CNN outperformed a random forest.", True),
        ("The CNN of our random forest differs.", False),  # nothing between them says that they are compared
        ("The accuracy of a CNN was higher than that of a random forest.", True),
        ("We compare SVM, CNN and random forests.", True),
        ("CNN과 랜덤포레스트의 정확도를 비교하였다.", True),
        ("CNN was used, and later a random forest.", False),  # no contrast
        ("A CNN was compared with an SVM.", False),
        ("We compare methods. " + "CNN and " + "x " * 80 + "random forest", False),  # too far from each other
    ],
)
def test_a_sentence_compares_two_subjects_if_it_names_them_side_by_side_in_a_contrast(
    sentence: str, compares: bool
) -> None:
    assert COMPARED.is_about(sentence) is compares
    assert compare_subjects(_titled("Forecasts", sentence), COMPARED).compares is compares
    assert compare_subjects(_titled(sentence), COMPARED).compares is compares


def test_a_record_tells_how_two_subjects_differ_if_a_sentence_on_both_does() -> None:
    better, compared = "The CNN was better than a random forest.", "We compare a CNN and a random forest."
    assert compare_subjects(_titled("Forecasts", better), COMPARED).tells
    assert not compare_subjects(_titled("Forecasts", compared), COMPARED).tells
    assert not compare_subjects(_titled("Forecasts", f"{compared} An SVM was better than a tree."), COMPARED).tells


SUBJECT = BroadQuestion(((_word("big", "빅데이터"), _word("data", "빅데이터")),))


def _titled(title: str, text: str = "It was measured.") -> AnalyzedRecord:
    return analyze_record(Record("d", title, text, detect_language(text), complete=True), ANALYZER)


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Trends in big data analytics", True),
        ("의료 빅데이터 활용", True),
        ("Big questions in sleep research", False),
        ("Big sets of medical data", True),
        ("Big questions in the analysis of sleep data", False),
        ("Big data for bigger database designs", True),
        ("", False),
    ],
)
def test_a_title_names_a_subject_with_all_of_its_words_in_either_language(title: str, names: bool) -> None:
    assert names_all(_titled(title), SUBJECT.subject) is names


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Big data: a survey", "Big data: a system"),
        ("Big data systems", "Big data systems for the control of traffic at night"),
        ("Big data systems", "A survey of tourists using big data"),
        ("Big data systems", "빅데이터를 활용한 관광 동향 분석"),
        ("Big data systems", "Trends in tourism by big data"),
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


def test_a_text_that_surveys_and_one_on_the_aspect_asked_for_are_better() -> None:
    plain = _titled("Big data systems")
    survey = _titled("Big data systems", "This paper reviews such systems.")
    problem = _titled("Big data systems", "A problem is their size.")
    asked = SUBJECT._replace(aspect=re.compile("problem"))
    assert breadth(survey, SUBJECT, "en") > breadth(plain, SUBJECT, "en")
    assert breadth(problem, SUBJECT, "en") == breadth(plain, SUBJECT, "en")
    assert breadth(problem, asked, "en") > breadth(plain, asked, "en")
