from __future__ import annotations

import pytest

from shrag.evaluation.measures.answer_form import AnswerForm, answer_form
from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine
from shrag.serving.events import AnswerPart

KOREAN = "##제목##\n그래핀 차폐\n\n##서론##\n그래핀은 얇다.\n\n##본론##\n차폐 효율이 높다. [1]"
ENGLISH = "##Graphene shields##\n\n##Introduction##\nIt is thin.\n\n##Main Body##\nIt shields well."
FULL: tuple[AnswerPart, ...] = ("title", "introduction", "body", "conclusion")


@pytest.mark.parametrize(("text", "language"), [(KOREAN, "ko"), (ENGLISH, "en")])
def test_an_answer_with_its_sections_in_the_language_asked_for_is_correct(text: str, language: str) -> None:
    form = answer_form(text, "ko" if language == "ko" else "en")
    assert form == AnswerForm((), ordered=True, language=True, signs=0)
    assert form.correct


def test_sections_that_lack_or_are_empty_are_named() -> None:
    assert answer_form(KOREAN, "ko", FULL).missing == ("conclusion",)
    assert answer_form(KOREAN.replace("그래핀은 얇다.", ""), "ko").missing == ("introduction",)
    assert answer_form("그래핀은 얇다.", "ko") == AnswerForm(("title", "introduction", "body"), True, True, 0)
    assert answer_form("", "ko") == AnswerForm(("title", "introduction", "body"), True, False, 0)


def test_sections_out_of_order_or_given_twice_are_no_order() -> None:
    assert not answer_form("##제목##\n가\n##본론##\n나\n##서론##\n다", "ko").ordered
    assert not answer_form("##제목##\n가\n##서론##\n나\n##서론##\n다\n##본론##\n라", "ko").ordered


def test_the_other_language_is_seen_whatever_the_headings_say() -> None:
    assert not answer_form(
        KOREAN.replace("그래핀은 얇다.", "It is thin.").replace("차폐 효율이 높다.", "It is."), "ko"
    ).language
    assert answer_form(ENGLISH, "ko") == AnswerForm(("introduction", "body"), True, False, 0)


def test_signs_that_the_challenge_forbids_are_counted() -> None:
    assert answer_form(ENGLISH + "\n- *one*", "en").signs == 3


@pytest.mark.parametrize(
    "question", ["그래핀 필름의 전자파 차폐 효율은?", "Do single-crystal cathode particles crack less at high voltage?"]
)
def test_what_the_system_writes_is_correct(demo: Engine, question: str) -> None:
    answer = demo.ask(question).answer
    assert answer.reason == ""
    assert answer_form(answer_text(answer, "scienceon"), answer.language, FULL) == AnswerForm((), True, True, 0)


def test_an_extractive_answer_from_records_in_the_other_language_is_not_in_the_language_asked_for(demo: Engine) -> None:
    answer = demo.ask(
        "How does eDNA metabarcoding compare with net sampling for detecting rare freshwater fish in rivers?"
    ).answer
    assert answer.quoted_language == "ko"
    assert answer_form(answer_text(answer, "scienceon"), "en") == AnswerForm((), ordered=True, language=False, signs=0)
