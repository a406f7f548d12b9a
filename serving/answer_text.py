"""An answer as plain text: headings between double hash marks, each sentence with its numbers."""

from __future__ import annotations

from shrag.serving.events import Answer, Sentence
from shrag.serving.phrases import HEADINGS, REASONS


def answer_text(answer: Answer) -> str:
    """Return the answer as it is printed and sent; where it has a reason instead of sections, the reason's sentence."""
    if answer.reason:
        return REASONS[answer.language][answer.reason]
    headings = HEADINGS[answer.language]
    return "\n\n".join(
        f"##{headings[section.part]}##\n" + " ".join(_marked(sentence) for sentence in section.sentences)
        for section in answer.sections
    )


def _marked(sentence: Sentence) -> str:
    marks = "".join(f"[{number}]" for number in sentence.citations)
    return f"{sentence.text} {marks}" if marks else sentence.text
