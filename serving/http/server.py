"""The server's sockets, the configuration of uvicorn, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO, cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shrag.messages.text import Text
from shrag.serving.errors import AddressTaken
from shrag.serving.http.connection_limits import Deadlines
from shrag.serving.http.joined_writes import JoinedWrites
from shrag.serving.http.logging import LOGGER, JsonLines
from shrag.serving.runtime.admission import AdmissionControl
from shrag.serving.runtime.background import record_ended_threads

_GRACE_SECONDS = 9.5
"""Seconds that requests may take once the server is told to stop."""

_CLOSE = (b"connection", b"close")

_LAST_REQUEST_SECONDS = 1.0
"""Seconds, once the server is told to stop, in which an open connection may send one more request. Its response says
``Connection: close``."""

_HANDSHAKE_SECONDS = 0.1
"""Seconds before the address is closed, in which connections that clients have begun to open are still accepted."""

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of socket(7), which Python has no name for."""

_DROP_SYN = (
    (0x30, 0, 0, 13),  # load the byte of TCP's flags
    (0x45, 0, 1, 2),  # if SYN is set, the next instruction, else the one after it
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0x7FFFFFFF),  # pass it
)
"""A packet filter for a listening socket, in instructions of classic BPF. With it, no new connection begins."""

_SWITCH_SECONDS = 0.001
"""Seconds after which a computing thread gives the interpreter to others (Python's default: 0.005). A search gives it
away at each call of Lucene. To get it back, the search waits so long for each computing answer."""

_CLOSE_SECONDS = 1
"""Seconds in which requests that are given up can send their error and close the connection."""


def address_of(host: str, listener: socket.socket) -> str:
    """Return the address under which ``listener`` on ``host`` is reached, without a slash at its end."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _nothing() -> None:
    """Do nothing: a server without a supervisor sends no heartbeat."""


def stop_at_sigterm(server: uvicorn.Server) -> None:
    """Let ``server`` stop at SIGTERM with success, even if the signal comes before :func:`run`.

    While uvicorn runs, it has its own signal handlers. It raises the signal again at its end, and this handler then
    takes it.
    """
    signal.signal(signal.SIGTERM, server.handle_exit)


def run(server: Server, listener: socket.socket) -> None:
    """Serve on ``listener`` until SIGTERM or SIGINT, then let running requests end. The log goes to stderr.

    Raises:
        KeyboardInterrupt: After SIGINT.
    """
    # Nothing is answered during a full garbage collection, which takes some 50 ms. Freezing excludes present objects.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_SECONDS)
    record_ended_threads()
    with _logging(sys.stderr):
        server.run(sockets=[listener])
    # uvicorn raises the signal again while the event loop ends, and the exception can get lost there.
    if server.interrupted:
        raise KeyboardInterrupt


def make_server(app: Starlette, send_heartbeat: Callable[[], None] = _nothing) -> Server:
    """Return a server for ``app``, whose ``app.state.service`` must be an :class:`AdmissionControl`.

    The event loop calls ``send_heartbeat`` about every second while the server accepts requests.
    """
    service: AdmissionControl = app.state.service
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=_Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # any client could send them
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    return Server(config, service, send_heartbeat)


class _Connection(Deadlines, HttpToolsProtocol):
    """uvicorn's protocol with deadlines, a limit of connections, and responses that are sent in one piece."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(cast("asyncio.Transport", JoinedWrites(cast("asyncio.Transport", transport))))

    def connection_refused(self) -> None:
        """See :class:`Deadlines`."""
        self.config.app.state.service.metrics.rejected("too_many_connections")  # type: ignore[union-attr]


class Server(uvicorn.Server):
    """uvicorn's server with a graceful shutdown.

    At the first signal, the server stops being ready. It still answers requests that come within the next second, with
    ``Connection: close``. Then it closes the address and all idle connections. Requests that still run may end within
    :data:`_GRACE_SECONDS`; after that they get an error. A second signal ends the server at once.
    """

    interrupted = False
    """Whether SIGINT was one of the signals."""

    def __init__(self, config: uvicorn.Config, service: AdmissionControl, send_heartbeat: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._send_heartbeat = send_heartbeat

    async def on_tick(self, counter: int) -> bool:
        """See uvicorn, which calls this ten times a second."""
        if counter % 10 == 0:
            self._send_heartbeat()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        if self.should_exit:
            self.force_exit = True
        self.interrupted |= sig == signal.SIGINT
        self._service.drain()
        self.server_state.default_headers.append(_CLOSE)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        ends = asyncio.get_running_loop().time() + _GRACE_SECONDS
        open_connections = self.server_state.connections
        if _CLOSE not in self.server_state.default_headers:  # uvicorn makes the list anew each second until here
            self.server_state.default_headers.append(_CLOSE)
        # If a connection is closed while a request is on its way, that request is lost.
        await self._wait_while(lambda: bool(open_connections), ends - _GRACE_SECONDS + _LAST_REQUEST_SECONDS)
        await self._stop_listening(sockets or [])
        for connection in list(open_connections):
            connection.shutdown()
        await self._wait_while(lambda: bool(self._service.in_flight or open_connections), ends)
        self._service.end()
        await super().shutdown(sockets)

    async def _wait_while(self, goes_on: Callable[[], bool], until: float) -> None:
        """Wait while ``goes_on()``, at most until that time of the loop. A second signal ends the wait."""
        loop = asyncio.get_running_loop()
        while goes_on() and not self.force_exit and loop.time() < until:
            await asyncio.sleep(0.02)

    async def _stop_listening(self, sockets: list[socket.socket]) -> None:
        """Close the address without losing a connection.

        When a listening socket is closed, the kernel resets its connections that are not accepted yet. So a filter
        first keeps new ones from beginning. Their clients try again after a second. By then, another process on the
        port answers them, or they are refused.
        """
        refused = [refuse_connections(each) for each in sockets]
        if any(refused):
            await asyncio.sleep(_HANDSHAKE_SECONDS)
        for server in self.servers:
            server.close()
        for each in sockets:
            each.close()
        await asyncio.sleep(0)  # the event loop closes them in its next step


@contextmanager
def _logging(stream: TextIO) -> Iterator[None]:
    """Write the log to ``stream`` during the ``with`` block."""
    lines = JsonLines(stream)
    loggers = {name: logging.getLogger(name) for name in (LOGGER, "uvicorn.error", "asyncio")}
    for name, logger in loggers.items():
        logger.addHandler(lines)
        logger.setLevel(logging.INFO if name == LOGGER else logging.ERROR)
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers.values():
            logger.removeHandler(lines)
        lines.close()


def refuse_connections(listener: socket.socket) -> bool:
    """Keep new connections from beginning at ``listener``; open ones go on. Return False if the system cannot do it."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _DROP_SYN))
    try:
        listener.setsockopt(
            socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", len(_DROP_SYN), ctypes.addressof(program))
        )
    except OSError:  # not Linux, or closed already
        return False
    return True


def reserve(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that reserves an address for workers, which listen on it themselves. Port 0 takes any free port.

    Raises :class:`AddressTaken` if another server uses the port. If ``shared``, it may be another server that shares
    its port.
    """
    if not shared:
        # Beside the workers of another server, a shared bind would succeed. So bind exclusively first.
        with listen(host, port) as free:
            port = free.getsockname()[1]
    return listen(host, port, shared=True)


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a listening socket. Port 0 takes any free port. Raises :class:`AddressTaken`.

    A ``shared`` socket is bound with SO_REUSEPORT, and does not listen yet.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only on sockets that name TCP. Without TCP_NODELAY, every
    # response waits 40 ms between its headers and its body.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
        if not shared:
            listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise AddressTaken(
            Text(
                "{host}:{port} cannot be listened on ({strerror}): stop what uses it or give another --port.",
                host=host,
                port=port,
                strerror=error.strerror,
            )
        ) from None
    return listener
