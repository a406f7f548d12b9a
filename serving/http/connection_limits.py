"""Read/write timeouts and header limits per connection, and a limit of their number.

uvicorn closes neither connections whose request is incomplete or arrives a byte at a time, nor streams that nobody
reads, and its httptools protocol does not bound the memory of an incomplete request.
"""

from __future__ import annotations

import asyncio
import fcntl
import resource
import struct
import sys
import termios
from typing import Any

from shrag.serving.http.request_line import escape_request_line

RECEIVE_SECONDS = 10.0
"""From a connection's start, or from the first byte of a later request, to the last byte of the request."""

UNREAD_SECONDS = 60.0
"""Seconds in which a client must read at least :data:`LEAST_READ` of what was sent."""

LEAST_READ = 16 << 10
"""Bytes; a slow line reads so much, a client that only keeps the connection busy does not."""

LARGEST_HEAD = 48 << 10
"""Bytes of a request's address, headers and trailers; the middleware has narrower limits of each."""

MOST_WAITING = 16
"""Pipelined requests that may wait on a connection."""

DESCRIPTORS_KEPT = 256
"""File descriptors that connections leave to the index, its next generation, models and logs."""

_AROUND = len(b": \r\n")
_INVALID = "Invalid HTTP request received."
_TOO_SLOW = b"The request did not come in time.\n"
_REQUEST_TIMEOUT = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_TOO_SLOW), _TOO_SLOW)
)

_REFUSED = b"Too many connections are open: ask again later.\n"
_UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"retry-after: 1\r\ncontent-length: %d\r\n\r\n%b" % (len(_REFUSED), _REFUSED)
)


def most_connections() -> int:
    """Return how many connections may be open: those for which the process has file descriptors, but the kept ones."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(limit - DESCRIPTORS_KEPT, limit // 4)


class Deadlines(asyncio.Protocol):
    """Mixin before uvicorn's httptools protocol; a deadline is not extended by bytes that trickle in.

    A connection beyond :func:`most_connections` is answered by 503 and closed.
    """

    receive_seconds = RECEIVE_SECONDS
    unread_seconds = UNREAD_SECONDS

    cycle: Any
    """uvicorn's last request and its response; None before the first."""

    pipeline: Any
    """uvicorn's pipelined requests that wait."""

    transport: asyncio.Transport

    connections: set[Any]
    """uvicorn's open connections, this one too."""

    _receiving: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _half_here = False
    _line_goes_on = False
    _head_is_here = False
    _head_bytes = 0
    _unparsed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            self.connection_refused()
            self.transport.write(_UNAVAILABLE)
            self.transport.close()
            return
        self._await_request()

    def connection_refused(self) -> None:
        """Count a connection that is refused."""

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._line_goes_on or not self._half_here:
            data, self._line_goes_on = escape_request_line(data)
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > LARGEST_HEAD:
            # The parser keeps every byte of a line that does not end.
            self.send_400_response(_INVALID)
        if self._half_here or not self._answering():
            self._await_request()
        else:
            self._stop_receiving()

    def on_message_begin(self) -> None:
        """See httptools."""
        self._half_here, self._head_is_here, self._head_bytes = True, False, 0
        super().on_message_begin()  # type: ignore[misc]

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools; a header or a trailer."""
        self._unparsed = 0
        self._head_bytes += len(name) + len(value) + _AROUND
        if self._head_bytes > LARGEST_HEAD:
            raise ValueError("The headers are too large.")
        super().on_header(name, value)  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._unparsed, self._head_is_here = 0, True
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("Too many requests wait.")
        super().on_headers_complete()  # type: ignore[misc]

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        self._unparsed = 0
        super().on_body(body)  # type: ignore[misc]

    def on_message_complete(self) -> None:
        """See httptools."""
        self._unparsed, self._half_here = 0, False
        super().on_message_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """See uvicorn; does nothing on a closed connection."""
        if not self.transport.is_closing():
            super().send_400_response(msg)  # type: ignore[misc]

    def shutdown(self) -> None:
        """See uvicorn; a connection on which a request is just coming in goes on, and is closed behind its response."""
        if not self._half_here or self._answering():
            super().shutdown()  # type: ignore[misc]

    def pause_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        super().pause_writing()
        if self._unread is None:
            self._await_reader(self._unsent())

    def resume_writing(self) -> None:
        """See :class:`asyncio.Protocol`."""
        super().resume_writing()
        self._stop_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._stop_receiving()
        self._stop_unread()
        super().connection_lost(exc)

    def _await_reader(self, unsent: int) -> None:
        self._unread = asyncio.get_running_loop().call_later(self.unread_seconds, self._too_little_read, unsent)

    def _too_little_read(self, before: int) -> None:
        """Close the connection, unless enough was read since ``before`` bytes were unsent."""
        unsent = self._unsent()
        if before - unsent < LEAST_READ:
            self.transport.abort()
        else:
            self._await_reader(unsent)

    def _unsent(self) -> int:
        """Return the bytes not yet sent to the client: in uvicorn's buffer and in the kernel's, which takes MiBs."""
        waiting = self.transport.get_write_buffer_size()
        try:
            queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        except (OSError, ValueError):  # closed
            return waiting
        (in_kernel,) = struct.unpack("i", queued)
        return waiting + int(in_kernel)

    def _await_request(self) -> None:
        if self._receiving is None:
            self._receiving = asyncio.get_running_loop().call_later(self.receive_seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._receiving = None
        if self.transport.is_closing():
            return
        if self._answering() and (len(self.pipeline) or not self._head_is_here):
            # An incomplete pipelined request is read no further before the response under way is sent.
            self._await_request()
            return
        if not (self._answering() and self.cycle.response_started):
            self.transport.write(_REQUEST_TIMEOUT)
        self.transport.close()

    def _answering(self) -> bool:
        """Say whether a response is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_receiving(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
