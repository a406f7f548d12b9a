"""LLM answers, streamed sentence by sentence.

Strategies that work a question out in steps give what they worked out, as notes. One that looks nothing up has a model
answer from what it knows: no sentence of that is ever supported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.prompts.prompt import load_prompt
from shrag.serving.answering.answer_parser import AnswerReader, Said
from shrag.serving.answering.citations import check_support, citation_precision
from shrag.serving.answering.multiple_choice import choices_text
from shrag.serving.events import Answer, AnswerSentence, Citation, Event, ModelCall, Part, Section, Sentence
from shrag.serving.llm.structured_call import fence_records
from shrag.serving.request import LETTERS, Question

LONGEST_ANSWER = 1_500
"""Tokens an answer may have; some 900 words."""

LONGEST_WRITTEN = 8 * LONGEST_ANSWER
"""Characters that are read of one: an endpoint may not keep to the tokens it was asked for, and never end."""

_ORDER: tuple[Part, ...] = ("title", "introduction", "body", "conclusion")


@dataclass(frozen=True, slots=True)
class AnswerNotes:
    """What was found out about a question before its answer is written: notes, and the letter of a choice."""

    notes: str = ""
    choice: str = ""


NO_WORK = AnswerNotes()


def generate_answer(
    question: Question,
    evidence: Sequence[AnalyzedRecord],
    index: OpenIndex,
    model: LanguageModel,
    work: AnswerNotes = NO_WORK,
) -> Iterator[Event]:
    """Yield each sentence as it is written and checked, the call, and the answer that ``evidence`` gives.

    Raises :class:`~shrag.models.errors.ModelError`; :class:`InvalidOutput` where no sentence of what was written rests
    on a record, or where it does not end: then nothing of it is an answer. Closing the iterator stops the model.
    """
    records = fence_records([each.record for each in evidence], question.language)
    values = {"question": question.text, "records": records, "count": str(len(evidence))}
    if work == NO_WORK:
        messages = _messages("answer", question, values)
    else:
        messages = _messages("compose", question, values | _shown(question, work))
    written = yield from _write(model, messages, lambda said: _checked(said, evidence, index))
    answer = Answer(
        kind="generated",
        language=question.language,
        sections=() if written.refused else _sections(written.said),
        citations=() if written.refused else _citations(written.said, evidence),
        reason="nothing_fits" if written.refused else "",
        model=model.name,
        complete=written.done.finish_reason == "stop",
        choice=work.choice,
    )
    if not written.refused and not any(each.sentence.supported for each in written.said if each.part != "title"):
        raise InvalidOutput(f"{model.name} wrote no sentence that rests on a record: ask again, or use another model.")
    yield replace(answer, citation_precision=citation_precision(answer))


def recall_answer(question: Question, model: LanguageModel, work: AnswerNotes) -> Iterator[Event]:
    """Yield likewise what ``model`` answers from what it knows: nothing is cited, and no sentence is supported.

    Raises :class:`~shrag.models.errors.ModelError`; :class:`InvalidOutput` where it wrote no sentence.
    """
    messages = _messages("closed_book", question, {"question": question.text} | _shown(question, work))
    written = yield from _write(model, messages, _uncited)
    if not written.refused and all(each.part == "title" for each in written.said):
        raise InvalidOutput(f"{model.name} wrote no sentence: ask again, or use another model.")
    yield Answer(
        kind="closed_book",
        language=question.language,
        sections=() if written.refused else _sections(written.said),
        citations=(),
        reason="not_searched" if written.refused else "",
        model=model.name,
        complete=written.done.finish_reason == "stop",
        choice=work.choice,
    )


@dataclass(frozen=True, slots=True)
class _Written:
    said: Sequence[Said]
    refused: bool
    done: Completion


def _write(
    model: LanguageModel, messages: Sequence[Message], checked: Callable[[Said], Said]
) -> Generator[Event, None, _Written]:
    stream = model.stream(messages, max_tokens=LONGEST_ANSWER)
    reader = AnswerReader()
    said: list[Said] = []
    length = 0
    try:
        for piece in stream:
            length += len(piece)
            if length > LONGEST_WRITTEN:
                raise InvalidOutput(_endless(model.name))
            for each in reader.feed(piece):
                said.append(checked(each))
                yield AnswerSentence(*said[-1])
        for each in reader.end():
            said.append(checked(each))
            yield AnswerSentence(*said[-1])
    finally:
        stream.close()
    done = stream.completion
    yield ModelCall("answer", model.name, done.prompt_tokens, done.completion_tokens, done.seconds, done.first_seconds)
    return _Written(said, reader.refused, done)


def _messages(prompt: str, question: Question, values: Mapping[str, str]) -> list[Message]:
    return [Message(message.role, message.content) for message in load_prompt(prompt, question.language).render(values)]


def _shown(question: Question, work: AnswerNotes) -> dict[str, str]:
    chosen = question.choices[LETTERS.index(work.choice)] if work.choice else "–"
    return {
        "choices": choices_text(question.choices, question.language),
        "choice": f"{work.choice}. {chosen}" if work.choice else chosen,
        "worked": work.notes or "–",
    }


def _uncited(said: Said) -> Said:
    return (
        said
        if said.part == "title"
        else Said(said.part, Sentence(said.sentence.text, (), supported=False, issue="no_citation"))
    )


def _endless(name: str) -> str:
    wrote = f"{name} wrote more than {LONGEST_WRITTEN:,} characters where {LONGEST_ANSWER:,} tokens were asked for"
    return f"{wrote}: see that its endpoint keeps to max_tokens."


def _checked(said: Said, evidence: Sequence[AnalyzedRecord], index: OpenIndex) -> Said:
    return said if said.part == "title" else Said(said.part, check_support(said.sentence, evidence, index))


def _sections(said: Sequence[Said]) -> tuple[Section, ...]:
    """Return the parts in their order, whatever order they were written in."""
    return tuple(
        Section(part, sentences)
        for part in _ORDER
        if (sentences := tuple(each.sentence for each in said if each.part == part))
    )


def _citations(said: Sequence[Said], evidence: Sequence[AnalyzedRecord]) -> tuple[Citation, ...]:
    cited = sorted({number for each in said for number in each.sentence.citations})
    return tuple(
        Citation(number, evidence[number - 1].record.docid, evidence[number - 1].record.title) for number in cited
    )
