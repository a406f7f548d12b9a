from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import analyze_record
from shrag.models.language_model import Completion, Message
from shrag.serving.answering.formats import choice_line
from shrag.serving.answering.multiple_choice import choices_text, choose_by_model, choose_by_words
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError, UnusableOutput
from shrag.serving.events import Answer
from shrag.serving.request import LETTERS, parse_question
from tests.support.scripted_models import ScriptedModel

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


def _choose(demo: Engine, question: str, choices: list[str], text: str) -> str:
    record = Record("A", "", text, "en", complete=True)
    evidence = [analyze_record(record, demo.open_index.analyzer)]
    return choose_by_words(parse_question(question, choices), evidence, demo.open_index)


def test_without_a_model_a_choice_needs_the_questions_words_in_its_sentence(demo: Engine) -> None:
    question = "onion price forecast network weeks"
    choices = ["groundwater", "photosynthesis and boosting"]
    assert _choose(demo, question, choices, "Groundwater is deep. Photosynthesis of the onion.") == "B"
    assert _choose(demo, question, choices, "Groundwater of the onion. Photosynthesis of the onion.") == "A"


def test_without_a_model_none_of_two_equal_choices_is_chosen(demo: Engine) -> None:
    question, choices = "onion price", ["groundwater", "photosynthesis"]
    assert _choose(demo, question, choices, "Groundwater and onion. Onion and photosynthesis.") == ""
    assert _choose(demo, question, choices, "Groundwater is deep.") == ""
    assert _choose(demo, question, choices, "Groundwater and onion price. Onion and photosynthesis.") == "A"


class _Chooser(ScriptedModel):
    """Chooses as it is told to, and keeps how many tokens it may write."""

    def __init__(self, choice: str, reasoning: str = "So.") -> None:
        super().__init__(english=json.dumps({"reasoning": reasoning, "choice": choice}))
        self.most: list[int] = []

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.most.append(max_tokens)
        return super().complete(messages, schema, max_tokens=max_tokens, urgent=urgent)


THREE = parse_question("How high are the waves?", ["two metres", "ten", "twelve"])


@pytest.mark.parametrize(("written", "letter"), [("A", "A"), ("C", "C"), ("B\n", "B")])
def test_a_model_chooses_one_of_the_letters(written: str, letter: str) -> None:
    model = _Chooser(written, "a" * 1_500)
    records = [Record("W", "Waves", "They are high.", "en", complete=True)]
    assert choose_by_model(THREE, records, "Step 1: High?", model)[0] == letter
    assert model.most == [768]
    asked = model.asked[0][-1].content
    for shown in ("They are high.", "Step 1: High?", "A. two metres\nB. ten\nC. twelve"):
        assert shown in asked


@pytest.mark.parametrize(("written", "reasoning"), [("D", "So."), ("AB", "So."), ("", "So."), ("A", "a" * 1_501)])
def test_another_letter_or_too_long_a_reasoning_is_no_choice(written: str, reasoning: str) -> None:
    with pytest.raises(UnusableOutput):
        choose_by_model(THREE, [], "", _Chooser(written, reasoning))
