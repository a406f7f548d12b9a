"""HTTP client of an endpoint, which connects to the configured address only.

The only file that imports ``httpx2``, which ``openai`` stands on; itself imported only where an endpoint is talked to.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import httpx2

from shrag.models.chat.endpoint import Address, Timeouts
from shrag.models.errors import ModelUnavailable

HTTP_ERRORS = (httpx2.HTTPError, httpx2.StreamError)
"""What reading from the client raises by itself, where ``openai`` does not catch it."""

# What a request may carry. The client libraries add more, some of it from the environment (an organisation, a
# project, "custom headers", the machine's make): none of that is the endpoint's business.
_SENT = frozenset({"accept", "connection", "content-length", "content-type", "host"})
_LARGEST_ANSWER = 4 * 2**20


class EndpointClient(httpx2.Client):
    """Reaches one address. Safe to share between threads.

    Nothing is read from the environment (proxies, certificates, netrc), no redirect is followed, no header is sent but
    what HTTP needs and ``api_key``. An answer is given up, as timed out, where it comes for longer than
    ``timeouts.total`` however steadily, and where it is larger than 4 MiB.
    """

    def __init__(self, address: Address, timeouts: Timeouts, api_key: str = "") -> None:
        super().__init__(
            transport=_Transport(address, timeouts.total, api_key),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(timeouts.read, connect=timeouts.connect),
        )
        self.address = address

    def fetch(self, path: str, seconds: float = 5.0) -> tuple[int, bytes]:
        """Return the status and body of ``path`` below the address's root; raises :class:`ModelUnavailable`."""
        try:
            answer = self.get(self.address.root + path, timeout=seconds)
        except HTTP_ERRORS as error:
            raise ModelUnavailable(f"{self.address.given} does not answer ({reason(error)}).") from None
        return answer.status_code, answer.content


def shut(response: httpx2.Response) -> None:
    """End the connection under ``response`` from any thread; who is reading from it reads its end at once.

    Closing it would not do: a thread that waits for bytes keeps a closed socket open until some come.
    """
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is not None:
        try:
            # Not the method of a TLS socket, which also forgets the keys that the reader still uses.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        except OSError:
            return  # it has ended by itself


def reason(error: BaseException) -> str:
    """Say in a few words why a connection failed."""
    words = {
        httpx2.ConnectTimeout: "no connection in time",
        httpx2.ReadTimeout: "nothing more in time",
        httpx2.PoolTimeout: "too many requests at once",
        httpx2.RemoteProtocolError: "it broke off or does not speak HTTP",
    }
    for kind, says in words.items():
        if isinstance(error, kind):
            return str(error) if kind is httpx2.ReadTimeout and "whole" in str(error) else says
    return str(error).removeprefix("[").replace("] ", ": ") or type(error).__name__


class _Transport(httpx2.BaseTransport):
    def __init__(self, address: Address, seconds: float, api_key: str) -> None:
        self._address = address
        self._origin = _origin(httpx2.URL(address.root))
        self._seconds = seconds
        self._headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
        self._inner = httpx2.HTTPTransport(
            uds=address.socket or None,
            trust_env=False,
            limits=httpx2.Limits(max_connections=256, max_keepalive_connections=16, keepalive_expiry=5),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != self._origin:
            raise httpx2.UnsupportedProtocol(f"{request.url.host} is not the endpoint {self._address.given}")
        if self._address.socket:
            _knock(self._address.socket, request.extensions["timeout"]["connect"])
        kept = {name: value for name, value in request.headers.items() if name.lower() in _SENT}
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=kept | self._headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        deadline = time.monotonic() + self._seconds
        response = self._inner.handle_request(sent)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Bounded(response.stream, deadline, self._seconds)
        return response

    def close(self) -> None:
        self._inner.close()


class _Bounded(httpx2.SyncByteStream):
    """A body that ends in an error when its time or its room is over."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float, seconds: float) -> None:
        self._stream = stream
        self._deadline = deadline
        self._seconds = seconds

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout(f"not whole after {self._seconds:g} seconds")
            if size > _LARGEST_ANSWER:
                raise httpx2.ReadError("an answer larger than 4 MiB")
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _knock(path: str, seconds: float | None) -> None:
    """Raise ``ConnectError`` where nobody listens: httpcore leaves a socket that did not connect unclosed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(seconds)
        try:
            knocking.connect(path)
        except OSError as error:
            raise httpx2.ConnectError(error.strerror or str(error)) from None


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
