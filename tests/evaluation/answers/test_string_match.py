from __future__ import annotations

import pytest

from shrag.evaluation.answers.string_match import string_match


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
    ],
)
def test_a_short_answer_stands_where_nothing_of_its_own_kind_goes_on(answer: str, short: str, stands: bool) -> None:
    assert string_match(answer, [short]) == float(stands)


def test_one_of_several_wordings_is_enough_and_none_is_nothing() -> None:
    assert string_match("forty discharges", ["40", "forty"]) == 1.0
    assert string_match("forty discharges", []) == 0.0
