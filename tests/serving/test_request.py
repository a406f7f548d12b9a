from __future__ import annotations

import unicodedata

import pytest

from shrag.serving.errors import QuestionError
from shrag.serving.request import Question, parse_question, parse_request


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
