from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.glossary.transliteration import (
    consonant_key,
    english_consonant_keys,
    may_be_loanword,
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


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_two_strings_have_a_distance(korean: str, english: str) -> None:
    assert transliteration_distance(korean, english) >= 0
    consonant_key(korean)
    english_consonant_keys(english)
