"""Sub-questions and their answers in the prompt of the final answer.

The prompt shows them as notes, and the records that the answers rest on as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.extractive import EVIDENCE
from shrag.serving.llm.structured_call import LONGEST_TEXT, remove_fence_marks
from shrag.serving.request import AnswerLanguage

LONGEST_EVIDENCE = EVIDENCE * LONGEST_TEXT
"""Most characters of all records of a prompt, if it has more than :data:`EVIDENCE` records.

That is what :data:`EVIDENCE` records can take at most, so that the context that ``shrag plan`` counts on is enough.
"""

LONGEST_NOTES = 4_000
"""Most characters of the notes; further sub-questions are left out."""

_NOTE = {
    "ko": "하위 질문 {number}: {question}\n답변: {answer}",
    "en": "Sub-question {number}: {question}\nAnswer: {answer}",
}
_NOT_FOUND = {"ko": "찾지 못했다.", "en": "not found."}
_CITATION = re.compile(r"\s*\[\d+\]")


class AnsweredQuestion(NamedTuple):
    """A sub-question, its answer (empty if none was found), and the docid of the record that the answer rests on."""

    question: str
    answer: str
    docid: str


def choose_evidence(ranked: Sequence[AnalyzedRecord], answered: Sequence[AnsweredQuestion]) -> list[AnalyzedRecord]:
    """Return the records of the final prompt, in the order of the ranking.

    They are the best record, the records that the answers rest on, and the next best ones up to :data:`EVIDENCE`
    records in all. If the answers rest on more records, :data:`LONGEST_EVIDENCE` limits these.
    """
    sources = {each.docid for each in answered if each.answer}
    wanted = [*ranked[:1], *(each for each in ranked[1:] if each.record.docid in sources)]
    wanted += [each for each in ranked if each not in wanted][: max(0, EVIDENCE - len(wanted))]
    chosen: list[AnalyzedRecord] = []
    length = 0
    for each in wanted:
        length += min(len(each.record.text), LONGEST_TEXT)
        if len(chosen) < EVIDENCE or length <= LONGEST_EVIDENCE:
            chosen.append(each)
    docids = {each.record.docid for each in chosen}
    return [each for each in ranked if each.record.docid in docids]


def answered_text(
    answered: Sequence[AnsweredQuestion], evidence: Sequence[AnalyzedRecord], language: AnswerLanguage
) -> str:
    r"""Return the sub-questions with their answers as a prompt shows them; empty if none was answered.

    The number behind an answer is the position of its record in ``evidence``, counted from 1. Citations inside an
    answer refer to other records and are removed.

    >>> known, unknown = AnsweredQuestion("How heavy?", "Two tons [3].", ""), AnsweredQuestion("How old?", "", "")
    >>> answered_text([known, unknown], [], "en")
    'Sub-question 1: How heavy?\nAnswer: Two tons.\n\nSub-question 2: How old?\nAnswer: not found.'
    """
    if not any(each.answer for each in answered):
        return ""
    numbers = {each.record.docid: f" [{number}]" for number, each in enumerate(evidence, 1)}
    notes: list[str] = []
    for number, each in enumerate(answered, 1):
        text = _CITATION.sub("", each.answer)
        answer = text + numbers.get(each.docid, "") if text else _NOT_FOUND[language]
        notes.append(_NOTE[language].format(number=number, question=each.question, answer=answer))
        if sum(map(len, notes)) > LONGEST_NOTES:
            notes.pop()
            break
    return remove_fence_marks("\n\n".join(notes))
