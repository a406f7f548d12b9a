"""Limits of connections: timeouts for reading and writing, the size of headers, and the number of connections.

uvicorn lacks these. It does not close a connection whose request is incomplete or arrives a byte at a time, nor a
stream that nobody reads. Its httptools protocol does not bound the memory of an incomplete request.
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
"""Seconds allowed from a connection's start, or from a later request's first byte, to the request's last byte."""

UNREAD_SECONDS = 60.0
"""Seconds in which a client must read at least :data:`LEAST_READ` of what was sent."""

LEAST_READ = 16 << 10
"""Bytes. A client on a slow line reads that many; a client that only keeps the connection busy does not."""

LARGEST_HEAD = 48 << 10
"""Bytes of a request's address, headers and trailers together. The middleware has narrower limits for each."""

MOST_WAITING = 16
"""Pipelined requests that may wait on a connection."""

DESCRIPTORS_KEPT = 256
"""File descriptors that connections leave free for the index, its next generation, models and logs."""

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
    """Return how many connections may be open: one for each file descriptor but the kept ones, at least a quarter."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(limit - DESCRIPTORS_KEPT, limit // 4)


class Deadlines(asyncio.Protocol):
    """Mixin for uvicorn's httptools protocol, to be named before it. Bytes that trickle in do not extend a deadline.

    A connection beyond :func:`most_connections` gets a 503 and is closed.
    """

    receive_seconds = RECEIVE_SECONDS
    unread_seconds = UNREAD_SECONDS

    cycle: Any
    """uvicorn's last request and its response; None before the first."""

    pipeline: Any
    """uvicorn's queue of pipelined requests."""

    transport: asyncio.Transport

    connections: set[Any]
    """uvicorn's open connections, this one included."""

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
        """Count a refused connection; a subclass may override this."""

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._line_goes_on or not self._half_here:
            data, self._line_goes_on = escape_request_line(data)
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > LARGEST_HEAD:
            # The parser keeps every byte of a line until the line ends.
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
        """See httptools, which calls this for trailers too."""
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
        """See uvicorn. A connection that is receiving a request stays open until that request is answered."""
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
        """Close the connection unless the client has read enough since ``before`` bytes were unsent."""
        unsent = self._unsent()
        if before - unsent < LEAST_READ:
            self.transport.abort()
        else:
            self._await_reader(unsent)

    def _unsent(self) -> int:
        """Return the bytes not yet sent: in the transport's buffer, and in the kernel's, which takes MiBs."""
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
            # Until the current response is sent, an incomplete pipelined request is not read further.
            self._await_request()
            return
        if not (self._answering() and self.cycle.response_started):
            self.transport.write(_REQUEST_TIMEOUT)
        self.transport.close()

    def _answering(self) -> bool:
        """Return whether a response is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_receiving(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
