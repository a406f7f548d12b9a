from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.glossary.spelling.model import (
    KoreanWord,
    LetterModel,
    loanword_log_odds,
    sounds,
    spelling_keys,
)


@pytest.mark.parametrize(
    ("korean", "english"),
    [("트랜스포머", "transformer"), ("롤러", "roller"), ("스케이트", "skate"), ("모션", "motion"), ("쇼핑", "shopping"),
     ("오디션", "audition"), ("이탈리아", "italian"), ("옥스퍼드", "oxford"), ("컷오프", "cutoff")],
)  # fmt: skip
def test_a_transliteration_shares_a_key_and_costs_little_a_sound(korean: str, english: str) -> None:
    word = KoreanWord(korean)
    assert set(word.keys) & set(spelling_keys(english))
    cost = word.spelling_cost(english, 40.0)
    assert cost is not None
    assert cost < 1.7 * word.num_sounds


@pytest.mark.parametrize(("korean", "english"), [("신경망", "network"), ("자유", "freedom"), ("롤러", "rural")])
def test_other_words_cost_more_or_share_no_key(korean: str, english: str) -> None:
    word = KoreanWord(korean)
    cost = word.spelling_cost(english, 40.0)
    assert not set(word.keys) & set(spelling_keys(english)) or cost is None or cost > 1.7 * word.num_sounds


def test_double_rieul_is_l_and_single_rieul_between_vowels_r() -> None:
    assert sounds("빌라") == ("ㅂ", "ㅣ", "ㄹㄹ", "ㅏ")
    assert sounds("비라") == ("ㅂ", "ㅣ", "ㄹ", "ㅏ")
    costs = {(word, english): KoreanWord(word).spelling_cost(english, 40.0) or 40.0
             for word in ("빌라", "비라") for english in ("villa", "vira")}  # fmt: skip
    assert costs["빌라", "villa"] < costs["비라", "villa"] - 2
    assert costs["비라", "vira"] < costs["빌라", "vira"] - 2


def test_a_cost_that_is_not_below_the_limit_is_none() -> None:
    cost = KoreanWord("토마토").spelling_cost("tomato", 10.0)
    assert cost == pytest.approx(0.5)
    assert KoreanWord("토마토").spelling_cost("tomato", 0.5) is None


@pytest.mark.parametrize("word", ["사과", "마음", "감기", "자유", "학교", "지도자", "유전자"])
def test_everyday_words_are_unlikely_loanwords(word: str) -> None:
    assert loanword_log_odds(word) <= 0


@pytest.mark.parametrize("word", ["스케일", "이탈리아", "마라톤", "바나나", "텔레비전"])
def test_loanwords_are_likely_ones(word: str) -> None:
    assert loanword_log_odds(word) > 3


def test_a_letter_model_gives_usual_words_lower_costs() -> None:
    model = LetterModel.of_words(["station", "nation", "ration", "motion"])
    assert model.cost("lotion") < model.cost("xqzjkv")


@given(st.text(alphabet=[chr(code) for code in range(0xAC00, 0xD7A4, 37)], min_size=1, max_size=8),
       st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))  # fmt: skip
def test_any_two_words_can_be_compared(korean: str, english: str) -> None:
    word = KoreanWord(korean)
    cost = word.spelling_cost(english, 60.0)
    assert cost is None or 0 <= cost < 60
    assert all(word.keys)
    assert all(key[0] == english[0] for key in spelling_keys(english))
