from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.glossary.transliteration import (
    consonant_key,
    english_consonant_keys,
    may_be_loanword,
    possible_vowel_starts,
    starts_with_vowel,
    transliteration_distance,
)


@pytest.mark.parametrize(
    ("korean", "english"),
    [
        ("트랜스포머", "transformer"), ("네트워크", "network"), ("시뮬레이션", "simulation"),
        ("클러스터링", "clustering"),
        ("아키텍처", "architecture"), ("소프트웨어", "software"), ("플랫폼", "platform"), ("프레임워크", "framework"),
        ("챗봇", "chatbot"), ("베이지안", "bayesian"), ("파라미터", "parameter"), ("온톨로지", "ontology"),
    ],
)  # fmt: skip
def test_a_loanword_is_near_its_origin(korean: str, english: str) -> None:
    assert transliteration_distance(korean, english) < 0.14
    assert consonant_key(korean) in english_consonant_keys(english)
    assert may_be_loanword(korean)


@pytest.mark.parametrize(("korean", "english"), [("신경망", "network"), ("학습", "learning"), ("단백질", "protein")])
def test_a_native_word_is_far_from_its_translation(korean: str, english: str) -> None:
    assert transliteration_distance(korean, english) > 0.3
    assert not may_be_loanword(korean)


@pytest.mark.parametrize(
    ("korean", "english", "distance"),
    [
        ("코드", "code", 0), ("밸류", "value", 0), ("가드", "guard", 0.05 / 5), ("브리지", "bridge", 0.05 / 6),
        ("게스트", "guest", 0.1 / 6), ("마스크", "mask", 0.1 / 6), ("스위치", "switch", 0.35 / 6),
        ("바이러스", "virus", 0.35 / 7), ("하이브리드", "hybrid", 0.85 / 9), ("라이트", "light", 0.9 / 5),
        ("아일랜드", "island", 0.95 / 7), ("콜렉션", "collection", 1 / 10),
    ],
)  # fmt: skip
def test_the_distance_is_the_cost_per_letter_of_the_longer_word(korean: str, english: str, distance: float) -> None:
    assert transliteration_distance(korean, english) == pytest.approx(distance)


@pytest.mark.parametrize(
    ("korean", "english", "cost"),
    [
        ("나", "nag", 0.4),  # silent
        ("나", "nua", 0.3),
        ("나", "nab", 0.9),  # a letter that is never silent
        ("노", "ni", 0.45),  # another vowel
        ("나", "ma", 1.0),  # another consonant
        ("니", "nm", 1.0),  # a consonant for a vowel
        ("나", "n", 0.8),  # a vowel that Korean does not insert
    ],
)
def test_one_letter_of_difference_costs_by_its_kind(korean: str, english: str, cost: float) -> None:
    assert transliteration_distance(korean, english) * max(2, len(english)) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("english", "korean", "keys"),
    [
        ("bottle", "보틀", {"PTR"}),
        ("soccer", "사커", {"SK", "SKR"}),
        ("hammer", "해머", {"M", "MR"}),
        ("hobby", "하비", {"P"}),
    ],
)
def test_two_letters_of_a_kind_are_one_consonant(english: str, korean: str, keys: set[str]) -> None:
    assert english_consonant_keys(english) == keys
    assert consonant_key(korean) in keys


def test_which_words_begin_with_the_sound_of_a_vowel() -> None:
    assert [starts_with_vowel(word) for word in ("아이", "와", "힣", "가", "하", "a", "漢")] == [True] * 2 + [False] * 5
    assert [possible_vowel_starts(word) for word in ("apple", "data")] == [(True,), (False,)]
    assert [possible_vowel_starts(word) for word in ("hour", "wire", "yes")] == [(True, False)] * 3


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_two_strings_have_a_distance(korean: str, english: str) -> None:
    assert transliteration_distance(korean, english) >= 0
    consonant_key(korean)
    english_consonant_keys(english)
