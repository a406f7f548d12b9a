from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.glossary.parentheticals import AcronymExpansion, TermMention, find_mentions, is_english_term


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(" ".join(m.korean), m.english) for m in find_mentions(text) if isinstance(m, TermMention)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("인공신경망(Artificial Neural Network)을", [("인공신경망", "Artificial Neural Network")]),
        ("인공신경망 (ANN)을", [("인공신경망", "ANN")]),
        ("신경망(Neural Network; NN)", [("신경망", "Neural Network"), ("신경망", "NN")]),
        ("신경망(NN, Neural Network)", [("신경망", "Neural Network"), ("신경망", "NN")]),
        ("전이학습（transfer learning）은", [("전이학습", "transfer learning")]),
        ("ANN(인공신경망)은", [("인공신경망", "ANN")]),
        ("of the ANN(인공신경망)은", [("인공신경망", "ANN")]),
        ("Artificial Neural Network(인공신경망)", [("인공신경망", "Artificial Neural Network")]),
        ("OCR(Optical Character Recognition, 광학 문자 인식)", [
            ("광학 문자 인식", "Optical Character Recognition"), ("광학 문자 인식", "OCR"),
        ]),
        ("‘순환 신경망’(recurrent neural network)", [("순환 신경망", "recurrent neural network")]),
        ("뇌-컴퓨터 인터페이스(brain-computer interface)", [("뇌-컴퓨터 인터페이스", "brain-computer interface")]),
        ("우유(milk), 치즈(cheese)", [("우유", "milk"), ("치즈", "cheese")]),
    ],
)  # fmt: skip
def test_parenthetical_translations_are_found(text: str, pairs: list[tuple[str, str]]) -> None:
    assert _pairs(text) == pairs


@pytest.mark.parametrize(
    "text",
    [
        "보고되었다 (Kim et al., 2020).",
        "보고되었다(Kim, 2020; Lee, 2021).",
        "무게는 30이다(kg).",
        "유의하였다(p<0.05).",
        "실험군(n=30)과",
        "과일(apple, pear, plum)을",
        "과일(apple, pear)을",
        "예시(e.g. apple)는",
        "그림에서(Fig. 2)",
        "두 집단(A, B)은",
        "닫히지 않은 괄호(Artificial Neural",
        "열리지 않은 괄호 Network)를",
        "빈 괄호()와 (  )와",
        "주소(https://example.org)는",
        "설명은 다음과 같다(이는 매우 긴 설명으로서 이름이 아니라 문장이며 다섯 낱말보다 훨씬 더 길다).",
        "(Artificial Neural Network)",
        "in the network(인공신경망)은",  # a word that begins like a sentence, and no acronym
        "in units of MHZ(메가헤르츠)",
    ],
)
def test_other_parentheticals_are_skipped(text: str) -> None:
    assert _pairs(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "신경망(CNZ, convolutional neural)은",  # no z in the phrase
        "울음(CT, cat meow)은",  # half of the initials alone
        "연결망(NC, convolutional neural)은",  # begins with another letter
    ],
)
def test_two_names_of_which_neither_is_the_acronym_of_the_other_are_skipped(text: str) -> None:
    assert list(find_mentions(text)) == []


def test_a_korean_term_has_one_to_five_words() -> None:
    assert _pairs("ANN(가나 다라 마바 사아 자차)") == [("가나 다라 마바 사아 자차", "ANN")]
    assert _pairs("ANN(가나 다라 마바 사아 자차 카타)") == _pairs("ANN(가)") == []


def test_of_nested_brackets_the_inner_one_is_read() -> None:
    assert _pairs("모델(합성곱 신경망(convolutional neural network) 기반)은") == [
        ("합성곱 신경망", "convolutional neural network")
    ]


def test_expansions_are_found_in_english_text() -> None:
    found = list(find_mentions("We train a convolutional neural network (CNN) and random forests (see below)."))
    assert found == [AcronymExpansion("CNN", "convolutional neural network")]
    assert list(find_mentions("the results were good (CNN).")) == []


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("of a neural network (NN)", "neural network"),
        ("many signal to noise ratio (SNR)", "signal to noise ratio"),
        ("one alpha of the beta (AB)", "alpha of the beta"),  # two words more than letters
        ("one alphabet card (ABCD)", "alphabet card"),  # fewer words than letters
        ("one alpha beta carbon xd (ABCD)", "alpha beta carbon xd"),  # one word begins with no letter of it
    ],
)
def test_the_expansion_of_an_acronym_is_the_fewest_words_before_it_that_it_stands_for(text: str, phrase: str) -> None:
    assert list(find_mentions(text)) == [AcronymExpansion(text[text.index("(") + 1 : -1], phrase)]


@pytest.mark.parametrize(
    "text",
    [
        "one alpha of the new beta (AB)",  # three words more than letters
        "one alpha beta xc xd (ABCD)",  # two words begin with no letter of it
        "one network (NN)",
    ],
)
def test_words_that_an_acronym_does_not_stand_for_are_no_expansion(text: str) -> None:
    assert list(find_mentions(text)) == []


@given(st.text(alphabet=st.sampled_from("가나다 ()（）[]ABab.,;:-'\"‘’=<>1\n"), max_size=120))
def test_any_text_is_accepted(text: str) -> None:
    for found in find_mentions(text):
        if isinstance(found, TermMention):
            assert found.korean
            assert found.english.isascii()


def test_brackets_in_great_number_take_little_time() -> None:
    assert list(find_mentions("(" * 100_000 + ")" * 100_000)) == []
    assert list(find_mentions("(가 " * 50_000)) == []


@pytest.mark.parametrize(
    ("text", "is_term"),
    [
        ("type 2 diabetes", True),
        ("omega 3", True),
        ("boeing 747", True),
        ("vitamin 2000", False),
        ("a model", False),
        ("model of", False),
        ("kwh", False),
        ("x", False),
        ("one two three four five six", True),
        ("one two three four five six seven", False),
    ],
)
def test_an_english_term_has_one_to_six_words_and_no_long_number(text: str, is_term: bool) -> None:
    assert is_english_term(text) is is_term
