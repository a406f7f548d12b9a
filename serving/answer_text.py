"""An answer as plain text, in one of three formats.

cited       headings between double hash marks, each sentence with the numbers of its records
scienceon   the form the ScienceON AI Challenge asked for (the SHRAG paper, A.2): its headings, an English title
            inside the marks, no numbers, no ``*`` and no ``-``
plain       the sentences of each part as a paragraph, and nothing else
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from shrag.serving.events import Answer, Section, Sentence
from shrag.serving.phrases import HEADINGS, REASONS

AnswerFormat = Literal["cited", "scienceon", "plain"]

# A word keeps its hyphen in a form that nobody takes for a list's dash.
_NO_SIGNS = str.maketrans({"*": "", "-": "\N{NON-BREAKING HYPHEN}"})


def answer_text(answer: Answer, form: AnswerFormat = "cited") -> str:
    """Return the answer as it is printed and sent; where it has a reason instead of sections, the reason's sentence."""
    if answer.reason:
        return REASONS[answer.language][answer.reason]
    return "\n\n".join(_FORMATS[form](section, answer) for section in answer.sections)


def _cited(section: Section, answer: Answer) -> str:
    heading = HEADINGS[answer.language][section.part]
    return f"##{heading}##\n" + " ".join(_marked(sentence) for sentence in section.sentences)


def _scienceon(section: Section, answer: Answer) -> str:
    text = _plain(section, answer).translate(_NO_SIGNS)
    if section.part == "title" and answer.language == "en":
        return f"##{text}##"
    return f"##{HEADINGS[answer.language][section.part]}##\n{text}"


def _plain(section: Section, _: Answer) -> str:
    return " ".join(sentence.text for sentence in section.sentences)


_FORMATS: Mapping[AnswerFormat, Callable[[Section, Answer], str]] = {
    "cited": _cited,
    "scienceon": _scienceon,
    "plain": _plain,
}


def _marked(sentence: Sentence) -> str:
    marks = "".join(f"[{number}]" for number in sentence.citations)
    return f"{sentence.text} {marks}" if marks else sentence.text
