from __future__ import annotations

import pytest

from shrag.indexing.analysis.genre_words import genre_spans
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine


def _genre(question: str) -> list[str]:
    return [question[start:end] for start, end in genre_spans(question)]


@pytest.mark.parametrize(
    ("question", "genre"),
    [
        ("전력수요 예측 자료", ["자료"]),
        ("전력수요 예측 관련 자료", ["관련 자료"]),
        ("전력수요 예측 논문 목록", ["논문 목록"]),
        ("전력수요 예측에 관해 참고할 만한 자료가 있을까요?", ["참고할 만한 자료가"]),
        ("전력수요 예측을 연구한 저자를 알려줘", ["저자를"]),
        ("도서관에서 전력수요에 대한 책을 찾고 있습니다", ["도서관에서", "책을"]),
        ("과제 때문에 그러는데 전력수요 예측 자료 있나요?", ["과제 때문에 그러는데", "자료"]),
        ("전력수요를 다룬 학위논문이 있나요?", ["학위논문이"]),
        ("survey of tides", ["survey of"]),
        ("Please find literature on tides", ["find literature on"]),
        ("books about tides", ["books about"]),
        ("Who wrote about tides?", ["Who wrote about"]),
        ("I need reading material on tides", ["need reading material on"]),
        ("pros and cons of tidal power", ["pros and cons of"]),
        ("tides literature review", ["literature review"]),
        ("an introduction to tides", ["an introduction to"]),
    ],
)
def test_words_for_documents_are_found_where_they_say_what_is_looked_for(question: str, genre: list[str]) -> None:
    assert _genre(question) == genre


@pytest.mark.parametrize(
    "question",
    [
        "",
        "자료",
        "자료 구조",
        "문헌 정보학의 역사",
        "논문 자동 분류",
        "책 추천 시스템의 성능은?",
        "도서관에서 로봇을 쓰는 까닭은?",
        "도서관에서 로봇은 어떻게 활용되고 있어?",
        "survey",
        "survey methodology in sociology",
        "history education",
        "review sentiment analysis with BERT",
        "How do book recommendations work?",
        "What is the heaviest pig recorded in history?",
        "Which fantasy books have references to Doctor Who?",
        "The papers of which author are in the library?",
        "the English title of Polo's book",
        "a " * 200,
        "자료 " * 200 + "구조",
    ],
)
def test_the_same_words_are_content_elsewhere(question: str) -> None:
    assert _genre(question) == []


def test_genre_words_are_light_unless_nothing_else_is_asked(demo: Engine) -> None:
    index = demo.open_index

    def light(question: str) -> list[str]:
        segments = analyze_question(question, index.analyzer, index.searcher, index.glossary).segments
        return [question[each.start : each.end] for each in segments if each.is_light]

    assert light("그래핀 전자파 차폐 자료") == ["자료"]
    assert light("books about graphene") == ["books"]
    assert light("자료") == []


@pytest.mark.parametrize(
    "question",
    [
        "그래핀 전자파 차폐",
        "그래핀 전자파 차폐 관련 자료",
        "그래핀 전자파 차폐 논문 목록",
        "그래핀 전자파 차폐의 장단점은?",
        "도서관에서 그래핀 전자파 차폐에 대한 책을 찾고 있습니다",
    ],
)
def test_a_word_for_documents_does_not_have_a_question_refused(demo: Engine, question: str) -> None:
    asked = demo.ask(question)
    assert asked.answer.reason == ""
    assert asked.answer.uncovered == ()
    assert asked.search.ranking.records[0].record.docid.startswith("DEMO-MAT-0")
