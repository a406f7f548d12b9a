"""Answers of a language model to sub-questions: a short response, or a span copied from a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.events import ModelCall
from shrag.serving.llm.structured_call import PromptCall, call_model, evidence_values
from shrag.serving.request import Question

LONGEST_RESPONSE = 600
"""Characters of a response."""

LONGEST_SPAN = 200
"""Characters of a span: a name, a number, a clause."""


class SubAnswer(NamedTuple):
    """The answer to a sub-question and the docid of the record that it rests on; either may be empty."""

    text: str
    docid: str


NO_ANSWER = SubAnswer("", "")

RecordNumber = Annotated[int, msgspec.Meta(ge=0, le=50)]
"""The number of a record in a model's reply; 0 for none."""


class _Response(msgspec.Struct, frozen=True):
    answer: Annotated[str, msgspec.Meta(max_length=LONGEST_RESPONSE)]
    record: RecordNumber


class _Span(msgspec.Struct, frozen=True):
    text: Annotated[str, msgspec.Meta(max_length=LONGEST_SPAN)]
    record: RecordNumber


def respond(question: Question, records: Sequence[Record], model: LanguageModel) -> tuple[SubAnswer, list[ModelCall]]:
    """Return the model's short answer from ``records``; without records the model is not called.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does.
    """
    if not records:
        return NO_ANSWER, []
    call = PromptCall("step", "respond", question.language, evidence_values(question, records))
    reply, calls = call_model(model, call, _Response)
    return SubAnswer(plain_line(reply.answer), cited_docid(reply.record, records)), calls


def extract_span(
    question: Question, records: Sequence[Record], model: LanguageModel
) -> tuple[SubAnswer, list[ModelCall]]:
    """Return the words of a record that answer ``question``; without records the model is not called.

    The answer is empty if no record has the words. Raises as :func:`respond` does.
    """
    if not records:
        return NO_ANSWER, []
    call = PromptCall("step", "span", question.language, evidence_values(question, records), max_tokens=256)
    reply, calls = call_model(model, call, _Span)
    named = records[reply.record - 1 : reply.record] if reply.record else []
    return find_span(reply.text, [*named, *records]), calls


def find_span(text: str, records: Sequence[Record]) -> SubAnswer:
    """Return ``text`` and the first record that has it in its title or text, ignoring spaces and letter case."""
    wanted = _normalize(text)
    for record in records:
        if wanted and (wanted in _normalize(record.title) or wanted in _normalize(record.text)):
            return SubAnswer(" ".join(text.split()), record.docid)
    return NO_ANSWER


def cited_docid(number: int, records: Sequence[Record]) -> str:
    """Return the docid of record ``number``, counted from 1; empty where there is no such record."""
    return records[number - 1].docid if 0 < number <= len(records) else ""


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())
