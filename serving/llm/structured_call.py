"""Structured model calls: render a prompt with records as evidence, call the model, decode its typed reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from shrag.corpora.records import Record
from shrag.messages.text import message_of
from shrag.models.chat.structured_output import complete_structured
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.prompts.prompt import Language, load_prompt
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.llm.call_budget import BudgetedModel
from shrag.serving.request import Question

_Reply = TypeVar("_Reply")


class PromptCall(NamedTuple):
    """A call: its purpose, the prompt's name, language and variables, and the most tokens of the reply.

    ``urgent`` is that of :meth:`~shrag.models.language_model.LanguageModel.complete`.
    """

    purpose: Purpose
    prompt: str
    language: Language
    values: Mapping[str, str]
    max_tokens: int = 512
    urgent: bool = False


def call_model(model: LanguageModel, call: PromptCall, reply_type: type[_Reply]) -> tuple[_Reply, list[ModelCall]]:
    """Return the model's reply as ``reply_type``, a msgspec struct, and the calls to report for it.

    Raises:
        UnusableOutput: The reply is not of that type, and neither is the second one that is requested then.
        BudgetExceeded: The model has a budget, and it is used up.
        ModelError: :func:`~shrag.models.chat.structured_output.complete_structured` raises it.
    """
    messages = render_messages(call.prompt, call.language, call.values)
    try:
        structured = complete_structured(model, messages, reply_type, max_tokens=call.max_tokens, urgent=call.urgent)
    except InvalidOutput as error:
        raise UnusableOutput(message_of(error), _calls(call.purpose, model, error.completions, repaired=True)) from None
    return structured.value, _calls(call.purpose, model, structured.completions, repaired=structured.repaired)


def render_messages(prompt: str, language: Language, values: Mapping[str, str]) -> list[Message]:
    """Return the messages of a prompt with its variables filled in."""
    return [Message(message.role, message.content) for message in load_prompt(prompt, language).render(values)]


def call_event(purpose: Purpose, model: LanguageModel, done: Completion, *, repaired: bool = False) -> ModelCall:
    """Return the event of a call that gave ``done``."""
    tokens = done.prompt_tokens, done.completion_tokens
    return ModelCall(purpose, model.name, *tokens, done.seconds, done.first_seconds, repaired)


def _calls(
    purpose: Purpose, model: LanguageModel, completions: Sequence[Completion], *, repaired: bool
) -> list[ModelCall]:
    """Return the calls that gave ``completions``; a completion shared by several steps is reported once."""
    return [
        call_event(purpose, model, done, repaired=repaired)
        for done in completions
        if not isinstance(model, BudgetedModel) or model.report_once(done)
    ]


LONGEST_TEXT = 3_000
"""Most characters of a record's text that a prompt shows; all but the longest abstracts fit in full."""

# Fence marks are removed from every record that is shown, so that no record can end its fence early.
_WITHOUT_MARKS = str.maketrans({"⟦": "[", "⟧": "]"})
_END = {"ko": "끝", "en": "end"}
_BEGIN = {"ko": "문헌", "en": "record"}


def evidence_values(question: Question, records: Sequence[Record]) -> dict[str, str]:
    """Return the variables ``question``, ``records`` and ``count`` of a prompt that shows records."""
    fenced = fence_records(records, question.language)
    return {"question": question.text, "records": fenced, "count": str(len(records))}


def fence_records(records: Sequence[Record], language: str, longest: int = LONGEST_TEXT) -> str:
    """Return the records, numbered from 1, each between ``⟦record n⟧`` and ``⟦end n⟧``.

    Texts of more than ``longest`` characters are cut.
    """
    return "\n\n".join(
        f"⟦{_BEGIN[language]} {number}⟧\n{_shown(record, longest)}\n⟦{_END[language]} {number}⟧"
        for number, record in enumerate(records, 1)
    )


def remove_fence_marks(text: str) -> str:
    """Return ``text`` without fence marks; this is for text that a prompt shows beside records."""
    return text.translate(_WITHOUT_MARKS)


def _shown(record: Record, longest: int) -> str:
    about = ", ".join(part for part in (record.journal, str(record.year or "")) if part)
    text = record.text if len(record.text) <= longest else record.text[:longest].rsplit(" ", 1)[0] + " …"
    title = record.title + (f" ({about})" if about else "")
    return f"{title}\n{text}".translate(_WITHOUT_MARKS).strip()
