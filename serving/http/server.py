"""Sockets, uvicorn set-up and graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
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
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shrag.corpora.files import check_name
from shrag.indexing.storage.checksums import Verify
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.language_model import LanguageModel
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import AddressTaken
from shrag.serving.http.access import Access, access_for_host
from shrag.serving.http.connection_limits import Deadlines
from shrag.serving.http.logging import LOGGER, JsonLines
from shrag.serving.retrieval.rerankers import AUTO
from shrag.serving.runtime.admission import AdmissionControl, ServerLimits
from shrag.serving.runtime.hot_reload import CurrentIndex
from shrag.serving.runtime.memory import limit_malloc_arenas

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
    access: Access | None = None,
    ready: Callable[[Engine, str], None],
    verify: Verify = "full",
    model: LanguageModel | None = None,
    reranker: str = AUTO,
    min_score: float | None = None,
    cache: AnswerCache | None = None,
    limits: ServerLimits | None = None,
    log_questions: bool = False,
    shared: bool = False,
) -> None:
    """Serve the index ``name`` until the process is told to stop; ``ready`` is told the address before any request.

    Another generation that is published is taken up meanwhile. ``model`` answers where there is one; while it does not,
    answers are extractive and say so. Answers are kept in ``cache``, which stands for these settings and no others.
    ``limits`` say how much is taken on at once. The log, JSON lines on stderr, has the words of questions only with
    ``log_questions``. Where the address is ``shared``, other processes of the same server listen there too.

    ``access`` says who may ask, by default whoever listens on this machine alone may allow.

    The address is taken first, so that a taken one is said at once. Raises :class:`AddressTaken`, and without
    ``access`` :class:`ServingError` for an address that :func:`~shrag.serving.http.access.access_for_host` refuses.
    """
    access = access or access_for_host(host)
    limit_malloc_arenas()
    with listen(host, port, shared=shared) as listener:
        guarded = CircuitBreaker(model) if model is not None else None

        def open_checked(checked: Verify) -> Engine:
            return open_engine(
                indexes, name, verify=checked, model=guarded, reranker=reranker, min_score=min_score, cache=cache
            )

        with closing(CurrentIndex(indexes / check_name(name), open_checked, verify)) as current:
            current.watch()
            if shared:  # only now, or the system would send connections here that others could answer at once
                listener.listen(socket.SOMAXCONN)
            _say_ready(current, ready, address_of(host, listener) + "/")
            run(create_app(current, access, limits, log_questions=log_questions), listener)


def _say_ready(current: CurrentIndex, ready: Callable[[Engine, str], None], address: str) -> None:
    # In a function of its own: a name that stays would keep the engine, and its files mapped, behind its closing.
    with current.use() as engine:
        ready(engine, address)


def address_of(host: str, listener: socket.socket) -> str:
    """Return the address under which ``listener`` on ``host`` is reached, without a last slash."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def run(app: Starlette, listener: socket.socket) -> None:
    """Serve ``app`` on ``listener`` until told to stop, then drain it; the log goes to stderr."""
    # uvicorn raises the signal again for whoever else listens: stopped as told is success.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _leave_to_the_end()
    with _logging(sys.stderr):
        make_server(app).run(sockets=[listener])


def _leave_to_the_end() -> None:
    """Take what is loaded by now out of the collection of garbage.

    A whole collection walks through all there is, some 50 ms in which nothing is answered. What a server loads to begin
    with it keeps, so there is nothing to be found there.
    """
    gc.collect()
    gc.freeze()


def make_server(app: Starlette) -> uvicorn.Server:
    """Return a server of ``app``, to be run. Its ``app.state.service`` is its :class:`AdmissionControl`."""
    service: AdmissionControl = app.state.service
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=_Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever connects could write them
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
    )
    return _Server(config, service)


class _Connection(Deadlines, HttpToolsProtocol):
    """uvicorn's protocol, with deadlines."""


class _Server(uvicorn.Server):
    """uvicorn's server, which says that it is going before it does.

    After the first signal the address stays open, so that whoever asks whether the server is ready hears that it is
    not; what was begun goes on for a while, then it is told that it is given up. The second signal ends at once.
    """

    def __init__(self, config: uvicorn.Config, service: AdmissionControl) -> None:
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


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds an address for workers, which listen there themselves; port 0 takes any free one.

    Raises :class:`AddressTaken`.
    """
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
