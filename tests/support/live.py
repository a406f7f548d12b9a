"""The real server over real sockets, in a thread of this process, and clients that read no more than they want."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette

from shrag.models.language_model import LanguageModel
from shrag.serving.api.service import Service
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http.server import listen, make_server
from shrag.serving.runtime.admission import ServerLimits

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


class KeptEngine(Engine):
    """An engine over an index that other tests use too."""

    def close(self) -> None:
        return


class Live:
    """A running server."""

    loop: asyncio.AbstractEventLoop

    def __init__(self, port: int, service: Service, server: uvicorn.Server, thread: threading.Thread) -> None:
        self.port = port
        self.service = service
        self.server = server
        self.thread = thread
        self.url = f"http://127.0.0.1:{port}"

    @property
    def tasks(self) -> int:
        """The tasks of its event loop."""
        return len(asyncio.all_tasks(self.loop))

    def begin_every_thread(self) -> None:
        """Let each place have its thread: it gets one when it is first needed, however many clients come before."""
        for gate in (self.service.searches, self.service.asks):
            together = threading.Barrier(gate.workers._max_workers)
            list(gate.workers.map(lambda _, all_here=together: all_here.wait(30), range(together.parties)))

    def connect(self) -> socket.socket:
        """Return a connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> socket.socket:  # noqa: ANN401
        """Return a connection that a request was sent on."""
        data = b"" if body is None else json.dumps(body).encode()
        head = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(data)), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
        connection = self.connect()
        connection.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + data)
        return connection

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, str]:  # noqa: ANN401
        """Return the status, the head and the body of an answer; the connection is closed behind it."""
        with self.send(method, path, body, connection="close", **headers) as connection:
            return split(read_all(connection))


def read_all(connection: socket.socket) -> bytes:
    """Read until the other end closes."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def split(answer: bytes) -> tuple[int, str, str]:
    """Return the status, the head and the body of an answer, chunked or not."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            whole, rest = whole + rest[:length], rest[length + 2 :]
        body = whole
    return int(head.split(b" ", 2)[1]), head.decode().lower(), body.decode()


@contextmanager
def live(
    demo: Engine, model: LanguageModel | None = None, limits: ServerLimits | None = None, *, log_questions: bool = False
) -> Iterator[Live]:
    """Serve the demonstration index on a free port."""
    with live_app(create_app(KeptEngine(demo.open_index, model), limits=limits, log_questions=log_questions)) as server:
        yield server


@contextmanager
def live_app(app: Starlette) -> Iterator[Live]:
    """Serve an application on a free port."""
    with listen("127.0.0.1", 0) as listener:
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        running = Live(listener.getsockname()[1], app.state.service, server, thread)
        serve = server.serve

        async def noting_its_loop(sockets: list[socket.socket] | None = None) -> None:
            running.loop = asyncio.get_running_loop()
            await serve(sockets)

        server.serve = noting_its_loop  # type: ignore[method-assign]
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield running
        finally:
            server.should_exit = True
            thread.join(15)
            assert not thread.is_alive()


def wait_until(true: Any, seconds: float = 10.0) -> float:  # noqa: ANN401
    """Wait until ``true()``; return how long it took."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, "it did not come true"
        time.sleep(0.005)
    return time.monotonic() - started
