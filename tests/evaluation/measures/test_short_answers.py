from __future__ import annotations

import unicodedata

import pytest

from shrag.evaluation.measures.short_answers import (
    exact_match,
    normalise,
    read_yes_no,
    string_match,
    without_particles,
    yes_no_accuracy,
)
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes

SPLIT = KoreanMorphemes().split


def test_one_of_the_references_is_enough() -> None:
    assert exact_match("The Seine.", ["Thames", "seine"]) == 1.0
    assert exact_match("Seine river", ["Thames", "seine"]) == 0.0


@pytest.mark.slow
def test_particles_are_no_difference_only_where_morphemes_are_split() -> None:
    assert exact_match("서울이다", ["서울"]) == 0.0
    assert exact_match("서울이다.", ["서울"], SPLIT) == 1.0
    assert exact_match("서울", ["서울에서"], SPLIT) == 1.0
    assert exact_match("회", ["회의"], SPLIT) == 0.0


def test_nothing_matches_nothing() -> None:
    assert exact_match("", [""]) == 0.0
    assert exact_match("...", ["the"]) == 0.0
    assert exact_match("a", []) == 0.0


def test_an_answer_may_be_a_word_that_is_an_article_elsewhere() -> None:
    assert exact_match("A", ["A"]) == exact_match("The A.", ["a"]) == 1.0
    assert exact_match("A", ["B"]) == 0.0


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
        ("the", "the"),
        ("a (deep) network", "deep network"),
        ("A.", "a"),
        ("Vitamin A is an acid", "vitamin a is acid"),
        ("It works. A method", "it works method"),
        ("비타민 a 결핍", "비타민 a 결핍"),
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


@pytest.mark.parametrize(
    ("answer", "short", "stands"),
    [
        ("From 14 QL on.", "14 QL", True),
        ("From 140 QL on.", "14", False),
        ("It is 3.14 wide.", "14", False),
        ("It is 14.5 wide.", "14", False),
        ("It is 14.", "14", True),
        ("The Deep‑Learning way", "deep learning", False),
        ("THE DEEP LEARNING WAY", "deep learning", True),
        ("deeper", "deep", False),
        ("동영상은 12분짜리가 낫다", "12분", True),
        ("동영상은 112분이다", "12분", False),
        ("그것은 이온을 거른다", "이온", True),
        ("양이온을 거른다", "이온", False),
        ("오차는 7.8%였다", "7.8%", True),
        ("한국어", "한국어", True),
        ("", "x", False),
        ("anything", "", False),
        ("anything", "…", False),
        ("a (b) c", "(b)", True),
        ("Vitamin D is needed.", "vitamin A", False),
        ("Vitamin A is needed.", "vitamin A", True),
        ("hepatitis B", "hepatitis A", False),
        ("비타민 K가 필요하다", "비타민 A", False),
        ("비타민 A가 필요하다", "비타민 A", True),
        ("The answer is A.", "A", True),
        ("It is a method.", "A", False),
        ("a naïve method", "na", False),
        ("αβγ", "α", False),
        ("이온交換", "이온", False),
    ],
)
def test_a_short_answer_stands_where_nothing_of_its_own_kind_goes_on(answer: str, short: str, stands: bool) -> None:
    assert string_match(answer, [short]) == float(stands)


def test_one_of_several_wordings_is_enough_and_none_is_nothing() -> None:
    assert string_match("forty discharges", ["40", "forty"]) == 1.0
    assert string_match("forty discharges", []) == 0.0


@pytest.mark.parametrize("answer", ["Yes", "yes.", "네, 맞습니다", "예", "그렇다.", "맞다", "TRUE", "참"])
def test_yes_is_read_from_the_first_word(answer: str) -> None:
    assert read_yes_no(answer) is True


@pytest.mark.parametrize("answer", ["No", "no, yes", "아니요.", "아니오", "아닙니다", "False", "거짓", "그렇지 않다."])
def test_no_is_read_from_the_first_word(answer: str) -> None:
    assert read_yes_no(answer) is False


@pytest.mark.parametrize("answer", ["", "Nobody knows", "yesterday", "예측은 어렵다", "참고 문헌", "maybe yes"])
def test_other_words_are_neither_and_never_right(answer: str) -> None:
    assert read_yes_no(answer) is None
    assert yes_no_accuracy(answer, True) == yes_no_accuracy(answer, False) == 0.0


def test_the_right_one_scores_one() -> None:
    assert (yes_no_accuracy("예", True), yes_no_accuracy("예", False)) == (1.0, 0.0)
    assert (yes_no_accuracy("No.", True), yes_no_accuracy("No.", False)) == (0.0, 1.0)
