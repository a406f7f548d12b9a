"""Tests of dropping the title page that the abstract of a thesis begins with."""

from __future__ import annotations

import pytest

from shrag.corpora.text.title_pages import drop_title_page

TITLE = "초등 로봇 수업의 분석"


@pytest.mark.parametrize(
    ("page", "rest"),
    [
        ("초등 로봇 수업의 분석 김 수 연 서울대학교 교육전문대학원 컴퓨터교육전공 ", "4차 산업혁명이 온다."),
        ("‘초등 로봇 수업의 분석’ 한국대학교 대학원 이 정 록 지도교수: 전 정 원 ", "로봇(robot)은 기계이다."),
        ("초등 로봇 수업의 분석 박사학위논문 연구자: 유지선 지도교수: 홍후조 2019년 12월 ", "본 연구는 새롭다."),
        (
            "Robots in Schools So Jung Kim Advisor: Kyung Ja Kim, Ph.D. Major in Education Graduate School of "
            "Education, Seoul University ",
            "This study asks why.",
        ),
        (
            "Robots Kim, Ann Department of Robots The Graduate School A University of Foreign Studies ",
            "This study asks why.",
        ),
    ],
)
def test_a_title_page_is_dropped_up_to_the_first_sentence(page: str, rest: str) -> None:
    assert drop_title_page(page + rest, TITLE) == (rest, 1)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("초등 로봇 수업의 분석은 한국대학교 대학원 교육학과 학생이 하였다.", TITLE),  # the title is a subject
        ("초등 로봇 수업의 분석 방법을 제안한다. 한국대학교 대학원 학생이 참여하였다.", TITLE),
        ("본 연구는 한국대학교 대학원 교육학과 학생을 조사하였다.", TITLE),
        ("Students of the Graduate School and the Department of Law at A University took part.", "Law"),
        ("Robots in schools. This study was done at the Graduate School of Seoul University.", "Robots in schools"),
        ("Robots Department of Education A University took part.", "Robots"),
        ("Robots", "Robots"),
        ("", ""),
        ("", TITLE),
    ],
)
def test_other_beginnings_stay(text: str, title: str) -> None:
    assert drop_title_page(text, title) == (text, 0)


def test_a_long_hostile_text_takes_no_long_time() -> None:
    text = "초등 로봇 수업의 분석 " + "대학원 University of A " * 20_000
    assert drop_title_page(text, TITLE).repairs in {0, 1}
