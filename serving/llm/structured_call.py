"""Render a prompt with evidence, call the model, decode a typed reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from shrag.corpora.records import Record
from shrag.models.chat.structured_output import complete_structured
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.prompts.prompt import Language, load_prompt
from shrag.serving.errors import UnusableOutput
from shrag.serving.events import ModelCall, Purpose
from shrag.serving.llm.call_budget import RationedModel

_Kind = TypeVar("_Kind")


class PromptCall(NamedTuple):
    """What is asked for: the ``prompt``, the values of its variables, what for, and at most how many tokens."""

    purpose: Purpose
    prompt: str
    language: Language
    values: Mapping[str, str]
    max_tokens: int = 512


def ask(model: LanguageModel, step: PromptCall, kind: type[_Kind]) -> tuple[_Kind, list[ModelCall]]:
    """Return what the model makes of ``step``, a msgspec struct of ``kind``, and its calls, each told of once.

    Raises as :func:`~shrag.models.chat.structured_output.complete_structured` does; where nothing that came can be used
    :class:`UnusableOutput`, with the calls; and :class:`BudgetExceeded` where the model has a budget and it is used up.
    """
    rendered = load_prompt(step.prompt, step.language).render(step.values)
    messages = [Message(message.role, message.content) for message in rendered]
    try:
        structured = complete_structured(model, messages, kind, max_tokens=step.max_tokens)
    except InvalidOutput as error:
        raise UnusableOutput(str(error), _calls(step.purpose, model, error.completions, repaired=True)) from None
    return structured.value, _calls(step.purpose, model, structured.completions, repaired=structured.repaired)


def _calls(
    stage: Purpose, model: LanguageModel, completions: Sequence[Completion], *, repaired: bool
) -> list[ModelCall]:
    """Return the calls that gave ``completions``; one whose answer several steps were given is told of once."""
    return [
        ModelCall(
            stage,
            model.name,
            done.prompt_tokens,
            done.completion_tokens,
            done.seconds,
            done.first_seconds,
            repaired=repaired,
        )
        for done in completions
        if not isinstance(model, RationedModel) or model.tell(done)
    ]


LONGEST_TEXT = 3_000
"""Characters of a record's text that are shown; the whole of all but the longest abstracts."""

# The fence's own signs stand in no record that is shown, so that none can pretend to end, or to be another.
_HARMLESS = str.maketrans({"⟦": "[", "⟧": "]"})
_END = {"ko": "끝", "en": "end"}
_BEGIN = {"ko": "기록", "en": "record"}


def fence_records(records: Sequence[Record], language: str) -> str:
    """Return the records, numbered from 1, each between ``⟦record n⟧`` and ``⟦end n⟧``."""
    return "\n\n".join(
        f"⟦{_BEGIN[language]} {number}⟧\n{_shown(record)}\n⟦{_END[language]} {number}⟧"
        for number, record in enumerate(records, 1)
    )


def unfenced(text: str) -> str:
    """Return ``text`` without the signs of a fence, for what stands beside records and is none."""
    return text.translate(_HARMLESS)


def _shown(record: Record) -> str:
    about = ", ".join(part for part in (record.journal, str(record.year or "")) if part)
    text = record.text if len(record.text) <= LONGEST_TEXT else record.text[:LONGEST_TEXT].rsplit(" ", 1)[0] + " …"
    lines = [record.title + (f" ({about})" if about else ""), text]
    return "\n".join(lines).translate(_HARMLESS).strip()
