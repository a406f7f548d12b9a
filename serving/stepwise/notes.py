"""What was worked out so far, as a language model is told it: each step with what came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.serving.evidence_text import unfenced
from shrag.serving.question import AnswerLanguage

_STEP = {"ko": "단계 {number}: {question}\n풀이: {solution}", "en": "Step {number}: {question}\nSolution: {solution}"}
_UNSETTLED = {"ko": "풀지 못했다.", "en": "not settled."}
_PRINCIPLE = {"ko": "원리: {principle}\n", "en": "Principle: {principle}\n"}


class Worked(NamedTuple):
    """A step that was worked on; ``solution`` is empty where nothing came out of it."""

    question: str
    solution: str
    principle: str = ""


def notes_text(worked: Sequence[Worked], language: AnswerLanguage) -> str:
    r"""Return the steps, numbered from 1, without what could pass for a record's fence; empty for none.

    >>> notes_text([Worked("How heavy?", "Two tons."), Worked("How fast?", "")], "en")
    'Step 1: How heavy?\nSolution: Two tons.\n\nStep 2: How fast?\nSolution: not settled.'
    """
    return unfenced(
        "\n\n".join(
            (_PRINCIPLE[language].format(principle=each.principle) if each.principle else "")
            + _STEP[language].format(
                number=number, question=each.question, solution=each.solution or _UNSETTLED[language]
            )
            for number, each in enumerate(worked, 1)
        )
    )
