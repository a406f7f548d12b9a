"""Running the application on an address of this machine."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from shrag.indexing.seals import Verify
from shrag.models.language_model import LanguageModel
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import AddressTaken, ServingError
from shrag.serving.rerankers import LEXICAL

_GRACE_SECONDS = 10


def serve(
    indexes: Path,
    name: str,
    *,
    host: str,
    port: int,
    ready: Callable[[Engine, str], None],
    verify: Verify = "full",
    model: LanguageModel | None = None,
    reranker: str = LEXICAL,
    min_score: float | None = None,
) -> None:
    """Serve the index ``name`` until the process is told to stop; ``ready`` is told the address before any request.

    ``model`` answers where there is one; while it does not, answers are extractive and say so.

    The address is taken first, so that a taken one is said at once. Raises :class:`AddressTaken`; for an address that
    other machines can reach, :class:`ServingError`: there is no access control yet.
    """
    _check_loopback(host)
    with _listen(host, port) as listener:
        engine = open_engine(indexes, name, verify=verify, model=model, reranker=reranker, min_score=min_score)
        bound = listener.getsockname()[1]
        ready(engine, f"http://{f'[{host}]' if ':' in host else host}:{bound}/")
        config = uvicorn.Config(
            create_app(engine),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        # uvicorn drains on SIGTERM and then raises it again for whoever else listens: stopped as told is success.
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listener])


def serve_application(create: Callable[[int], ASGIApp], *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve what ``create`` makes for a port until told to stop; ``ready`` is told the address, without a last slash.

    Raises as :func:`serve` does.
    """
    _check_loopback(host)
    with _listen(host, port) as listener:
        bound = listener.getsockname()[1]
        ready(f"http://{f'[{host}]' if ':' in host else host}:{bound}")
        config = uvicorn.Config(
            create(bound),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
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


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by name: asyncio sets TCP_NODELAY only on sockets that say they are TCP's, and without it every
    # answer waits 40 ms between its headers and its body.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise AddressTaken(
            f"{host}:{port} cannot be listened on ({error.strerror}): stop what uses it or give another --port."
        ) from None
    return listener
