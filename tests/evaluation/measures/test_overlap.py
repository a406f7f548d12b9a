from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.measures.overlap import Overlap, best_overlap, characters, morphemes, rouge_l, token_f1, words
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes


def test_the_example_of_the_rouge_paper_has_its_values() -> None:
    # Lin (2004), section 3.1: S2 scores 3/4 and S3 2/4 against S1.
    reference = words("police killed the gunman")
    assert rouge_l(words("police kill the gunman"), reference) == (0.75, 0.75, 0.75)
    assert rouge_l(words("the gunman kill police"), reference) == (0.5, 0.5, 0.5)


def test_token_f1_counts_each_unit_as_often_as_both_have_it_whatever_the_order() -> None:
    assert token_f1(words("a b b c"), words("c b d")) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    assert token_f1(words("x x"), words("x")) == pytest.approx((0.5, 1.0, 2 / 3))


def test_korean_characters_by_hand() -> None:
    # 검색은빠르다 / 검색이빠르다: 5 of 6 in order.
    assert rouge_l(characters("검색은 빠르다"), characters("검색이 빠르다.")).f1 == pytest.approx(5 / 6)


@pytest.mark.parametrize("measure", [token_f1, rouge_l])
def test_two_empty_ones_are_the_same_and_one_shares_nothing(measure: object) -> None:
    assert callable(measure)
    assert measure([], []) == (1.0, 1.0, 1.0)
    assert measure(["a"], []) == measure([], ["a"]) == (0.0, 0.0, 0.0)
    assert measure(["a"], ["b"]) == (0.0, 0.0, 0.0)


@given(st.text("abc", max_size=90), st.text("abcd", max_size=90))
def test_the_longest_common_subsequence_is_that_of_the_table(a: str, b: str) -> None:
    row = [0] * (len(b) + 1)
    for unit in a:
        before = row[:]
        for at, other in enumerate(b):
            row[at + 1] = before[at] + 1 if unit == other else max(before[at + 1], row[at])
    found = rouge_l(list(a), list(b))
    assert found.recall * len(b) == pytest.approx(row[-1] if a or not b else 0)


def test_long_answers_take_no_time_to_speak_of() -> None:
    begun = time.perf_counter()
    assert rouge_l(list("가나다라" * 5_000), list("나라가다" * 5_000)).f1 > 0.5
    assert time.perf_counter() - begun < 5


def test_the_best_of_several_references_counts() -> None:
    assert best_overlap([Overlap(1, 0.1, 0.2), Overlap(0.5, 0.5, 0.5)]) == (0.5, 0.5, 0.5)
    assert best_overlap([]) == (0.0, 0.0, 0.0)


def test_words_are_runs_of_letters_and_digits() -> None:
    assert words("Deep-learning's 3.5 models!") == ["deep", "learning", "s", "3", "5", "models"]
    assert words("Kiwi는 snake_case") == ["kiwi", "는", "snake", "case"]
    assert words("") == words("...") == []


def test_characters_are_syllables_and_spacing_is_no_difference() -> None:
    assert characters("한글 A1.") == characters("한 글a1") == ["한", "글", "a", "1"]
    assert characters(unicodedata.normalize("NFD", "한글")) == ["한", "글"]


def test_morphemes_are_kiwis_with_particles_and_without_punctuation() -> None:
    split = KoreanMorphemes().split
    assert morphemes("모델은 문서를 찾았다.", split) == ["모델", "은", "문서", "를", "찾", "었", "다"]
    assert morphemes("GPT-4의 β를", split) == ["gpt", "4", "의", "β", "를"]
    assert morphemes("", split) == []
