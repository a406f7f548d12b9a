"""Streamed completion, closable from any thread; strict decoding of chunks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from shrag.models.chat.reasoning import ThinkingFilter
from shrag.models.errors import ModelError, ModelUnavailable
from shrag.models.language_model import Completion


class Text(msgspec.Struct):
    """A message, or the next piece of one."""

    content: str | None = None


class Usage(msgspec.Struct):
    """Tokens, counted by the endpoint."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class AnswerChoice(msgspec.Struct):
    """A whole answer."""

    message: Text
    finish_reason: str | None = None


class ChatAnswer(msgspec.Struct):
    """The body of an answer that is not streamed."""

    choices: list[AnswerChoice]
    usage: Usage | None = None


class ChunkChoice(msgspec.Struct):
    """A piece of an answer; the last has a reason."""

    delta: Text = msgspec.field(default_factory=Text)
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct):
    """One event of a stream; the last has the usage and no choice."""

    choices: list[ChunkChoice]
    usage: Usage | None = None


def finished(where: str, reason: str | None) -> Literal["stop", "length"]:
    """Return how an answer ended; raises where the endpoint ended it, or nobody did."""
    if reason == "length":
        return "length"
    if reason is None:
        raise broke_off(where, "no last piece came")
    if reason in {"abort", "error"}:
        raise broke_off(where, f"it says {reason!r}")
    return "stop"


def broke_off(where: str, why: str) -> ModelError:
    """Return the error of an answer that began and did not end."""
    return ModelUnavailable(f"{where} broke off its answer ({why}): ask again.")


class Chunks(Protocol):
    """The events of one request over a connection of its own."""

    def next(self) -> ChatChunk | None:
        """Return the next, None at the end; raises :class:`ModelError`."""

    def shut(self) -> None:
        """End the connection, from any thread; who waits in :meth:`next` sees its end at once."""

    def close(self) -> None:
        """Let go of it; not while another thread is in :meth:`next`."""


class ChatStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`; one thread reads, any may close.

    ``where`` names the endpoint in errors; ``asked`` is when it was asked, by ``time.perf_counter``.
    """

    def __init__(self, chunks: Chunks, where: str, asked: float) -> None:
        self._chunks = chunks
        self._where = where
        self._asked = asked
        self._lock = threading.Lock()
        self._reading = False
        self._closed = False
        self._completion: Completion | None = None
        self._pieces = self._read()

    def __iter__(self) -> Iterator[str]:
        """See :class:`~shrag.models.language_model.CompletionStream`; ends early, without an error, when closed."""
        return self._pieces

    @property
    def completion(self) -> Completion:
        """See :class:`~shrag.models.language_model.CompletionStream`."""
        if self._completion is None:
            raise RuntimeError("a stream has its completion once its last piece was taken")
        return self._completion

    def close(self) -> None:
        """See :class:`~shrag.models.language_model.CompletionStream`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._completion is None:
                self._chunks.shut()
            if self._reading:
                return  # the reader sees the end and lets go; two threads must not do so at once
        self._chunks.close()

    def _read(self) -> Iterator[str]:
        thinking = ThinkingFilter()
        text: list[str] = []
        first: float | None = None
        ended: str | None = None
        usage = Usage()
        while (chunk := self._next()) is not None:
            usage = chunk.usage or usage
            for choice in chunk.choices[:1]:
                ended = choice.finish_reason or ended
                if piece := thinking.feed(choice.delta.content or ""):
                    first = first or time.perf_counter()
                    text.append(piece)
                    yield piece
        if self._is_closed():
            return
        if piece := thinking.end():
            first = first or time.perf_counter()
            text.append(piece)
            yield piece
        now = time.perf_counter()
        self._completion = Completion(
            text="".join(text),
            finish_reason=finished(self._where, ended),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            seconds=now - self._asked,
            first_seconds=(first or now) - self._asked,
        )

    def _next(self) -> ChatChunk | None:
        """Return the next chunk, None at the end or where closed."""
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
