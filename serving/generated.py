"""Step 5 of SHRAG with a language model: an answer from the best records and nothing else, every sentence checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrag.indexing.analysed import AnalysedRecord
from shrag.indexing.opening import OpenIndex
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import LanguageModel, Message
from shrag.prompts.prompt import load_prompt
from shrag.serving.answer_reader import AnswerReader, Said
from shrag.serving.citations import check_support, citation_precision
from shrag.serving.events import Answer, AnswerSentence, Citation, Event, ModelCall, Part, Section
from shrag.serving.evidence_text import fence_records
from shrag.serving.question import Question

LONGEST_ANSWER = 1_500
"""Tokens an answer may have; some 900 words."""

LONGEST_WRITTEN = 8 * LONGEST_ANSWER
"""Characters that are read of one: an endpoint may not keep to the tokens it was asked for, and never end."""

_ORDER: tuple[Part, ...] = ("title", "introduction", "body", "conclusion")


def generate_answer(
    question: Question, evidence: Sequence[AnalysedRecord], index: OpenIndex, model: LanguageModel
) -> Iterator[Event]:
    """Yield each sentence as it is written and checked, the call, and the answer that ``evidence`` gives.

    Raises :class:`~shrag.models.errors.ModelError`; :class:`InvalidOutput` where no sentence of what was written rests
    on a record, or where it does not end: then nothing of it is an answer. Closing the iterator stops the model.
    """
    stream = model.stream(_messages(question, evidence), max_tokens=LONGEST_ANSWER)
    reader = AnswerReader()
    said: list[Said] = []
    length = 0
    try:
        for piece in stream:
            length += len(piece)
            if length > LONGEST_WRITTEN:
                raise InvalidOutput(_endless(model.name))
            for each in reader.feed(piece):
                said.append(_checked(each, evidence, index))
                yield AnswerSentence(*said[-1])
        for each in reader.end():
            said.append(_checked(each, evidence, index))
            yield AnswerSentence(*said[-1])
    finally:
        stream.close()
    done = stream.completion
    yield ModelCall("answer", model.name, done.prompt_tokens, done.completion_tokens, done.seconds, done.first_seconds)
    answer = Answer(
        kind="generated",
        language=question.language,
        sections=() if reader.refused else _sections(said),
        citations=() if reader.refused else _citations(said, evidence),
        reason="nothing_fits" if reader.refused else "",
        model=model.name,
        complete=done.finish_reason == "stop",
    )
    if not reader.refused and not any(each.sentence.sound for each in said if each.part != "title"):
        raise InvalidOutput(f"{model.name} wrote no sentence that rests on a record: ask again, or use another model.")
    yield replace(answer, precision=citation_precision(answer))


def _endless(name: str) -> str:
    wrote = f"{name} wrote more than {LONGEST_WRITTEN:,} characters where {LONGEST_ANSWER:,} tokens were asked for"
    return f"{wrote}: see that its endpoint keeps to max_tokens."


def _messages(question: Question, evidence: Sequence[AnalysedRecord]) -> list[Message]:
    records = fence_records([each.record for each in evidence], question.language)
    values = {"question": question.text, "records": records, "count": str(len(evidence))}
    turns = load_prompt("answer", question.language).turns(values)
    return [Message(turn.role, turn.content) for turn in turns]


def _checked(said: Said, evidence: Sequence[AnalysedRecord], index: OpenIndex) -> Said:
    return said if said.part == "title" else Said(said.part, check_support(said.sentence, evidence, index))


def _sections(said: Sequence[Said]) -> tuple[Section, ...]:
    """Return the parts in their order, whatever order they were written in."""
    return tuple(
        Section(part, sentences)
        for part in _ORDER
        if (sentences := tuple(each.sentence for each in said if each.part == part))
    )


def _citations(said: Sequence[Said], evidence: Sequence[AnalysedRecord]) -> tuple[Citation, ...]:
    cited = sorted({number for each in said for number in each.sentence.citations})
    return tuple(
        Citation(number, evidence[number - 1].record.docid, evidence[number - 1].record.title) for number in cited
    )
