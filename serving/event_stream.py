"""The events of a question as server-sent events, each as it happens; a client that leaves stops the work.

``event:`` names the kind, ``data:`` is the event as JSON. The last one is ``timings``, or ``error`` with a problem: a
stream that ends with neither was cut. Comments are sent where nothing else is for a while, so that what stands between
does not take the connection for dead. Source: the HTML Living Standard, 9.2, Server-sent events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from typing import Protocol

import msgspec

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""A proxy that gathers an answer before it passes it on would make waiting for it the rule."""

_KEEP_ALIVE_SECONDS = 15.0
_KEEP_ALIVE = b": keep-alive\n\n"


class Happening(Protocol):
    """What has a name and JSON: an event of a strategy, or what is made of one."""

    @property
    def event(self) -> str:
        """The name it is sent under."""


class Stoppable(Protocol):
    """What happens, one by one, as :class:`~shrag.serving.asking.Asking` has it."""

    def __next__(self) -> Happening:
        """Return what happens next."""

    def __iter__(self) -> Iterator[Happening]:
        """Return itself."""

    def close(self) -> None:
        """End it, from the thread that takes what happens."""

    def cancel(self) -> None:
        """End it, from any thread."""


async def stream_events(
    asking: Stoppable, workers: Executor, problem: Callable[[Exception], bytes], keep_alive: float = _KEEP_ALIVE_SECONDS
) -> AsyncIterator[bytes]:
    """Yield the events as they are sent; ``problem`` makes an error's data. They are taken by ``workers``."""
    loop = asyncio.get_running_loop()
    taken: asyncio.Future[Happening | None] | None = None
    try:
        while True:
            taken = loop.run_in_executor(workers, next, asking, None)
            while not taken.done():
                await asyncio.wait([taken], timeout=keep_alive)
                if not taken.done():
                    yield _KEEP_ALIVE
            event = taken.result()
            if event is None:
                return
            yield _message(event.event, msgspec.json.encode(event))
    except Exception as error:
        yield _message("error", problem(error))
    finally:
        # The client may have left in the middle of a step: what it waits for is let go of here, and the rest is closed
        # once the step is over, by a thread that may wait.
        asking.cancel()
        if taken is not None and not taken.done():
            taken.add_done_callback(lambda _: workers.submit(asking.close))
        else:
            asking.close()


def _message(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
