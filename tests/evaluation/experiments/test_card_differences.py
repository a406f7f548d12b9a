"""The differences between two values of a run card, and how they are said; no index is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import QuestionsIdentity, check_identity, differences
from shrag.messages.text import in_language, message_of


class _Value(msgspec.Struct, frozen=True):
    """Any value of a card."""

    text: str = ""
    sets: dict[str, QuestionsIdentity] = {}
    numbers: tuple[int, ...] = ()


def test_each_difference_has_its_path_and_both_values() -> None:
    stored = _Value("a" * 38, {"x": QuestionsIdentity("d", 5, 1, 0), "y": QuestionsIdentity("d", 2, 0, 0)}, (1, 2, 3))
    expected = _Value("a" * 39, {"x": QuestionsIdentity("d", 5, 2, 3)}, (1, 4, 3))
    assert differences(stored, stored) == []
    assert differences(stored, expected) == [
        "numbers[1] was 2 and is 4",
        "sets.x.missing_topics was 0 and is 3",
        "sets.x.unjudged_topics was 1 and is 2",
        'sets.y was {"digest":"d","topics":2,"unjudged_to… and is null',
        # 40 characters, with both quotes, are written whole; of 41 there are 37.
        f'text was "{"a" * 38}" and is "{"a" * 36}…',
    ]
    assert differences(_Value(numbers=(1, 2)), _Value(numbers=(1,))) == ["numbers was [1,2] and is [1]"]


def test_the_first_difference_is_said_with_the_number_of_the_others_in_both_languages() -> None:
    stored: Any = _Value("a", numbers=(1,))
    expected: Any = _Value("b", numbers=(2,))
    check_identity(Path("out"), stored, stored)
    with pytest.raises(ResultsMismatch, match=r"\(numbers\[0\] was 1 and is 2 and 1 more\): resume it") as raised:
        check_identity(Path("out"), stored, expected)
    assert "numbers[0]: 이전 1, 현재 2" in in_language(message_of(raised.value), "ko")
    other: Any = _Value("b", numbers=(1,))
    with pytest.raises(ResultsMismatch, match=r'configuration \(text was "a" and is "b"\): resume it as'):
        check_identity(Path("out"), stored, other)
