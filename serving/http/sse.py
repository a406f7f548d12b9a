"""Server-sent events response.

``event:`` names the kind, ``data:`` is the event as JSON. The last one is ``timings``, or ``error`` with a problem: a
stream that ends with neither was cut. Comments are sent where nothing else is for a while, so that what stands between
does not take the connection for dead. Source: the HTML Living Standard, 9.2, Server-sent events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Protocol

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from shrag.serving.http.problems import problem

MEDIA_TYPE = "text/event-stream"
HEADERS: Mapping[str, str] = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""A proxy that gathers an answer before it passes it on would make waiting for it the rule."""

KEEP_ALIVE = b": keep-alive\n\n"


class Happening(Protocol):
    """What has a name and JSON: an event of a strategy, or what is made of one."""

    @property
    def event(self) -> str:
        """The name it is sent under."""


async def stream_events(
    events: AsyncGenerator[Happening | None, None], first: Happening | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield ``first`` and the events as they are sent; None among them is a time without any."""
    try:
        if first is not None:
            yield _message(first.event, msgspec.json.encode(first))
        async with aclosing(events):
            async for event in events:
                yield KEEP_ALIVE if event is None else _message(event.event, msgspec.json.encode(event))
    except Exception as error:
        yield _message("error", msgspec.json.encode(problem(error)))


class EventStream(StreamingResponse):
    """A stream that is let go of however it ends: ``ended`` is called once, also where it never began."""

    media_type = MEDIA_TYPE

    def __init__(self, messages: AsyncGenerator[bytes, None], ended: Callable[[], None]) -> None:
        super().__init__(messages, headers=HEADERS)
        self._messages = messages
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
            with suppress(RuntimeError):  # it is running still, cancelled, and closes itself
                await self._messages.aclose()


def _message(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
