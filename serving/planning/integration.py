"""The answer integrator: the words of a record that answer a step, to be put into the steps that need them.

A model picks them; words that do not stand in a record that it was shown are not taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.serving.asking_model import Step, ask
from shrag.serving.events import ModelCall
from shrag.serving.evidence_text import fence_records
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import Question

LONGEST_SPAN = 200
"""Characters a span may have: a name, a number, a clause."""

_SPACES = re.compile(r"\s+")


class SpanChoice(msgspec.Struct, frozen=True):
    """What a model is asked to write: the words, and the number of the record they stand in, 0 for none."""

    text: Annotated[str, msgspec.Meta(max_length=LONGEST_SPAN)]
    record: Annotated[int, msgspec.Meta(ge=0, le=50)]


class Span(NamedTuple):
    """Words that stand in the record ``docid``; both are empty where nothing answers."""

    text: str
    docid: str


NO_SPAN = Span("", "")


def pick_span(question: Question, records: Sequence[Record], model: RationedModel) -> tuple[Span, list[ModelCall]]:
    """Return the words of ``records`` that ``model`` answers ``question`` with; raises as :func:`ask` does.

    Where they stand in another record than it says, that one is named; where in none, there is no span.
    """
    if not records:
        return NO_SPAN, []
    values = {
        "question": question.text,
        "records": fence_records(records, question.language),
        "count": str(len(records)),
    }
    choice, calls = ask(model, Step("step", "span", question.language, values, max_tokens=256), SpanChoice)
    said = records[choice.record - 1 : choice.record] if choice.record else []
    return find_span(choice.text, [*said, *records]), calls


def find_span(text: str, records: Sequence[Record]) -> Span:
    """Return ``text`` with the first of ``records`` whose title or text has it, whatever its spaces and letter case."""
    wanted = _plain(text)
    if not wanted:
        return NO_SPAN
    for record in records:
        if wanted in _plain(record.title) or wanted in _plain(record.text):
            return Span(_SPACES.sub(" ", text).strip(), record.docid)
    return NO_SPAN


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()
