"""Answers written by a language model, streamed sentence by sentence: from records, or closed-book."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.messages.text import Text
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import LanguageModel, Message
from shrag.serving.answering.answer_parser import AnswerParser
from shrag.serving.answering.citations import citation_precision, make_citations, verify_support
from shrag.serving.answering.formats import CONFIDENCE_LEVELS
from shrag.serving.answering.multiple_choice import question_values
from shrag.serving.answering.refusal import doubtful_words, nearest_records, uncovered_words
from shrag.serving.events import (
    Answer,
    AnswerPart,
    AnswerSentence,
    Confidence,
    EmptyReason,
    Event,
    Ranking,
    Section,
    Sentence,
)
from shrag.serving.llm.structured_call import call_event, evidence_values, render_messages
from shrag.serving.request import LETTERS, AnswerLanguage, Question
from shrag.serving.search_settings import PRODUCT, SearchSettings

LONGEST_ANSWER = 1_500
"""Largest number of tokens that the model may write: about 900 words."""

LONGEST_WRITTEN = 8 * LONGEST_ANSWER
"""Largest number of characters of an answer; an endpoint that writes more ignores the limit of tokens."""

_ESTIMATE: Mapping[AnswerLanguage, str] = {
    "ko": "\n\n검색 시스템의 추정: 문헌이 질문에 답한다는 확신도 {level}.",
    "en": "\n\nEstimate of the search: {level} confidence that the records answer.",
}
_LACKED: Mapping[AnswerLanguage, str] = {
    "ko": " 문헌에 없는 단어: {words}.",
    "en": " Words they lack: {words}.",
}

_ORDER: tuple[AnswerPart, ...] = ("title", "introduction", "body", "conclusion")


def generate_answer(
    question: Question,
    evidence: Sequence[AnalyzedRecord],
    index: OpenIndex,
    model: LanguageModel,
    ranking: Ranking,
    notes: str = "",
    choice: str = "",
    settings: SearchSettings = PRODUCT,
) -> Iterator[Event]:
    """Yield each sentence once it is written and checked, then the model's call, then the whole answer.

    A sentence is checked against the records that it cites. If they do not support it, it is yielded too, but marked as
    unsupported. If the model refuses, the answer has no sections and the reason ``nothing_fits``. If the output is cut
    off, ``complete`` is False. Closing the iterator stops the model.

    Args:
        question: The question.
        evidence: The records to answer from; citations number them from 1.
        index: The index of the records.
        model: The model that writes.
        ranking: The ranking of the records. The prompt states its confidence, and a refusal names its first records.
        notes: What a strategy worked out before, such as answers to sub-questions, as text.
        choice: The letter of the choice that was made, empty for none.
        settings: The settings of the request. For a brief answer, the model writes its reasoning first, and only the
            text behind it is the answer. A brief answer may be too short to be supported.

    Raises:
        InvalidOutput: Besides the title, no sentence is supported, or a brief answer has no sentence. Or the model
            wrote more than :data:`LONGEST_WRITTEN` characters.
        ModelError: The model fails.
    """
    records = [each.record for each in evidence]
    values = evidence_values(question, records) | {"estimate": estimate_text(ranking.confidence, question.language)}
    brief = settings.answer == "brief"
    if brief:
        values |= _notes_values(question, notes, choice) | {"topic": settings.paper or "–"}
        messages = render_messages("brief", question.language, values)
    elif notes or choice:
        messages = render_messages("compose", question.language, values | _notes_values(question, notes, choice))
    else:
        messages = render_messages("answer", question.language, values)

    def verify(each: AnswerSentence) -> AnswerSentence:
        return replace(each, sentence=verify_support(each.sentence, evidence, index))

    written = yield from _write(model, messages, verify, answer_behind_reasoning if brief else iter)
    stated = [each.sentence for each in written.sentences if each.part != "title"]
    if not written.refused and not any(each.supported or brief for each in stated):
        raise InvalidOutput(
            Text("{name} wrote no sentence that a record supports: ask again, or use another model.", name=model.name)
        )
    answer = written.answer("generated", "nothing_fits", question, choice)
    nearest = nearest_records(ranking) if written.refused else ()
    uncovered = uncovered_words(ranking) if written.refused else doubtful_words(ranking)
    citations = make_citations(answer.sections, records)
    answer = replace(answer, citations=citations, nearest=nearest, uncovered=uncovered)
    yield replace(answer, citation_precision=citation_precision(answer))


def estimate_text(confidence: Confidence | None, language: AnswerLanguage) -> str:
    r"""Return the paragraph of a prompt that states the confidence of a search; empty without a confidence.

    >>> estimate_text(Confidence(0.2, "low", ("salt",)), "en")
    '\n\nEstimate of the search: low confidence that the records answer. Words they lack: salt.'
    """
    if confidence is None:
        return ""
    text = _ESTIMATE[language].format(level=CONFIDENCE_LEVELS[language][confidence.level])
    return text + (_LACKED[language].format(words=", ".join(confidence.uncovered)) if confidence.uncovered else "")


def generate_closed_book(question: Question, model: LanguageModel, notes: str, choice: str) -> Iterator[Event]:
    """Yield the events of :func:`generate_answer` for an answer without records.

    The answer has no citations, and none of its sentences is supported. The reason of a refusal is ``not_searched``.

    Raises:
        InvalidOutput: The model wrote no sentence but the title, or more than :data:`LONGEST_WRITTEN` characters.
        ModelError: The model fails.
    """
    messages = render_messages("closed_book", question.language, _notes_values(question, notes, choice))
    written = yield from _write(model, messages, _without_citations)
    if not written.refused and all(each.part == "title" for each in written.sentences):
        raise InvalidOutput(Text("{name} wrote no sentence: ask again, or use another model.", name=model.name))
    yield written.answer("closed_book", "not_searched", question, choice)


@dataclass(frozen=True, slots=True)
class _Written:
    """What a model wrote: the sentences, whether they are a refusal, and whether they are complete."""

    sentences: Sequence[AnswerSentence]
    refused: bool
    model: str
    complete: bool

    def answer(
        self, kind: Literal["generated", "closed_book"], refusal: EmptyReason, question: Question, choice: str
    ) -> Answer:
        """Return the answer, its parts in their usual order, without citations."""
        parts = {part: tuple(each.sentence for each in self.sentences if each.part == part) for part in _ORDER}
        return Answer(
            kind=kind,
            language=question.language,
            sections=() if self.refused else tuple(Section(part, each) for part, each in parts.items() if each),
            citations=(),
            reason=refusal if self.refused else "",
            model=self.model,
            complete=self.complete,
            choice=choice,
        )


_ANSWER_MARK = re.compile(
    r"#{1,6}[ \t]*(?:brief answer|answer|짧은 답변|답변)[ \t]*(?:#+[ \t]*:?|:|(?=\n))[ \t]*\n?", re.IGNORECASE
)
_REFUSAL = re.compile(r"^[ \t]*#{1,6}[ \t]*(?:no answer|답변 ?불가)[ \t]*#*[ \t]*$", re.IGNORECASE | re.MULTILINE)


def answer_behind_reasoning(pieces: Iterable[str]) -> Iterator[str]:
    r"""Yield the text behind the heading of the answer, piece by piece; the whole text if it has no such heading.

    A refusal behind the reasoning needs no heading of the answer.

    >>> "".join(answer_behind_reasoning(["##Reasoning##\nOne is", " lighter.\n##Ans", "wer##\nSteel [", "1]."]))
    'Steel [1].'
    """
    text = ""
    arrived = iter(pieces)
    for piece in arrived:
        text += piece
        mark = _ANSWER_MARK.search(text)
        # A heading at the end of the text may still go on.
        if mark is not None and mark.end() < len(text):
            yield text[mark.end() :]
            yield from arrived
            return
    mark, refusal = _ANSWER_MARK.search(text), _REFUSAL.search(text)
    begin = mark.end() if mark is not None else refusal.start() if refusal is not None else 0
    yield text[begin:]


def _write(
    model: LanguageModel,
    messages: Sequence[Message],
    verify: Callable[[AnswerSentence], AnswerSentence],
    select: Callable[[Iterable[str]], Iterator[str]] = iter,
) -> Generator[Event, None, _Written]:
    """Yield the sentences and then the model's call; every sentence but the title is verified.

    ``select`` picks what belongs to the answer from the pieces of text that the model writes.
    """
    stream = model.stream(messages, max_tokens=LONGEST_ANSWER)
    parser = AnswerParser()
    sentences: list[AnswerSentence] = []

    def verified(parsed: Sequence[AnswerSentence]) -> list[AnswerSentence]:
        new = [each if each.part == "title" else verify(each) for each in parsed]
        sentences.extend(new)
        return new

    def bounded() -> Iterator[str]:
        length = 0
        for piece in stream:
            length += len(piece)
            if length > LONGEST_WRITTEN:
                raise InvalidOutput(
                    Text(
                        "{name} wrote more than {longest_written:,} characters where {longest_answer:,} tokens were "
                        "asked for: check that its endpoint obeys max_tokens.",
                        name=model.name,
                        longest_written=LONGEST_WRITTEN,
                        longest_answer=LONGEST_ANSWER,
                    )
                )
            yield piece

    try:
        for piece in select(bounded()):
            yield from verified(parser.feed(piece))
        yield from verified(parser.end())
    finally:
        stream.close()
    yield call_event("answer", model, stream.completion)
    return _Written(sentences, parser.refused, model.name, stream.completion.finish_reason == "stop")


def _notes_values(question: Question, notes: str, choice: str) -> dict[str, str]:
    chosen = f"{choice}. {question.choices[LETTERS.index(choice)]}" if choice else "–"
    return question_values(question) | {"choice": chosen, "worked": notes or "–"}


def _without_citations(each: AnswerSentence) -> AnswerSentence:
    return replace(each, sentence=Sentence(each.sentence.text, (), supported=False, issue="no_citation"))
