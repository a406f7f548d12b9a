"""[ANS_n] placeholders and the answer spans that fill them.

A model picks them; words that do not stand in a record that it was shown are not taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask, fence_records
from shrag.serving.request import Question

_SLOT = re.compile(r"\[\s*ANS[_ ]?(\d{1,3})\s*\]", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def needed(text: str) -> tuple[int, ...]:
    """Return the steps whose answers ``text`` has places for, each once, in the order of the text.

    >>> needed("Where was [ANS_2] built, and did [ANS_1] see [ANS_2]?")
    (2, 1)
    """
    return tuple(dict.fromkeys(int(slot[1]) for slot in _SLOT.finditer(text)))


def looking_back(text: str, number: int) -> str:
    """Return ``text``, the step of that ``number``, with places for the answers of earlier steps alone.

    A plan whose questions wait for earlier ones only cannot wait for itself.

    >>> looking_back("Did [ANS_1] write [ANS_3]?", 2)
    'Did [ANS_1] write ?'
    """
    return fill(text, {slot: f"[ANS_{slot}]" for slot in needed(text) if 1 <= slot < number})


def fill(text: str, answers: Mapping[int, str]) -> str:
    """Return ``text`` with the answers in their places; a place whose answer is not known is left out.

    >>> fill("Where was [ANS_2] of [ANS_1] born?", {2: "the director"})
    'Where was the director of born?'
    """
    return _SPACES.sub(" ", _SLOT.sub(lambda slot: answers.get(int(slot[1]), ""), text)).strip()


LONGEST_SPAN = 200
"""Characters a span may have: a name, a number, a clause."""


class SpanChoice(msgspec.Struct, frozen=True):
    """What a model is asked to write: the words, and the number of the record they stand in, 0 for none."""

    text: Annotated[str, msgspec.Meta(max_length=LONGEST_SPAN)]
    record: Annotated[int, msgspec.Meta(ge=0, le=50)]


class AnswerSpan(NamedTuple):
    """Words that stand in the record ``docid``; both are empty where nothing answers."""

    text: str
    docid: str


NO_SPAN = AnswerSpan("", "")


def pick_span(
    question: Question, records: Sequence[Record], model: RationedModel
) -> tuple[AnswerSpan, list[ModelCall]]:
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
    choice, calls = ask(model, PromptCall("step", "span", question.language, values, max_tokens=256), SpanChoice)
    said = records[choice.record - 1 : choice.record] if choice.record else []
    return find_span(choice.text, [*said, *records]), calls


def find_span(text: str, records: Sequence[Record]) -> AnswerSpan:
    """Return ``text`` with the first of ``records`` whose title or text has it, whatever its spaces and letter case."""
    wanted = _plain(text)
    if not wanted:
        return NO_SPAN
    for record in records:
        if wanted in _plain(record.title) or wanted in _plain(record.text):
            return AnswerSpan(_SPACES.sub(" ", text).strip(), record.docid)
    return NO_SPAN


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()
