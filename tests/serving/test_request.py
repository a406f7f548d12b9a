from __future__ import annotations

import unicodedata
from functools import partial
from typing import Any

import pytest

from shrag.messages.text import in_language, message_of
from shrag.serving.errors import QuestionError
from shrag.serving.request import (
    Question,
    Turn,
    deepest_rank,
    parse_filter,
    parse_history,
    parse_question,
    parse_request,
    shows_language,
)
from shrag.serving.search_settings import SearchSettings


@pytest.mark.parametrize(
    ("raw", "question"),
    [
        ("  그래핀이란?\n", Question("그래핀이란?", "ko")),
        ("What is\tgraphene?", Question("What is graphene?", "en")),
        ("GPT-4로 할 수 있나?", Question("GPT-4로 할 수 있나?", "ko")),
        ("<script>alert(1)</script>", Question("<script>alert(1)</script>", "en")),
        ("a\u202eb\x00c", Question("ab c", "en")),
        ("???", Question("???", "en")),
        (unicodedata.normalize("NFD", "검색"), Question("검색", "ko")),
        ("가" * 2000, Question("가" * 2000, "ko")),
    ],
)
def test_a_question_is_one_clean_line_in_a_language(raw: str, question: Question) -> None:
    assert parse_question(raw) == question


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("graphene film 차폐", "ko"),  # a third of the words
        ("graphene film shield 차폐", "en"),
        ("graphene 차폐", "ko"),
        ("transformer electromagnetic 폭", "ko"),
    ],
)
def test_a_question_of_which_a_third_of_the_words_are_korean_is_korean(question: str, language: str) -> None:
    assert parse_question(question).language == language


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("learn", True),
        ("lear", False),
        ("lear it", True),
        ("IS IT", True),
        ("LTE LSTM", False),
        ("Deep", False),
        ("(learn?)", True),
        ("l34rn1", False),
        ("차폐", True),
    ],
)
def test_the_language_shows_in_lower_case_words_and_question_words(question: str, shown: bool) -> None:
    assert shows_language(question) == shown


def test_k_is_from_1_to_1000_and_an_offset_ends_with_the_tenth_page_or_rank_1000() -> None:
    for k in (0, 1_001):
        with pytest.raises(QuestionError, match=f"k must be from 1 to 1000, got {k}") as refused:
            parse_request("?", answered=False, k=k)
        assert refused.value.code == "k_out_of_range"
    assert [parse_request("?", answered=False, k=k).k for k in (1, 1_000)] == [1, 1_000]
    for k, largest in ((1, 9), (10, 90), (101, 899), (500, 500), (1_000, 0)):
        request = parse_request("?", answered=True, k=k, offset=largest)
        assert (request.last_rank, deepest_rank(k)) == (k + largest, k + largest)
        assert request.wants_answer == (largest == 0)
        for offset in (-1, largest + 1):
            with pytest.raises(QuestionError, match=f"from 0 to {largest} where k is {k}, got {offset}") as refused:
                parse_request("?", answered=False, k=k, offset=offset)
            assert refused.value.code == "offset_out_of_range"


def test_the_last_fifty_turns_are_read_as_lines_of_at_most_2000_characters() -> None:
    turns = [Turn(f"q{number}", f"a{number}") for number in range(51)]
    assert parse_history(turns) == tuple(turns[1:])
    assert parse_history([Turn("x" * 2_001, "y" * 2_001)]) == (Turn("x" * 2_000, "y" * 2_000),)
    assert parse_history([Turn(" \n", "lost"), Turn("a\n b", "c\td"), Turn("alone")]) == (
        Turn("a b", "c d"),
        Turn("alone", ""),
    )
    assert parse_history([]) == ()


def test_an_order_of_keywords_beside_the_settings_takes_precedence() -> None:
    settings = SearchSettings(keyword_order="model")
    ask = partial(parse_request, "?", answered=False, settings=settings)
    assert [ask(keyword_order=order).settings.keyword_order for order in (None, "tfidf", "model", "entropy")] == [
        "model",
        "tfidf",
        "model",
        "entropy",
    ]


@pytest.mark.parametrize("raw", ["", "   ", "\n\t", "\u200b\u202e", "\x00"])
def test_an_empty_question_is_refused(raw: str) -> None:
    with pytest.raises(QuestionError, match="The question is empty: write one") as refused:
        parse_question(raw)
    assert refused.value.code == "question_empty"


def test_a_question_of_100_000_characters_is_refused_by_its_length() -> None:
    with pytest.raises(QuestionError, match="has 100000 characters, at most 2000 are read: shorten it") as refused:
        parse_question("가" * 100_000)
    assert refused.value.code == "question_too_long"


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_least_confidence_is_from_0_to_1(value: float) -> None:
    with pytest.raises(QuestionError, match=f"min_confidence must be from 0 to 1, got {value}") as refused:
        parse_request("?", answered=True, min_confidence=value)
    assert refused.value.code == "min_confidence_out_of_range"
    assert [parse_request("?", answered=True, min_confidence=each).min_confidence for each in (None, 0, 1)] == [
        None,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("limits", "english", "korean"),
    [
        (
            {"year_from": 2020, "year_to": 2010},
            "The filter's years end before they begin (2020 to 2010): exchange the two.",
            "필터의 끝 연도가 시작 연도보다 앞섭니다(시작 2020, 끝 2010). 둘을 서로 바꿔 주세요.",
        ),
        (
            {"year_to": 10_000},
            "The filter's year_to is 10000: use a year from 0 to 9999.",
            "필터 year_to의 값이 10000입니다. 0 이상 9999 이하의 연도를 써 주세요.",
        ),
        (
            {"language": "fr"},
            "The filter's language is 'fr': use ko, en or und.",
            "필터의 언어가 'fr'입니다. ko, en, und 가운데 하나를 써 주세요.",
        ),
        (
            {"jurnal": "x"},
            "The filter has no field 'jurnal': use year_from, year_to, language, journal, type, author.",
            "'jurnal': 필터에 없는 항목입니다. "
            "사용할 수 있는 항목: year_from, year_to, language, journal, type, author.",
        ),
        (
            {"journal": 3},
            "The filter's journal is 3: use a text or a list of texts.",
            "필터 journal의 값이 3입니다. 문자열이나 문자열 목록을 써 주세요.",
        ),
        (
            {"author": [str(number) for number in range(51)]},
            "The filter has 51 values of author, at most 50 are read: leave some out.",
            "필터 author에 값이 51개 있습니다. 50개까지 쓸 수 있으니 일부를 빼 주세요.",
        ),
        (
            {"type": [" "]},
            "A value of the filter's type is empty: write it, or leave it out.",
            "필터 type에 빈 값이 있습니다. 값을 쓰거나 빼 주세요.",
        ),
        (
            {"type": "x" * 201},
            "A value of the filter's type has 201 characters, at most 200 are compared: shorten it.",
            "필터 type에 201자인 값이 있습니다. 200자까지 비교하니 줄여 주세요.",
        ),
    ],
)
def test_what_is_wrong_with_a_filter_is_said_in_both_languages(
    limits: dict[str, Any], english: str, korean: str
) -> None:
    with pytest.raises(QuestionError) as refused:
        parse_filter(limits)
    message = message_of(refused.value)
    assert (refused.value.code, str(message), in_language(message, "ko")) == ("filter_invalid", english, korean)
    parse_filter({"author": ["x" * 200] * 50, "year_from": 0, "year_to": 9_999, "language": ["KO", "en", "und"]})
