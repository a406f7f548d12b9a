"""Server-sent events (HTML Living Standard, 9.2): a streamed response of JSON messages, each with an event name.

There is no end marker. Each kind of stream has its own last event: if a client did not receive it, the stream was cut
off.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Protocol

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from shrag.serving.http.problems import problem_body

SSE_TYPE = "text/event-stream"
HEADERS: Mapping[str, str] = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""These headers ask proxies not to cache or buffer the stream."""

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment that is sent while there is no event, so that proxies keep the connection open."""


class NamedEvent(Protocol):
    """An event that is sent as JSON under its name."""

    @property
    def event(self) -> str:
        """The name of the event."""


async def stream_events(
    events: AsyncGenerator[NamedEvent | None, None], first: NamedEvent | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield ``first`` and then ``events`` as messages; None is sent as a keep-alive comment.

    A failure ends the stream with an ``error`` event whose data is a problem (RFC 9457).
    """
    try:
        if first is not None:
            yield _message(first.event, msgspec.json.encode(first))
        async with aclosing(events):
            async for event in events:
                yield KEEP_ALIVE if event is None else _message(event.event, msgspec.json.encode(event))
    except Exception as error:
        yield _message("error", msgspec.json.encode(problem_body(error)))


class SSEResponse(StreamingResponse):
    """A stream of ``messages``. The event loop calls ``on_close`` once, when it ends or if it never began."""

    media_type = SSE_TYPE

    def __init__(self, messages: AsyncGenerator[bytes, None], on_close: Callable[[], None]) -> None:
        super().__init__(messages, headers=HEADERS)
        self._messages = messages
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_close()
            with suppress(RuntimeError):  # the generator is being cancelled and closes itself
                await self._messages.aclose()


def _message(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
