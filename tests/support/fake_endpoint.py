"""A small OpenAI-compatible endpoint on a real socket, which behaves as badly as it is told to."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast

Behaviour = Callable[["Handler", dict[str, Any]], None]


class Endpoint:
    """Answers each chat request with the next behaviour, the last of them again and again; keeps what it was asked.

    ``busy`` answers are under way; ``left`` were given up by who had asked, and ``gone`` is set at the first.
    """

    def __init__(self, *behaviours: Behaviour, version: str | None = "0.32.0", models: Sequence[str] = ("m",)) -> None:
        self.behaviours = list(behaviours)
        self.version = version
        self.models = models
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.gone = threading.Event()
        self.left = 0
        self.busy = 0
        self.lock = threading.Lock()

    def next(self, body: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        with self.lock:
            self.asked.append(body)
            self.headers.append(headers)
            return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]

    def count(self, busy: int = 0, left: int = 0) -> None:
        with self.lock:
            self.busy += busy
            self.left += left
        if left:
            self.gone.set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def endpoint(self) -> Endpoint:
        return cast("Server", self.server).endpoint

    def do_GET(self) -> None:
        self.endpoint.paths.append(self.path)
        if self.path == "/health":
            self.send(200, b"")
        elif self.path == "/v1/models":
            served = [{"id": name, "max_model_len": 2048} for name in self.endpoint.models]
            self.send(200, json.dumps({"object": "list", "data": served}).encode())
        elif self.path == "/version" and self.endpoint.version is not None:
            self.send(200, json.dumps({"version": self.endpoint.version}).encode())
        else:
            self.send(404, b"<html>not here</html>", "text/html")

    def do_POST(self) -> None:
        self.endpoint.paths.append(self.path)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behave = self.endpoint.next(body, headers)
        self.endpoint.count(busy=1)
        try:
            behave(self, body)
        finally:
            self.endpoint.count(busy=-1)

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin_events(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def event(self, data: object) -> None:
        self.chunk(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")

    def nobody_listens(self, seconds: float) -> bool:
        """Wait so long, or until the other end goes, as a server that listens while it writes finds out at once."""
        self.connection.settimeout(max(seconds, 0.001))
        try:
            return len(self.connection.recv(1)) == 0
        except TimeoutError:
            return False
        except OSError:
            return True
        finally:
            self.connection.settimeout(30)

    def cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    endpoint: Endpoint

    def handle_error(self, request: object, client_address: object) -> None:
        del request, client_address
        self.endpoint.count(left=1)


class UnixServer(Server):
    address_family = socket.AF_UNIX


@contextmanager
def serving(endpoint: Endpoint, path: Path | None = None, port: int = 0) -> Iterator[str]:
    """Serve on ``port``, 0 for a free one, or on the socket ``path``; give the address."""
    server = Server(("127.0.0.1", port), Handler) if path is None else UnixServer(cast("Any", str(path)), Handler)
    server.endpoint = endpoint
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"unix:{path}" if path else f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def piece(text: str | None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


def answers(text: str, finish: str | None = "stop", usage: bool = True) -> Behaviour:
    """Whole, or in pieces of four characters where a stream is asked for."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        counted = {"prompt_tokens": 7, "completion_tokens": 3} if usage else None
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
            handler.send(200, json.dumps({"choices": [choice], "usage": counted}).encode())
            return
        handler.begin_events()
        handler.event(piece(""))
        for start in range(0, len(text), 4):
            handler.event(piece(text[start : start + 4]))
        handler.event(piece(None, finish))
        handler.event({"choices": [], "usage": counted})
        handler.event(b"[DONE]")
        handler.chunk(b"")

    return behave


def says(status: int, message: str = "", **headers: str) -> Behaviour:
    """An error as OpenAI's endpoints give it."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        del body
        handler.send(status, json.dumps({"error": {"message": message, "code": status}}).encode(), **headers)

    return behave


def sends(body: bytes, kind: str = "application/json", status: int = 200) -> Behaviour:
    """Whatever bytes."""
    return lambda handler, _: handler.send(status, body, kind)


def breaks_after(*pieces: str) -> Behaviour:
    """A stream that is cut, or no answer at all."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        if body.get("stream") and pieces:
            handler.begin_events()
            for text in pieces:
                handler.event(piece(text))
        handler.cut()

    return behave


def streams(*events: object) -> Behaviour:
    """A stream of any events, ended in order."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        del body
        handler.begin_events()
        for data in events:
            handler.event(data)
        handler.chunk(b"")

    return behave


def goes_on(pause: float, data: bytes | None = None) -> Behaviour:
    """A stream that never ends; it is counted as left when nobody listens any more."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        del body
        handler.begin_events()
        handler.event(piece("a"))
        handler.close_connection = True
        try:
            for _ in range(2_000):
                if handler.nobody_listens(pause):
                    break
                handler.chunk(data) if data is not None else handler.event(piece("a"))
        except OSError:
            pass
        handler.endpoint.count(left=1)

    return behave


def keeps_silent(seconds: float, begin: bool = False) -> Behaviour:
    """Nothing for ``seconds``, after a piece where ``begin``; it is counted as left when the other end goes."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        del body
        if begin:
            handler.begin_events()
            handler.event(piece("a"))
        handler.close_connection = True
        if handler.nobody_listens(seconds):
            handler.endpoint.count(left=1)

    return behave
