"""Framing words of a request, found by their place and never by themselves."""

from __future__ import annotations

import time

import pytest

from shrag.indexing.analysis.request_framing import asks_for_no_record, framing_spans, is_framing_alone


def _content(question: str) -> str:
    """Return a question without its framing ranges."""
    spans = framing_spans(question)
    kept = "".join(
        " " if any(start <= position < end for start, end in spans) else character
        for position, character in enumerate(question)
    )
    return " ".join(kept.split())


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Could you concisely summarize examples that characterize tidal power?", "examples tidal power?"),
        ("Could you provide a concise summary of tidal power?", "tidal power?"),
        ("Can you briefly explain how tides form?", "how tides form?"),
        ("Would you please outline the main approaches to tidal power?", "the main approaches to tidal power?"),
        ("Could you describe, in detail, how tides form?", "how tides form?"),
        ("Can you help me understand how tides form?", "how tides form?"),
        ("Please give me a brief overview of tidal power in two sentences.", "tidal power"),
        ("Outline tide-gauge methods for the height of surges.", "tide-gauge methods for the height of surges."),
        ("Summarise research on how tides form.", "how tides form."),
        ("Explain tides to me in simple terms.", "tides"),
        ("Describe the tides and explain how they form.", "the tides how they form."),
        ("How do tides form? Please explain.", "How do tides form? ."),
        ("How do tides form in detail?", "How do tides form"),
        ("What does research say about tides?", "tides?"),
        ("What is known about tides?", "tides?"),
        ("What has been found about tides?", "tides?"),
        ("What research has been done on tides?", "tides?"),
        ("Are there studies showing that tides matter?", "that tides matter?"),
        ("Has anyone ever modelled tides?", "modelled tides?"),
        ("I'm looking for papers on tides.", "tides."),
        ("I am especially interested in articles describing tides.", "tides."),
        ("I'd like to find articles dealing with tides.", "tides."),
        ("I would like to know how tides form.", "how tides form."),
        ("List all discussions of tides.", "tides."),
        ("papers on tides", "tides"),
    ],
)  # fmt: skip
def test_english_requests_are_framed_by_their_opening_and_their_end(question: str, content: str) -> None:
    assert _content(question) == content


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("조석 발전을 간략하게 요약해 주시겠습니까?", "조석 발전을 ?"),
        ("조석 발전의 핵심 내용을 간략하게 요약해 주시겠습니까?", "조석 발전의 ?"),
        ("조석 발전에 대해 핵심만 간단히 정리해 주세요.", "조석 발전에 ."),
        ("조석 발전에 대하여 구체적으로 서술하시오.", "조석 발전에 ."),
        ("조석 발전의 한계를 논하라", "조석 발전의 한계를"),
        ("조석 발전의 개요를 알려 주세요.", "조석 발전의 ."),
        ("조석 발전 요약 부탁드립니다.", "조석 발전 ."),
        ("조석 발전을 요약해서 알려줘", "조석 발전을"),
        ("조석 발전의 원리를 쉽게 설명해 줄 수 있나요?", "조석 발전의 원리를 ?"),
        ("조석 발전의 장단점을 비교해 주세요.", "조석 발전의 장단점을 비교해 ."),
        ("조석 발전의 전망을 말씀해 주시기 바랍니다.", "조석 발전의 전망을 ."),
        ("조석 발전이 궁금합니다.", "조석 발전이 ."),
        ("조석 발전을 예측한 연구를 정리해 줘.", "조석 발전을 예측한 ."),
        ("조석 발전 관련 연구가 있나요?", "조석 발전 ?"),
        ("조석 발전의 효과를 분석한 결과가 있나요?", "조석 발전의 효과를 분석한 ?"),
        ("조석 발전이 환경에 얼마나 영향을 주나요?", "조석 발전이 환경에 영향을 주나요?"),
        ("바람만으로 전기를 만들 수가 있나요?", "바람만으로 전기를 만들 있나요?"),
        ("지진을 예측할 수가 있나요?", "지진을 예측할 있나요?"),
        ("정해진 의료 수가 있나요?", "정해진 의료 수가 있나요?"),
        ("안녕하세요, 조석 발전이 궁금합니다.", ", 조석 발전이 ."),
        ("조석 발전에 무엇을 써야 하나?", "조석 발전에 무엇을 써야 ?"),
        ("조석 발전의 비용은 얼마인가?", "조석 발전의 비용은 ?"),
        ("조석 발전 연구를 3개만 알려줘", "조석 발전"),
        ("HMM 이란?", "HMM ?"),
        ("CNN 이란 무엇인가요?", "CNN 무엇인가요?"),
    ],
)
def test_korean_requests_are_framed_by_their_ending(question: str, content: str) -> None:
    assert _content(question) == content


@pytest.mark.parametrize(
    "question",
    [
        "Which methods summarize documents automatically?",
        "Do review articles outline the limits of their sources?",
        "How do lists describe data structures?",
        "Summarize-then-answer models",
        "review of tidal power",
        "list decoding of codes",
        "outline planning permission",
        "문서 요약 모델의 성능은 어떠한가요?",
        "설명 가능한 인공지능이란 무엇인가요?",
        "진화론이 눈의 기원을 설명해 줄 수 있나요?",
        "정리 해고의 법적 기준은 무엇인가요?",
        "월드컵을 주최한 나라는 어디인가요?",
        "주가가 오르면 주식을 파는가?",
        "경기 결과는 무엇인가?",
        "미국과 이란 핵 협상의 쟁점은?",
        "OPEC 이란 제재의 영향",
        "얼마 안 되는 비용",
        "하나 된 지구",
        "",
    ],
)  # fmt: skip
def test_the_same_words_elsewhere_are_content(question: str) -> None:
    assert framing_spans(question) == []


@pytest.mark.parametrize(
    "piece", ["좀 ", "핵심 ", "간단히 좀 핵심 내용을 ", "해 주세요 ", "? ", "could you please ", "the brief recent "]
)
def test_a_long_run_of_framing_words_takes_little_time(piece: str) -> None:
    text = (piece * 2_000)[:2_000]
    started = time.process_time()
    framing_spans(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("간단히 설명해 주세요", True),
        ("Can you explain that again, please?", True),
        ("More details, please", True),
        ("Tell me more", True),
        ("explainable AI", False),
        ("details of the method", False),
        ("more robots", False),
        ("왜?", False),
    ],
)
def test_a_text_of_framing_words_alone_names_nothing(text: str, expected: bool) -> None:
    assert is_framing_alone(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("아, 네 감사합니다", True),
        ("정말 고마워요!", True),
        ("Okay, got it", True),
        ("good", False),
        ("very good evidence", False),
        ("OK corral", False),
        ("예후", False),
        ("좋은 연구는?", False),
    ],
)
def test_thanks_and_agreement_ask_for_no_record(text: str, expected: bool) -> None:
    assert asks_for_no_record(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("이 프로그램은 뭘 할 수 있어?", True),
        ("무엇을 물어볼 수 있나요?", True),
        ("도움말", True),
        ("이 시스템 사용법 알려줘", True),
        ("SHRAG는 어떻게 사용하나요?", True),
        ("너는 누구야?", True),
        ("help", True),
        ("What can you do?", True),
        ("How do I use this program?", True),
        ("What is SHRAG?", True),
        ("인공지능은 뭘 할 수 있어?", False),
        ("사용 방법은?", False),  # of what was asked before
        ("누구야?", False),
        ("What is this?", False),
        ("How does it work?", False),
        ("드론 사용법", False),
        ("이 프로그램의 학습 효과", False),
        ("help seeking", False),
        ("What is this disease called?", False),
        ("How to use drones", False),
    ],
)
def test_a_question_about_the_program_asks_for_no_record(text: str, *, expected: bool) -> None:
    assert asks_for_no_record(text) is expected
