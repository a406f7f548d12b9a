"""Connections that do not hold the server up: a request comes in time, an answer is read in time, or it is closed.

uvicorn closes neither a request of which half was sent, nor one that comes a byte at a time, nor a stream that nobody
reads.
"""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios

import h11

RECEIVE_SECONDS = 10.0
"""From a connection's start, or from the first byte of a later request, to the last byte of the request."""

UNREAD_SECONDS = 60.0
"""How long what waits to be read may wait while less than ``LEAST_READ`` of it is."""

LEAST_READ = 16 << 10
"""Bytes. Who reads slowly, over a slow line, is waited for; who takes a byte now and then to hold a place is not."""

_TOO_SLOW = b"The request did not come in time.\n"


class Deadlines(asyncio.Protocol):
    """Mixed in before uvicorn's h11 protocol. Bytes that trickle in do not put a deadline off."""

    receive_seconds = RECEIVE_SECONDS
    unread_seconds = UNREAD_SECONDS

    conn: h11.Connection
    transport: asyncio.Transport

    _receiving: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        super().data_received(data)
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._await_request()
        else:
            self._stop_receiving()

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
        """Return the bytes that the client has not taken: those that wait here, and in the kernel, which takes MiBs."""
        waiting = self.transport.get_write_buffer_size()
        try:
            queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        except OSError:  # closed
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
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE} and self.conn.their_state is not h11.ERROR:
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            for event in (
                h11.Response(status_code=408, headers=headers, reason=b"Request Timeout"),
                h11.Data(data=_TOO_SLOW),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _stop_receiving(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
