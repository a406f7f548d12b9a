"""Answers to questions that ask for yes or no."""

from __future__ import annotations

from shrag.evaluation.answers.normalisation import normalise

_YES = ("yes", "true", "correct", "예", "네", "그렇다", "그렇습니다", "맞다", "맞습니다", "참", "참이다")
_NO = (
    *("no", "false", "incorrect", "아니요", "아니오", "아니다", "아닙니다", "아뇨", "그렇지", "틀리다", "틀렸다"),
    *("틀립니다", "거짓", "거짓이다"),
)


def read_yes_no(answer: str) -> bool | None:
    """Return what an answer's first word says, None where that is neither yes nor no.

    >>> read_yes_no("예, 그렇습니다."), read_yes_no("No. It does not."), read_yes_no("Perhaps")
    (True, False, None)
    """
    first = next(iter(normalise(answer).split()), "")
    return True if first in _YES else False if first in _NO else None


def yes_no_accuracy(answer: str, reference: bool) -> float:
    """Return 1 where the answer begins with the right one of yes and no; 0 for the wrong one and for neither."""
    return float(read_yes_no(answer) is reference)
