"""Tests of recognising questions that ask for a definition, and sentences that are one."""

from __future__ import annotations

import time

import pytest

from shrag.indexing.translation.query_translation import Translation
from shrag.serving.answering.definitions import asks_for_definition, defined_names, defines, defines_plainly
from shrag.serving.retrieval.query_terms import QueryTerm


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is federated learning?", "federated learning"),
        ("What are GANs", "GANs"),
        ("Define a blockchain", "blockchain"),
        ("definition of big data", "big data"),
        ("What does XAI mean?", "XAI"),
        ("딥페이크란?", "딥페이크"),
        ("인공지능 윤리란 무엇입니까?", "인공지능 윤리"),
        ("연합학습은 무엇인가", "연합학습"),
        ("블록체인이 뭐야?", "블록체인"),
        ("빅데이터의 개념을 설명해 주세요", "빅데이터"),
        ("강화학습의 정의", "강화학습"),
        ("What's a GAN?", "GAN"),
        ("What’s the blockchain?", "blockchain"),
        ("What is meant by transfer learning?", "transfer learning"),
        ("the meaning of entropy", "entropy"),
        ("What is the concept of trust?", "trust"),
        ("What's the definition of big data?", "big data"),
        ("Blockchain definition", "Blockchain"),
        ("강화학습이라는 것은 무엇인가요?", "강화학습"),
        ("블록체인은 무슨 뜻인가요?", "블록체인"),
        ("메타버스란 어떤 것인가요?", "메타버스"),
        ("메타버스가 뭔가요?", "메타버스"),
        ("엔트로피의 의미는?", "엔트로피"),
        ("엔트로피 뜻 알려 줘", "엔트로피"),
        ("엔트로피라는 개념을 말해 줘", "엔트로피"),
        ("Explain transfer learning", "transfer learning"),
        ("Please explain the concept of entropy.", "entropy"),
        ("Can you tell me about blockchain?", "blockchain"),
        ("블록체인에 대해 쉽게 설명해 주세요", "블록체인"),
        ("강화학습을 소개해 줘", "강화학습"),
    ],
)
def test_a_question_what_something_is_asks_for_its_definition(question: str, name: str) -> None:
    assert name in defined_names(question, [])


@pytest.mark.parametrize(
    "question",
    [
        "How do GANs work?",
        "What methods exist for federated learning?",
        "What is known about the effects of sleep on the memory of older adults?",
        "딥페이크를 어떻게 탐지하는가?",
        "딥페이크 탐지 성능은 얼마인가?",
        "인공지능은 무엇을 할 수 있나?",
        "환경이 무엇에 달려 있나?",
        "",
    ],
)
def test_other_questions_ask_for_none(question: str) -> None:
    assert defined_names(question, []) == ()


def test_a_name_in_parentheses_is_a_name_too() -> None:
    assert {"연합학습", "federated learning"} <= {*defined_names("연합학습(federated learning)이란?", [])}
    assert defined_names("What is explainable AI (XAI)?", []) == ("explainable AI", "XAI")
    assert defined_names("(GAN)", []) == ()


def test_the_translations_of_a_name_that_is_one_word_are_names_too() -> None:
    translations = (Translation("deepfake", ("deepfak",), 1.0),)
    word = QueryTerm("딥페이크", ("딥페이크",), 5.0, 1, keyword=True, known=True, translations=translations)
    other = QueryTerm("윤리", ("윤리",), 5.0, 1, keyword=True, known=True)
    assert defined_names("딥페이크란?", [word]) == ("딥페이크", "deepfake")
    assert defined_names("딥페이크 윤리란?", [word, other]) == ("딥페이크 윤리",)


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Federated learning is the paradigm for training models together.", ["federated learning"]),
        ("Generative adversarial networks (GANs) are a class of models.", ["generative adversarial network"]),
        ("In short, XAI refers to methods that explain a model.", ["XAI"]),
        ("A digital-twin is defined as a copy of a thing.", ["digital twin"]),
        ("인공지능을 이용한 얼굴 합성 기술을 딥페이크라고 하며 누구든지 만들 수 있다.", ["딥페이크"]),
        ("오늘날 딥 러닝(Deep Learning)이란 세부적인 방법을 통칭한다.", ["딥 러닝"]),
        ("메타버스는 가상과 현실이 융합된 세계를 의미한다.", ["메타버스"]),
        ("딥 러닝은 여러 층의 신경망으로 배우는 기술이다.", ["딥러닝"]),
        ("딥러닝은 여러 층의 신경망으로 배우는 기술이다.", ["딥 러닝"]),
        ("GPT 4 is a language model.", ["GPT-4"]),
        ("Deepfakes are a threat.", ["딥페이크", "deepfake"]),
        ("Entropy denotes disorder.", ["entropy"]),
        ("Entropy means disorder.", ["entropy"]),
        ("Entropy can be defined by the states of a system.", ["entropy"]),
        ("Entropy (S), is known as a measure of disorder.", ["entropy"]),
        ("Entropy is understood to be disorder.", ["entropy"]),
        ("Entropy is one of the properties of a system.", ["entropy"]),
        ("Entropy is any measure of disorder.", ["entropy"]),
        ("Classes are an order of things.", ["class"]),
        ("엔트로피라 함은 무질서의 정도이다.", ["엔트로피"]),
        ("무질서의 정도를 '엔트로피'라고 부른다.", ["엔트로피"]),
        ("무질서의 정도를 엔트로피로 정의한다.", ["엔트로피"]),
        ("무질서의 정도는 그것을 “엔트로피”라 칭한 데서 왔다.", ["엔트로피"]),
        ("이것이 불리는 이름은 여럿이며 이를 엔트로피라고 불리게 했다.", ["엔트로피"]),
    ],
)
def test_a_sentence_that_says_what_something_is_defines_it(sentence: str, names: list[str]) -> None:
    assert defines(sentence, names)


@pytest.mark.parametrize(
    ("sentence", "is_plain"),
    [
        ("Deep learning is a kind of machine learning.", True),
        ("The deep learning is defined as learning in layers.", True),
        ("신경망으로 배우는 기술을 딥러닝이라고 한다.", True),
        ("딥러닝은 신경망으로 배우는 기술이다.", True),
        ("Today, deep learning is a kind of machine learning.", False),
        ("Supervised deep learning is a kind of machine learning.", False),
        ("단일 이미지 딥러닝은 신경망으로 배우는 기술이다.", False),
        ("Deep learning is a fast-evolving area.", False),
        ("Deep learning is one of the tools.", False),
        ("딥러닝은 가장 널리 쓰이는 기술이다.", False),
        ("Deep learning is used in hospitals.", False),
    ],
)
def test_a_definition_is_plain_where_it_is_about_nothing_else_and_does_not_praise(
    sentence: str, *, is_plain: bool
) -> None:
    assert defines_plainly(sentence, ["deep learning", "딥러닝"]) is is_plain


@pytest.mark.parametrize(
    "end",
    [
        "정도이다",
        "정도를 말한다",
        "정도를 뜻한다",
        "정도를 가리킨다",
        "정도를 일컫는다",
        "정도를 지칭한다",
        "정도로 정의된다",
    ],
)
def test_a_korean_definition_may_end_in_every_verb_that_defines(end: str) -> None:
    assert defines(f"엔트로피(entropy)는 무질서한 {end}.", ["엔트로피"])
    assert defines(f"확률은 무질서한 {end}", ["확률"])
    assert not defines(f"엔트로피는 무질서한 {end}고 보았다.", ["엔트로피"])


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Federated learning is used in hospitals.", ["federated learning"]),
        ("Deep learning is a class of methods.", ["earning"]),
        ("Learning is a process.", ["federated learning"]),
        ("딥페이크는 최근 늘고 있다.", ["딥페이크"]),
        ("이를 딥페이크에 쓴다.", ["딥페이크"]),
        ("(a+b)* is a pattern", ["(a"]),
        ("", ["x"]),
    ],
)
def test_other_sentences_do_not(sentence: str, names: list[str]) -> None:
    assert not defines(sentence, names)


@pytest.mark.parametrize("text", ["가 " * 5_000 + "무엇x", "a " * 10_000, "은 " * 5_000 + "이다"])
def test_long_questions_and_sentences_take_little_time(text: str) -> None:
    started = time.process_time()
    defined_names(text, [])
    defines(text, ["은", "a"])
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is blockchain?", True),
        ("메타버스란 어떤 것인가요?", True),
        ("블록체인의 정의를 알려줘", True),
        ("블록체인에 대해 알려줘", False),
        ("Explain blockchain", False),
        ("AI 윤리에는 어떤 것들이 있나요?", False),
        ("How is blockchain used?", False),
        ("설명 가능한 인공지능이란?", True),
        ("사회 정의에 대해 알려줘", False),
        ("Explain concept drift", False),
        ("Please tell me about the meaning in life", False),
    ],
)
def test_what_something_is_is_asked_but_not_where_it_is_only_to_be_told_about(question: str, asks: bool) -> None:
    assert asks_for_definition(question) is asks


def test_a_phrase_has_the_translations_that_all_of_its_words_have_as_names() -> None:
    def word(text: str, *translations: str) -> QueryTerm:
        translated = tuple(Translation(each, (each,), 1.0) for each in translations)
        return QueryTerm(text, (text,), 5.0, 1, keyword=True, known=True, translations=translated)

    words = [word("smart", "스마트팩토리", "스마트"), word("factory", "공장", "스마트팩토리")]
    assert defined_names("What is a smart factory?", words) == ("smart factory", "스마트팩토리")
