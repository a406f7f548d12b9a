"""Running the application on an address of this machine, and stopping it in order."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from shrag.corpora.names import check_name
from shrag.indexing.seals import Verify
from shrag.models.circuit import CircuitModel
from shrag.models.language_model import LanguageModel
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.connection import Deadlines
from shrag.serving.current_index import CurrentIndex
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import AddressTaken, ServingError
from shrag.serving.guard import LARGEST_HEADERS, LONGEST_ADDRESS
from shrag.serving.limits import Limits
from shrag.serving.request_log import LOGGER, JsonLines
from shrag.serving.rerankers import AUTO
from shrag.serving.service import Service

_GRACE_SECONDS = 9.5
"""How long open answers may go on once the server is told to stop."""

_LAST_WORDS_SECONDS = 1
"""How long what was given up then has to say so and to close its connection."""


def serve(
    indexes: Path,
    name: str,
    *,
    host: str,
    port: int,
    ready: Callable[[Engine, str], None],
    verify: Verify = "full",
    model: LanguageModel | None = None,
    reranker: str = AUTO,
    min_score: float | None = None,
    cache: AnswerCache | None = None,
    limits: Limits | None = None,
    log_questions: bool = False,
    shared: bool = False,
) -> None:
    """Serve the index ``name`` until the process is told to stop; ``ready`` is told the address before any request.

    Another generation that is published is taken up meanwhile. ``model`` answers where there is one; while it does not,
    answers are extractive and say so. Answers are kept in ``cache``, which stands for these settings and no others.
    ``limits`` say how much is taken on at once. The log, JSON lines on stderr, has the words of questions only with
    ``log_questions``. Where the address is ``shared``, other processes of the same server listen there too.

    The address is taken first, so that a taken one is said at once. Raises :class:`AddressTaken`; for an address that
    other machines can reach, :class:`ServingError`: there is no access control yet.
    """
    _check_loopback(host)
    with listen(host, port, shared=shared) as listener:
        guarded = CircuitModel(model) if model is not None else None

        def open_checked(checked: Verify) -> Engine:
            return open_engine(
                indexes, name, verify=checked, model=guarded, reranker=reranker, min_score=min_score, cache=cache
            )

        with closing(CurrentIndex(indexes / check_name(name), open_checked, verify)) as current:
            current.watch()
            bound = listener.getsockname()[1]
            if shared:  # only now, or the system would send connections here that others could answer at once
                listener.listen(socket.SOMAXCONN)
            with current.use() as engine:
                ready(engine, f"http://{f'[{host}]' if ':' in host else host}:{bound}/")
            with _logging(sys.stderr):
                run(create_app(current, limits=limits, log_questions=log_questions), listener)


def run(app: FastAPI, listener: socket.socket) -> None:
    """Serve ``app`` on ``listener`` until told to stop, then drain it."""
    # uvicorn raises the signal again for whoever else listens: stopped as told is success.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _leave_to_the_end()
    make_server(app).run(sockets=[listener])


def _leave_to_the_end() -> None:
    """Take what is loaded by now out of the collection of garbage.

    Whenever Java collects its garbage the bridge has Python walk through all it has, some 50 ms in which nothing is
    answered. What a server loads to begin with it keeps, so there is nothing to be found there.
    """
    gc.collect()
    gc.freeze()


def make_server(app: FastAPI) -> uvicorn.Server:
    """Return a server of ``app``, to be run."""
    service: Service = app.state.service
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_ADDRESS + LARGEST_HEADERS,
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
    )
    return _Server(config, service)


class _Connection(Deadlines, H11Protocol):
    """uvicorn's protocol, with deadlines."""


class _Server(uvicorn.Server):
    """uvicorn's server, which says that it is going before it does.

    After the first signal the address stays open, so that whoever asks whether the server is ready hears that it is
    not; what was begun goes on for a while, then it is told that it is given up. The second signal ends at once.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        if self.should_exit:
            self.force_exit = True
        self._service.drain()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _GRACE_SECONDS
        while self._service.in_flight and not self.force_exit and loop.time() < until:
            await asyncio.sleep(0.05)
        self._service.end()
        await super().shutdown(sockets)


@contextmanager
def _logging(stream: TextIO) -> Iterator[None]:
    """Let the log be written to ``stream``."""
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


def serve_application(create: Callable[[int], ASGIApp], *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve what ``create`` makes for a port until told to stop; ``ready`` is told the address, without a last slash.

    Raises as :func:`serve` does.
    """
    _check_loopback(host)
    with listen(host, port) as listener:
        bound = listener.getsockname()[1]
        ready(f"http://{f'[{host}]' if ':' in host else host}:{bound}")
        config = uvicorn.Config(
            create(bound),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(_GRACE_SECONDS),
        )
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listener])


def _check_loopback(host: str) -> None:
    if not _is_loopback(host):
        raise ServingError(
            f"{host} can be reached from other machines, and SHRAG has no access control yet: "
            "serve on 127.0.0.1 and put a proxy with access control before it."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds an address for workers, which listen there themselves; port 0 takes any free one.

    Raises as :func:`serve` does.
    """
    _check_loopback(host)
    # Another server's workers share their address with whoever asks for a share: who does not is told that it is taken.
    with listen(host, port) as free:
        port = free.getsockname()[1]
    return listen(host, port, shared=True)


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that listens there; port 0 takes any free one. Raises :class:`AddressTaken`.

    A ``shared`` one is bound beside others that are, and does not listen yet.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by name: asyncio sets TCP_NODELAY only on sockets that say they are TCP's, and without it every
    # answer waits 40 ms between its headers and its body.
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
            f"{host}:{port} cannot be listened on ({error.strerror}): stop what uses it or give another --port."
        ) from None
    return listener
