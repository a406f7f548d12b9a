"""Turn the events of a question into a chat completion, complete or streamed. Its text is Markdown with sources."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

import msgspec

from shrag.serving.answering.formats import (
    FALLBACKS,
    HEADINGS,
    ISSUES,
    answer_label,
    answer_text,
    authors_lines,
    follow_up_line,
    quotation_lines,
    suggestion_line,
    title_and_page,
    uncovered_line,
)
from shrag.serving.api.chat_completions.markdown import escape_markdown
from shrag.serving.api.chat_completions.schemas import (
    Annotation,
    AnswerMessage,
    ChatChunk,
    ChatResponse,
    Choice,
    ChunkChoice,
    Delta,
    ShragFields,
    UrlCitation,
    Usage,
)
from shrag.serving.api.schemas import SourceRecord
from shrag.serving.events import (
    Answer,
    AnswerPart,
    AnswerSentence,
    Authors,
    Citation,
    Confidence,
    Event,
    Fallback,
    FollowUp,
    ModelCall,
    Ranking,
    Sentence,
)
from shrag.serving.http.logging import request_id
from shrag.serving.http.problems import openai_error_body
from shrag.serving.http.sse import KEEP_ALIVE
from shrag.serving.request import AnswerLanguage

_SOURCES = {"ko": "출처", "en": "Sources"}
_DONE = b"data: [DONE]\n\n"


class ChatCompletion:
    """One answer as a chat completion.

    Args:
        model: The model's name, as the client sent it.
        language: The language of the question.
        fields: The fields beyond OpenAI's, without the records found.
        record_url: Returns the URL of a record by its docid.
    """

    def __init__(
        self, model: str, language: AnswerLanguage, fields: ShragFields, record_url: Callable[[str], str]
    ) -> None:
        self._id = f"chatcmpl-{request_id() or uuid.uuid4().hex}"
        self._created = int(time.time())
        self._model = model
        self._fields = fields
        self._text = AnswerText(language, record_url)
        self._hits: tuple[SourceRecord, ...] = ()
        self._confidence: Confidence | None = None
        self._prompt_tokens = 0
        self._completion_tokens = 0

    async def complete(self, events: AsyncIterator[Event | None]) -> ChatResponse:
        """Return the completion of all ``events``; raises what they raise."""
        async for event in events:
            if event is not None:
                self._take(event)
        message = AnswerMessage("assistant", self._text.text, self._text.annotations)
        choice = Choice(0, message, self._text.finish_reason)
        fields = replace(self._fields, hits=self._hits, confidence=self._confidence)
        return ChatResponse(self._id, "chat.completion", self._created, self._model, (choice,), self._usage(), fields)

    async def stream(
        self, events: AsyncGenerator[Event | None, None], *, include_usage: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the server-sent events: the records, the text, the sources, the finish reason, ``[DONE]``.

        A failure is sent as an event. If the stream just ended, the ``openai`` client would take it for a complete
        answer.
        """
        try:
            async with aclosing(events):
                async for event in events:
                    if event is None:
                        yield KEEP_ALIVE
                        continue
                    for chunk in self._chunks(event, include_usage=include_usage):
                        yield _data(chunk)
            for chunk in self._last(include_usage=include_usage):
                yield _data(chunk)
        except Exception as error:
            yield _data(openai_error_body(error))
        yield _DONE

    def _chunks(self, event: Event, *, include_usage: bool) -> Iterable[ChatChunk]:
        added = self._take(event)
        usage = None if include_usage else msgspec.UNSET
        if isinstance(event, Ranking):
            fields = replace(self._fields, hits=self._hits, confidence=self._confidence)
            yield self._chunk(Delta(role="assistant", content=""), usage=usage, fields=fields)
            if self._text.text:  # how a follow-up was read, and named authors: these events precede the ranking
                yield self._chunk(Delta(content=self._text.text), usage=usage)
        elif added and not isinstance(event, FollowUp | Authors):
            yield self._chunk(Delta(content=added), usage=usage)

    def _last(self, *, include_usage: bool) -> Iterable[ChatChunk]:
        usage = None if include_usage else msgspec.UNSET
        if annotations := self._text.annotations:
            yield self._chunk(Delta(annotations=annotations), usage=usage)
        yield self._chunk(Delta(), usage=usage, finish_reason=self._text.finish_reason)
        if include_usage:
            yield ChatChunk(self._id, "chat.completion.chunk", self._created, self._model, (), self._usage())

    def _chunk(
        self,
        delta: Delta,
        usage: msgspec.UnsetType | None,
        finish_reason: Literal["stop", "length"] | None = None,
        fields: ShragFields | msgspec.UnsetType = msgspec.UNSET,
    ) -> ChatChunk:
        choices = (ChunkChoice(0, delta, finish_reason),)
        return ChatChunk(self._id, "chat.completion.chunk", self._created, self._model, choices, usage, fields)

    def _take(self, event: Event) -> str:
        if isinstance(event, Ranking):
            self._confidence = event.confidence
            self._hits = tuple(
                SourceRecord(one.rank, one.record.docid, one.record.title, one.score) for one in event.records
            )
        elif isinstance(event, ModelCall):
            self._prompt_tokens += event.prompt_tokens
            self._completion_tokens += event.completion_tokens
        return self._text.feed(event)

    def _usage(self) -> Usage:
        return Usage(self._prompt_tokens, self._completion_tokens, self._prompt_tokens + self._completion_tokens)


def plain_completion(model: str, text: str) -> ChatResponse:
    """Return a completion with a given text. Nothing was searched for it, and no model wrote it."""
    choice = Choice(0, AnswerMessage("assistant", text, ()), "stop")
    completion_id = f"chatcmpl-{request_id() or uuid.uuid4().hex}"
    return ChatResponse(completion_id, "chat.completion", int(time.time()), model, (choice,), Usage(0, 0, 0))


async def stream_plain(completion: ChatResponse) -> AsyncGenerator[bytes, None]:
    """Yield a completion as a stream: one chunk, then ``[DONE]``."""
    delta = Delta(role="assistant", content=completion.choices[0].message.content)
    choices = (ChunkChoice(0, delta, "stop"),)
    yield _data(ChatChunk(completion.id, "chat.completion.chunk", completion.created, completion.model, choices))
    yield _DONE


def _data(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


class AnswerText:
    """The Markdown text of an answer, and the positions of its citations.

    Args:
        language: The language of the question.
        record_url: Returns the URL of a record by its docid.
    """

    def __init__(self, language: AnswerLanguage, record_url: Callable[[str], str]) -> None:
        self._language: AnswerLanguage = language
        self._record_url = record_url
        self._text: list[str] = []
        self._length = 0
        self._section: tuple[AnswerPart, Citation | None] | None = None
        self._marks: dict[int, tuple[int, int]] = {}
        self._answer: Answer | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def finish_reason(self) -> Literal["stop", "length"]:
        """How the answer ended; ``length`` if the model was cut off."""
        return "stop" if self._answer is None or self._answer.complete else "length"

    def feed(self, event: Event) -> str:
        """Take an event, and return the text that it adds; many add none."""
        before = len(self._text)
        if isinstance(event, AnswerSentence):
            self._sentence(event)
        elif isinstance(event, Fallback) and event.stage == "answer":
            self._fallback(event)
        elif isinstance(event, FollowUp):
            self._add_note(follow_up_line(event, self._language))
        elif isinstance(event, Authors):
            self._add_note(" ".join(authors_lines(event, self._language)))
        elif isinstance(event, Answer):
            self._end(event)
        return "".join(self._text[before:])

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        """The cited records, each with the position of its first mark in the text; none before the answer is whole."""
        if self._answer is None:
            return ()
        return tuple(
            Annotation(
                UrlCitation(self._record_url(one.docid), one.title or one.docid, *self._marks.get(one.number, (0, 0)))
            )
            for one in self._answer.citations
        )

    def _sentence(self, event: AnswerSentence) -> None:
        if (event.part, event.source) != self._section:
            self._begin_section(event.part, event.source)
            if event.part != "title" and event.source is not None:
                self._add("\n\n")
        elif self._text:
            self._add(" ")
        if event.sentence.after_gap:
            self._add("[…] ")
        self._add(escape_markdown(event.sentence.text))
        if event.part != "title" and (event.source is None or event.sentence.issue):
            self._add_marks(event.sentence)

    def _begin_section(self, part: AnswerPart, source: Citation | None) -> None:
        """Add the heading of a section. If the section quotes one record, that is the record's title and its mark."""
        before, self._section = self._section, (part, source)
        gap = "\n\n" if self._length else ""
        if part == "title":
            self._add(f"{gap}## ")
            return
        heading = f"{gap}### {HEADINGS[self._language][part]}\n\n"
        if source is None:
            self._add(heading)
            return
        title = escape_markdown(source.title or source.docid)
        if part == "record":
            self._add(f"{gap}## {title} ")
        else:
            self._add(f"{heading if before is None or before[0] != part else gap}**{title}** ")
        self._add_mark(source.number)

    def _add_marks(self, sentence: Sentence) -> None:
        if sentence.citations:
            self._add(" ")
        for number in sentence.citations:
            self._add_mark(number)
        if sentence.issue:
            self._add(f" (⚠ {ISSUES[self._language][sentence.issue]})")

    def _add_mark(self, number: int) -> None:
        mark = f"[{number}]"
        self._marks.setdefault(number, (self._length, self._length + len(mark)))
        self._add(mark)

    def _add_note(self, text: str) -> None:
        self._add(("\n\n> " if self._length else "> ") + escape_markdown(text))

    def _fallback(self, event: Fallback) -> None:
        """Add a line that says that the text above is discarded, and drop the citations of that text."""
        self._add_note(FALLBACKS[self._language][event.cause])
        self._section = None
        self._marks.clear()

    def _end(self, answer: Answer) -> None:
        self._answer = answer
        for section in answer.sections:
            if section.source is not None and not section.sentences:
                self._begin_section(section.part, section.source)
        gap = "\n\n" if self._length else ""
        if answer.reason:
            self._add(gap + escape_markdown(answer_text(answer)))
            return
        for line in filter(None, (*quotation_lines(answer), uncovered_line(answer), suggestion_line(answer))):
            self._add(gap + escape_markdown(line))
            gap = "\n\n"
        self._add(f"{gap}*{escape_markdown(answer_label(answer))}*")
        if answer.citations:
            self._add(f"\n\n**{_SOURCES[answer.language]}**\n\n" + "\n".join(_sources(answer)))

    def _add(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)


def _sources(answer: Answer) -> list[str]:
    titles = [title_and_page(one.title, one.page, answer.language) for one in answer.citations]
    return [
        f"- [{one.number}] {escape_markdown(title)} ({escape_markdown(one.docid)})"
        for one, title in zip(answer.citations, titles, strict=True)
    ]
