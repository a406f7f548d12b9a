"""A transport that joins all writes of one step of the event loop, and sends them at once.

uvicorn writes the head of a response and then its body, and uvloop sends each on its own. That makes two packets, and
the first one wakes the client for nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any


class JoinedWrites:
    """Wraps an asyncio transport, which provides all other attributes."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the transport has)
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send ``data`` after everything else that was written in this step."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        """See :class:`asyncio.Transport`. Written data is sent first."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """See :class:`asyncio.Transport`. Written data that waits is not sent."""
        self._written.clear()
        self._transport.abort()

    def _send(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            self._transport.writelines(written)
