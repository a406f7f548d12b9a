"""Sockets, uvicorn set-up and graceful shutdown."""

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
"""Seconds after that for which open connections may send one more request, whose response says that they are closed."""

_HANDSHAKE_SECONDS = 0.1
"""Seconds in which connections that a client has begun to open are accepted before the address is closed."""

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of socket(7), which Python has no name for."""

_DROP_SYN = (
    (0x30, 0, 0, 13),  # load the byte of TCP's flags
    (0x45, 0, 1, 2),  # if SYN is set, the next instruction, else the one after it
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0x7FFFFFFF),  # pass it
)
"""A filter of the packets for a listening socket, as instructions of the classic BPF: no new connection begins."""

_SWITCH_SECONDS = 0.001
"""Seconds after which a thread that computes lets others on (the interpreter's default: 0.005). A search gives the
interpreter away at each call of Lucene and has to wait so long for each answer that computes to get it back."""

_CLOSE_SECONDS = 1
"""Seconds that requests given up then have to send their error and close the connection."""


def address_of(host: str, listener: socket.socket) -> str:
    """Return the address under which ``listener`` on ``host`` is reached, without a last slash."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _nothing() -> None:
    """Do nothing: a server that nobody supervises sends no heartbeat."""


def stop_at_sigterm(server: uvicorn.Server) -> None:
    """Let ``server`` stop at SIGTERM, also at one that comes before :func:`run`; stopping on request is success.

    uvicorn has handlers of its own while it runs, and raises the signal again behind them.
    """
    signal.signal(signal.SIGTERM, server.handle_exit)


def run(server: Server, listener: socket.socket) -> None:
    """Serve on ``listener`` until SIGTERM or SIGINT, then let running requests end; log to stderr.

    Raises:
        KeyboardInterrupt: After SIGINT.
    """
    # A full garbage collection takes some 50 ms, in which nothing is answered: exclude the objects that exist now.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_SECONDS)
    record_ended_threads()
    with _logging(sys.stderr):
        server.run(sockets=[listener])
    # uvicorn raises the signal again as the event loop ends, where the exception can be lost.
    if server.interrupted:
        raise KeyboardInterrupt


def make_server(app: Starlette, send_heartbeat: Callable[[], None] = _nothing) -> Server:
    """Return a server to run ``app``, whose ``app.state.service`` is an :class:`AdmissionControl`.

    The event loop calls ``send_heartbeat`` about every second while it accepts requests.
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
    """uvicorn's protocol, with deadlines, a limit of connections, and responses sent in one piece."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(cast("asyncio.Transport", JoinedWrites(cast("asyncio.Transport", transport))))

    def connection_refused(self) -> None:
        """See :class:`Deadlines`."""
        self.config.app.state.service.metrics.rejected("too_many_connections")  # type: ignore[union-attr]


class Server(uvicorn.Server):
    """uvicorn's server with a graceful shutdown.

    At the first signal readiness ends. What comes within the next second is answered still, with ``Connection: close``;
    then the address and all idle connections are closed. What runs then may end within the grace, and gets an error
    behind it. A second signal ends the server at once.
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
        if _CLOSE not in self.server_state.default_headers:  # which uvicorn makes anew each second until now
            self.server_state.default_headers.append(_CLOSE)
        # A connection that is closed while a request is on its way to it would cost that request.
        await self._wait_while(lambda: bool(open_connections), ends - _GRACE_SECONDS + _LAST_REQUEST_SECONDS)
        await self._stop_listening(sockets or [])
        for connection in list(open_connections):
            connection.shutdown()
        await self._wait_while(lambda: bool(self._service.in_flight or open_connections), ends)
        self._service.end()
        await super().shutdown(sockets)

    async def _wait_while(self, goes_on: Callable[[], bool], until: float) -> None:
        """Wait while ``goes_on``, at most until that time of the loop, and not after a second signal."""
        loop = asyncio.get_running_loop()
        while goes_on() and not self.force_exit and loop.time() < until:
            await asyncio.sleep(0.02)

    async def _stop_listening(self, sockets: list[socket.socket]) -> None:
        """Close the address without losing a connection.

        The kernel resets connections that are not accepted yet when their socket is closed. So it first lets no new one
        begin: its client asks again after a second, and is then answered by another process on the port, or refused.
        """
        refused = [refuse_connections(each) for each in sockets]
        if any(refused):
            await asyncio.sleep(_HANDSHAKE_SECONDS)
        for server in self.servers:
            server.close()
        for each in sockets:
            each.close()
        await asyncio.sleep(0)  # the event loop closes them in its next round


@contextmanager
def _logging(stream: TextIO) -> Iterator[None]:
    """Write the log to ``stream``."""
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
    """Let no new connection begin at ``listener``, whose open ones go on; return False where the system cannot."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _DROP_SYN))
    try:
        listener.setsockopt(
            socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", len(_DROP_SYN), ctypes.addressof(program))
        )
    except OSError:  # not Linux, or closed already
        return False
    return True


def reserve(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that reserves an address for workers, which listen on it themselves; port 0 takes any free one.

    Raises :class:`AddressTaken`, unless ``shared`` where another server shares the port too.
    """
    if not shared:
        # A shared bind would succeed beside another server's workers: bind exclusively first.
        with listen(host, port) as free:
            port = free.getsockname()[1]
    return listen(host, port, shared=True)


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raises :class:`AddressTaken`.

    A ``shared`` socket is bound with SO_REUSEPORT and does not listen yet.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only on TCP sockets; without it every response waits 40 ms
    # between its headers and its body.
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
