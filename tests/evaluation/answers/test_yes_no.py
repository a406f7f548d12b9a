from __future__ import annotations

import doctest

import pytest

from shrag.evaluation.answers import yes_no
from shrag.evaluation.answers.yes_no import read_yes_no, yes_no_accuracy


def test_its_examples_hold() -> None:
    assert doctest.testmod(yes_no).failed == 0


@pytest.mark.parametrize("answer", ["Yes", "yes.", "네, 맞습니다", "예", "그렇다.", "맞다", "TRUE", "참"])
def test_yes_is_read_from_the_first_word(answer: str) -> None:
    assert read_yes_no(answer) is True


@pytest.mark.parametrize("answer", ["No", "no, yes", "아니요.", "아니오", "아닙니다", "False", "거짓", "그렇지 않다."])
def test_no_is_read_from_the_first_word(answer: str) -> None:
    assert read_yes_no(answer) is False


@pytest.mark.parametrize("answer", ["", "Nobody knows", "yesterday", "예측은 어렵다", "참고 문헌", "maybe yes"])
def test_other_words_are_neither_and_never_right(answer: str) -> None:
    assert read_yes_no(answer) is None
    assert yes_no_accuracy(answer, True) == yes_no_accuracy(answer, False) == 0.0


def test_the_right_one_scores_one() -> None:
    assert (yes_no_accuracy("예", True), yes_no_accuracy("예", False)) == (1.0, 0.0)
    assert (yes_no_accuracy("No.", True), yes_no_accuracy("No.", False)) == (0.0, 1.0)
