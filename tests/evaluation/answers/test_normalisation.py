from __future__ import annotations

import doctest
import unicodedata

import pytest

from shrag.evaluation.answers import normalisation
from shrag.evaluation.answers.normalisation import normalise, without_particles
from shrag.indexing.korean import KoreanMorphemes

SPLIT = KoreanMorphemes().split


def test_its_example_holds() -> None:
    results = doctest.testmod(normalisation)
    assert (results.failed, results.attempted) == (0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  An  Apple a day. ", "apple day"),
        ("「세종대왕」", "세종대왕"),
        ("1,200명", "1200명"),
        ("3.5%", "3.5"),
        ("v1.2.3.", "v1.2.3"),
        ("U.S.A.", "usa"),
        ("Ａ㎏", "akg"),
        ("the", ""),
        ("", ""),
        ("theory", "theory"),
    ],
)
def test_capitals_articles_punctuation_and_spaces_are_no_difference(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_decomposed_hangul_is_no_difference() -> None:
    assert normalise(unicodedata.normalize("NFD", "서울특별시")) == "서울특별시"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("서울에서", "서울"),
        ("서울이다.", "서울"),
        ("서울입니다.", "서울"),
        ("바나나다", "바나나"),
        ("1919년에", "1919년"),
        ("이순신 장군이", "이순신 장군"),
        ("3.5%였다", "3.5%"),
        ("Kiwi를", "Kiwi"),
        *((word, word) for word in ("종이", "회의", "사과", "대만", "제주도", "나이", "고양이", "예측하다")),
        ("the river is", "the river is"),
        ("은", "은"),
        ("", ""),
    ],
)
def test_particles_and_copulas_at_the_end_fall_away_and_words_that_end_alike_stay(text: str, expected: str) -> None:
    assert without_particles(text, SPLIT) == expected
