"""A streamed completion that any thread can close, and the shapes of the chat API's responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.reasoning import ReasoningFilter
from shrag.models.errors import ModelError, ModelUnavailable
from shrag.models.language_model import Completion


class MessageContent(msgspec.Struct, frozen=True):
    """A message, or a part of one in a stream."""

    content: str | None = None


class TokenUsage(msgspec.Struct, frozen=True):
    """The token counts that the endpoint reports."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class CompletionChoice(msgspec.Struct, frozen=True):
    """One complete response."""

    message: MessageContent
    finish_reason: str | None = None


class CompletionResponse(msgspec.Struct, frozen=True):
    """The body of a response that is not streamed."""

    choices: list[CompletionChoice]
    usage: TokenUsage | None = None


class StreamChoice(msgspec.Struct, frozen=True):
    """A part of a streamed response; the last one has a finish reason."""

    delta: MessageContent = msgspec.field(default_factory=MessageContent)
    finish_reason: str | None = None


class StreamChunk(msgspec.Struct, frozen=True):
    """One event of a stream; the last event has the usage and no choice."""

    choices: list[StreamChoice]
    usage: TokenUsage | None = None


def check_finish_reason(where: str, reason: str | None) -> Literal["stop", "length"]:
    """Return the finish reason of a response; raises :class:`ModelUnavailable` if it is missing or was aborted."""
    if reason == "length":
        return "length"
    if reason is None:
        raise incomplete_answer(where, Text("the last chunk is missing"))
    if reason in {"abort", "error"}:
        raise incomplete_answer(where, Text("it ended with {reason!r}", reason=reason))
    return "stop"


def incomplete_answer(where: str, why: str) -> ModelError:
    """Return the error for a response that is incomplete."""
    return ModelUnavailable(Text("{where} broke off its response ({why}): ask again.", where=where, why=why))


class ChunkSource(Protocol):
    """The chunks of one request, over a connection of its own."""

    def next(self) -> StreamChunk | None:
        """Return the next chunk, or None at the end; raises :class:`ModelError`."""

    def shut_down(self) -> None:
        """Shut the connection down; any thread may call this, and a thread waiting in :meth:`next` returns at once."""

    def close(self) -> None:
        """Release the connection; must not be called while another thread is in :meth:`next`."""


class ChatStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`; one thread reads, any thread may close.

    ``where`` names the endpoint in errors; ``started`` is the start of the request by ``time.perf_counter``.
    """

    def __init__(self, chunks: ChunkSource, where: str, started: float) -> None:
        self._chunks = chunks
        self._where = where
        self._started = started
        self._lock = threading.Lock()
        self._reading = False
        self._closed = False
        self._completion: Completion | None = None
        self._pieces = self._read()

    def __iter__(self) -> Iterator[str]:
        """See :class:`~shrag.models.language_model.CompletionStream`; a closed stream ends without an error."""
        return self._pieces

    @property
    def completion(self) -> Completion:
        """See :class:`~shrag.models.language_model.CompletionStream`."""
        if self._completion is None:
            raise RuntimeError("a stream has its completion only after its last piece was read")
        return self._completion

    def close(self) -> None:
        """See :class:`~shrag.models.language_model.CompletionStream`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._completion is None:
                self._chunks.shut_down()
            if self._reading:
                return  # the reading thread sees the end and closes the chunks; two threads must not do so at once
        self._chunks.close()

    def _read(self) -> Iterator[str]:
        reasoning = ReasoningFilter()
        text: list[str] = []
        first: float | None = None
        finish_reason: str | None = None
        usage = TokenUsage()
        while (chunk := self._next()) is not None:
            usage = chunk.usage or usage
            for choice in chunk.choices[:1]:
                finish_reason = choice.finish_reason or finish_reason
                if piece := reasoning.feed(choice.delta.content or ""):
                    first = first or time.perf_counter()
                    text.append(piece)
                    yield piece
        if self._is_closed():
            return
        if piece := reasoning.end():
            first = first or time.perf_counter()
            text.append(piece)
            yield piece
        now = time.perf_counter()
        self._completion = Completion(
            text="".join(text),
            finish_reason=check_finish_reason(self._where, finish_reason),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            seconds=now - self._started,
            first_seconds=(first or now) - self._started,
        )

    def _next(self) -> StreamChunk | None:
        """Return the next chunk, or None at the end or after :meth:`close`."""
        with self._lock:
            if self._closed:
                return None
            self._reading = True
        try:
            return self._chunks.next()
        except ModelError:
            if self._is_closed():
                return None
            self._chunks.close()
            raise
        finally:
            with self._lock:
                self._reading = False
            if self._is_closed():
                self._chunks.close()

    def _is_closed(self) -> bool:
        with self._lock:
            return self._closed
