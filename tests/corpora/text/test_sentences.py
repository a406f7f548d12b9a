"""Sentences and the language of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.text.sentences import detect_language, split_sentences


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("인공지능 교육의 의미", "ko"),
        ("BERT와 GPT-4를 비교하였다", "ko"),
        ("A study of deep learning", "en"),
        ("Romanization of 한글 in the nineteenth century and later", "en"),
        ("3.14 + 2", "und"),
        ("", "und"),
        ("人工知能", "und"),
        ("가 abcd", "ko"),
        ("가 abcde", "en"),
        ("ㅎㅎ", "ko"),
    ],
)
def test_the_language_is_that_of_the_letters(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("하나이다. 둘인가? 셋!", ["하나이다.", "둘인가?", "셋!"]),
        ("설계하였다.또한 실험하였다.", ["설계하였다.", "또한 실험하였다."]),
        ("성능을 분석.평가하였다.국내.외 사례이다.", ["성능을 분석.평가하였다.", "국내.외 사례이다."]),
        ("as follows.First, the mean.", ["as follows.", "First, the mean."]),
        ("정확도는 93.5%이다. p = 0.05.", ["정확도는 93.5%이다.", "p = 0.05."]),
        ("Kim et al. 2020 showed it. See Fig. 2 for more.", ["Kim et al. 2020 showed it.", "See Fig. 2 for more."]),
        ("We use BERT, i.e. a model. J. Kim agreed.", ["We use BERT, i.e. a model.", "J. Kim agreed."]),
        ("It is approx. 5 m wide. Both are.", ["It is approx. 5 m wide.", "Both are."]),
        ('He said "yes." Then left.', ['He said "yes."', "Then left."]),
        ("1. 서론이다. 2. 본론이다.", ["1. 서론이다.", "2. 본론이다."]),
        ("첫째. 얇다. 그리고 둘째. 가볍다.", ["첫째. 얇다.", "그리고 둘째. 가볍다."]),
        ("Node.js와 v1.2.3을 썼다.", ["Node.js와 v1.2.3을 썼다."]),
        ("12. 서론이다. 2.1.3. 배경이다. (4. 끝.", ["12. 서론이다.", "2.1.3. 배경이다.", "(4. 끝."]),
        ("... 다음이다.", ["... 다음이다."]),
        ("Really? yes! no. maybe.", ["Really?", "yes!", "no. maybe."]),
        ("It ended. 5 men left.", ["It ended.", "5 men left."]),
        ('하였다..또한 하였다?또한 하였다."또한 했다.', ['하였다..또한 하였다?또한 하였다."또한 했다.']),
        ("썼다. next. (Then) so.", ["썼다.", "next.", "(Then) so."]),
        ("abcdefghvs. Next.", ["abcdefghvs.", "Next."]),
        ("끝에 점이 없다", ["끝에 점이 없다"]),
        ("말줄임…  다음", ["말줄임…", "다음"]),
        ("", []),
        ("   ", []),
        ("...", ["..."]),
    ],
)
def test_texts_split_into_these_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text(alphabet=st.sampled_from(list("가나. !?…a B1(\"'\n")), max_size=80))
def test_sentences_hold_everything_but_the_space_between_them(text: str) -> None:
    spans = split_sentences(text)
    outside = text
    for start, end in reversed(spans):
        assert text[start:end].strip()
        outside = outside[:start] + outside[end:]
    assert not outside.strip()
