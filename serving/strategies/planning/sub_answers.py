"""Short LLM answer to a sub-question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.serving.events import ModelCall
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask, fence_records
from shrag.serving.request import Question

LONGEST_RESPONSE = 600
"""Characters a model may answer in."""


class Response(NamedTuple):
    """What records answer, empty where they do not; ``docid`` is the record it rests on, and may be empty."""

    text: str
    docid: str


NO_RESPONSE = Response("", "")


class _Response(msgspec.Struct, frozen=True):
    answer: Annotated[str, msgspec.Meta(max_length=LONGEST_RESPONSE)]
    record: Annotated[int, msgspec.Meta(ge=0, le=50)]


def respond(question: Question, records: Sequence[Record], model: RationedModel) -> tuple[Response, list[ModelCall]]:
    """Return what ``model`` answers from ``records``, which are not asked about where there are none.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does.
    """
    if not records:
        return NO_RESPONSE, []
    values = {
        "question": question.text,
        "records": fence_records(records, question.language),
        "count": str(len(records)),
    }
    written, calls = ask(model, PromptCall("step", "respond", question.language, values), _Response)
    rests = records[written.record - 1].docid if 0 < written.record <= len(records) else ""
    return Response(plain_line(written.answer), rests), calls
