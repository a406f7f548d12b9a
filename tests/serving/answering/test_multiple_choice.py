from __future__ import annotations

import pytest

from shrag.serving.answering.formats import choice_line
from shrag.serving.answering.multiple_choice import choices_text
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.events import Answer
from shrag.serving.request import LETTERS, parse_question

# Written out, so that a change of the module's own is noticed.
LONGEST_CHOICE = 500


def test_choices_are_plain_lines() -> None:
    assert parse_question("?").choices == ()
    assert parse_question("?", [" a\n b ", "c\u202e"]).choices == ("a b", "c")
    assert len(parse_question("?", [str(number) for number in range(10)]).choices) == len(LETTERS) == 10
    assert choices_text((), "ko") == ""


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (["one"], "from 2 to 10 choices or none, got 1"),
        ([str(number) for number in range(11)], "got 11"),
        (["a", " \u200b "], "Choice B is empty"),
        (["a", "b", "a "], "Choice C is the same as choice A"),
        (["a", "b" * (LONGEST_CHOICE + 1)], "Choice B has 501 characters, at most 500"),
    ],
)
def test_invalid_choices_are_rejected_by_letter(demo: Engine, raw: list[str], says: str) -> None:
    for ask in (demo.ask, demo.search, demo.events):
        with pytest.raises(QuestionError, match=says) as caught:
            ask("What is it?", choices=raw)
        assert caught.value.code == "choices_invalid"


def test_without_a_model_the_choice_shares_most_words_with_the_answer(demo: Engine) -> None:
    question = "At four weeks, how large was the error of the LSTM network for onion prices?"
    choices = ["groundwater", "boosting", "photosynthesis"]
    answer = demo.ask(question, choices=choices).answer
    assert answer.choice == "B"
    assert choice_line(answer, choices) == "Answer: B. boosting"
    assert demo.ask(question, choices=choices[::-1]).answer.choice == "B"
    assert demo.ask(question, choices=choices[1::-1]).answer.choice == "A"
    assert demo.ask(question).answer.choice == ""


def test_without_a_model_none_is_chosen_where_a_choice_has_no_own_word(demo: Engine) -> None:
    question = "How well does LSTM forecast onion prices?"
    others = ("seasonal ARIMA", "no", "onion forecasts")
    assert [demo.ask(question, choices=["7.8%", other]).answer.choice for other in others] == ["B", "", ""]


def test_choices_are_part_of_the_question(demo: Engine) -> None:
    one = demo.search("What is it?", choices=["yes", "no"]).question
    assert one.choices == ("yes", "no")
    assert one != demo.search("What is it?").question


def test_a_choice_that_no_record_supports_says_so() -> None:
    closed_book = Answer("closed_book", "ko", (), (), choice="A")
    assert choice_line(closed_book, ["예", "아니오"]) == "선택한 답변: A. 예 (근거 문헌이 없습니다)"
    refused = Answer("generated", "en", (), (), "nothing_fits", choice="B")
    assert choice_line(refused, ["yes", "no"]) == "Answer: B. no (no record supports this)"
    assert choice_line(Answer("extractive", "en", (), ()), ["yes", "no"]) == "No choice could be selected."
