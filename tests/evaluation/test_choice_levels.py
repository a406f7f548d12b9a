from __future__ import annotations

from shrag.evaluation.choice_levels import ChoiceLevels, choice_levels
from shrag.evaluation.references import Reference


def _asked(letter: str, count: int) -> Reference:
    return Reference("q", choices=tuple(map(str, range(count))), choice=letter)


def test_a_draw_is_worth_the_mean_over_the_questions_and_a_letter_its_share() -> None:
    asked = [_asked("A", 2), _asked("B", 4), _asked("B", 4), Reference("no choices", answers=("x",))]
    assert choice_levels(asked) == ChoiceLevels((1 / 2 + 2 / 4) / 3, 2 / 3, "B")


def test_of_letters_that_are_right_as_often_the_first_is_named() -> None:
    assert choice_levels([_asked("C", 4), _asked("B", 4)]) == ChoiceLevels(0.25, 0.5, "B")


def test_without_choices_there_is_no_level() -> None:
    assert choice_levels([]) is None
    assert choice_levels([Reference("q", answers=("x",))]) is None
