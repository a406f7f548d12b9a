"""The events of a question as an answer in OpenAI's shape: whole, or chunk by chunk."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace

import msgspec

from shrag.serving.chat_text import ChatText
from shrag.serving.event_stream import KEEP_ALIVE
from shrag.serving.events import Event, ModelCall, Ranking
from shrag.serving.openai_wire import (
    AnswerMessage,
    ChatChunk,
    ChatResponse,
    Choice,
    ChunkChoice,
    Delta,
    ShragFields,
    Usage,
)
from shrag.serving.problems import openai_problem
from shrag.serving.question import AnswerLanguage
from shrag.serving.trace_id import trace_id
from shrag.serving.wire import SourceRecord

_DONE = b"data: [DONE]\n\n"


class ChatAnswer:
    """One answer under way. ``model`` is the name it was asked by, ``address`` gives a record's address.

    ``about`` says what the answer is made from, but for the records found.
    """

    def __init__(
        self,
        model: str,
        language: AnswerLanguage,
        about: ShragFields,
        address: Callable[[str], str],
    ) -> None:
        self._id = f"chatcmpl-{trace_id() or uuid.uuid4().hex}"
        self._created = int(time.time())
        self._model = model
        self._about = about
        self._text = ChatText(language, address)
        self._hits: tuple[SourceRecord, ...] = ()
        self._prompt_tokens = 0
        self._completion_tokens = 0

    async def whole(self, events: AsyncIterator[Event | None]) -> ChatResponse:
        """Return the answer once all ``events`` have come; raises what they raise."""
        async for event in events:
            if event is not None:
                self._take(event)
        message = AnswerMessage("assistant", self._text.text, self._text.annotations)
        choice = Choice(0, message, self._text.finish_reason)
        return ChatResponse(
            self._id,
            "chat.completion",
            self._created,
            self._model,
            (choice,),
            self._usage(),
            replace(self._about, hits=self._hits),
        )

    async def stream(
        self, events: AsyncGenerator[Event | None, None], *, include_usage: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the answer as it is sent: the records, the text as it grows, its sources, its end, ``[DONE]``.

        A failure is an event of its own: a stream that just ends looks like a whole answer to ``openai``.
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
            yield _data(openai_problem(error))
        yield _DONE

    def _chunks(self, event: Event, *, include_usage: bool) -> Iterable[ChatChunk]:
        added = self._take(event)
        usage = None if include_usage else msgspec.UNSET
        if isinstance(event, Ranking):
            first = self._chunk(Delta(role="assistant", content=""), usage=usage)
            first.shrag = replace(self._about, hits=self._hits)
            yield first
        elif added:
            yield self._chunk(Delta(content=added), usage=usage)

    def _last(self, *, include_usage: bool) -> Iterable[ChatChunk]:
        usage = None if include_usage else msgspec.UNSET
        if annotations := self._text.annotations:
            yield self._chunk(Delta(annotations=annotations), usage=usage)
        end = self._chunk(Delta(), usage=usage)
        end.choices[0].finish_reason = self._text.finish_reason
        yield end
        if include_usage:
            yield ChatChunk(self._id, "chat.completion.chunk", self._created, self._model, (), self._usage())

    def _chunk(self, delta: Delta, usage: msgspec.UnsetType | None) -> ChatChunk:
        choices = (ChunkChoice(0, delta),)
        return ChatChunk(self._id, "chat.completion.chunk", self._created, self._model, choices, usage)

    def _take(self, event: Event) -> str:
        if isinstance(event, Ranking):
            self._hits = tuple(
                SourceRecord(one.rank, one.record.docid, one.record.title, one.score) for one in event.records
            )
        elif isinstance(event, ModelCall):
            self._prompt_tokens += event.prompt_tokens
            self._completion_tokens += event.completion_tokens
        return self._text.feed(event)

    def _usage(self) -> Usage:
        asked, written = self._prompt_tokens, self._completion_tokens
        return Usage(asked, written, asked + written)


def _data(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
