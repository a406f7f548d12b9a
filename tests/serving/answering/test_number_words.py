"""Number words: Korean and English numbers, told apart from the words that begin like them."""

from __future__ import annotations

import pytest

from shrag.serving.answering.number_words import has_number_word

NUMBERS = [str(number) for number in range(1, 11)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("하나의 모형과 첫째 가설, 한 가지 방법", ["1"]),
        ("두 조건을 견주었다. 둘째, 두개의 집단", ["2"]),
        ("세 논문과 셋째 장, 세가지 두께", ["3"]),
        ("네 명과 넷째 집단", ["4"]),
        ("다섯 가지와 여섯째, 일곱 개, 여덟 명, 아홉 곳, 열 가지", ["5", "6", "7", "8", "9", "10"]),
        ("삼차원 모형을 오년간, 십 년 동안", ["3", "5"]),
        ("세쌍의 부모와 네범주의 문항, 육개월 동안", ["3", "4", "6"]),
        ("A twofold rise in a single trial", ["1", "2"]),
        ("One of two; both; the Third, four-fold, tenth", ["1", "2", "3", "4", "10"]),
    ],
)
def test_a_number_word_is_its_number(text: str, numbers: list[str]) -> None:
    assert [number for number in NUMBERS if has_number_word(number, text)] == numbers


@pytest.mark.parametrize(
    "text",
    [
        "이 연구는 삼성전자와 오늘날의 일반적인 사회, 구조와 육아, 칠레와 팔레스타인, 십자가를 다룬다.",
        "한국의 두뇌와 세계, 네트워크, 열 전달과 열차, 한편 이상의 오차와 둘러싼 둘레",
        "60 세 이상의 노인",
        "The tension of tenants; someone, oneself, sixty, firsthand, network, weight",
        "12장과 3만 명",
    ],
)
def test_a_word_that_begins_like_a_number_is_none(text: str) -> None:
    assert [number for number in NUMBERS if has_number_word(number, text)] == []


@pytest.mark.parametrize("number", ["0", "11", "1.0", "", "01"])
def test_other_numbers_have_no_words(number: str) -> None:
    assert not has_number_word(number, "하나, 둘, 셋: one, two, three, eleven")
