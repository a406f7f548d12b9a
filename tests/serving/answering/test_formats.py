from __future__ import annotations

import pytest

from shrag.serving.answering.formats import AnswerFormat, answer_text
from shrag.serving.events import Answer, Section, Sentence

SECTIONS = (
    Section("title", (Sentence("GPT-4 and *milk*", ()),)),
    Section("body", (Sentence("It costs -5 to 7.", (1, 2)), Sentence("Well-known.", (3,)))),
)
ENGLISH = Answer("generated", "en", SECTIONS, ())
KOREAN = Answer("generated", "ko", SECTIONS, ())
HYPHEN = "\N{NON-BREAKING HYPHEN}"


@pytest.mark.parametrize(
    ("answer", "form", "text"),
    [
        (ENGLISH, "cited", "##Title##\nGPT-4 and *milk*\n\n##Main Body##\nIt costs -5 to 7. [1][2] Well-known. [3]"),
        (ENGLISH, "plain", "GPT-4 and *milk*\n\nIt costs -5 to 7. Well-known."),
        (
            ENGLISH,
            "scienceon",
            f"##GPT{HYPHEN}4 and milk##\n\n##Main Body##\nIt costs {HYPHEN}5 to 7. Well{HYPHEN}known.",
        ),
        (
            KOREAN,
            "scienceon",
            f"##제목##\nGPT{HYPHEN}4 and milk\n\n##본론##\nIt costs {HYPHEN}5 to 7. Well{HYPHEN}known.",
        ),
    ],
)
def test_each_format_has_its_form(answer: Answer, form: AnswerFormat, text: str) -> None:
    assert answer_text(answer, form) == text


def test_a_reason_is_the_same_in_every_format() -> None:
    nothing = Answer("extractive", "en", (), (), "nothing_found")
    forms: tuple[AnswerFormat, ...] = ("cited", "scienceon", "plain")
    assert {answer_text(nothing, form) for form in forms} == {
        "No record was found that can support an answer (one with a title and an abstract)."
    }
