"""An HTTP client that connects to the configured endpoint only.

This is the only module that imports ``httpx2`` (which ``openai`` uses). Import it only if an endpoint is configured.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator

from shrag.messages.text import Text
from shrag.models.chat.endpoint import Address, Timeouts
from shrag.models.errors import ModelUnavailable, PackageMissing

try:
    import httpx2
except ImportError as error:
    raise PackageMissing(
        Text("A language model needs httpx2 ({error}): run `pip install 'shrag[llm]'`.", error=error)
    ) from error

HTTP_ERRORS = (httpx2.HTTPError, httpx2.StreamError)
"""The errors of the client that ``openai`` does not catch."""

# The client libraries add further headers, some from the environment (organization, project, platform), which are not
# sent.
_ALLOWED_HEADERS = frozenset({"accept", "connection", "content-length", "content-type", "host"})
_MAX_RESPONSE_BYTES = 4 * 2**20


class EndpointClient(httpx2.Client):
    """A thread-safe HTTP client of one address.

    The client reads nothing from the environment (proxies, certificates, netrc) and follows no redirects. It sends only
    ``api_key`` and the headers that HTTP needs. A response that takes longer than ``timeouts.total``, or is larger than
    4 MiB, is an error.
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
        """Send GET for ``path`` below the root of the address; return status and body.

        Raises :class:`ModelUnavailable` if the endpoint does not answer.
        """
        try:
            answer = self.get(self.address.root + path, timeout=seconds)
        except HTTP_ERRORS as error:
            raise ModelUnavailable(
                Text(
                    "{given} does not answer ({failure_reason}).",
                    given=self.address.given,
                    failure_reason=failure_reason(error),
                )
            ) from None
        return answer.status_code, answer.content


def shut_down(response: httpx2.Response) -> None:
    """Shut down the socket of ``response``; any thread may call this.

    A thread that is reading gets end-of-file at once; closing the socket would not wake it.
    """
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is not None:
        try:
            # SSLSocket's own method would also drop the TLS state, which the reader still uses.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        except OSError:
            return  # already closed by the other side


_REASONS: tuple[tuple[type[Exception], Text], ...] = (
    (httpx2.ConnectTimeout, Text("no connection in time")),
    (httpx2.ReadTimeout, Text("nothing more in time")),
    (httpx2.PoolTimeout, Text("too many requests at once")),
    (httpx2.RemoteProtocolError, Text("it closed the connection or does not speak HTTP")),
)


def failure_reason(error: BaseException) -> str:
    """Return in a few words why a connection failed."""
    own = next((each for each in error.args if isinstance(each, Text)), None)
    known = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    return own or known or str(error).removeprefix("[").replace("] ", ": ") or type(error).__name__


class _Transport(httpx2.BaseTransport):
    def __init__(self, address: Address, seconds: float, api_key: str) -> None:
        self._address = address
        self._origin = _origin(httpx2.URL(address.root))
        self._seconds = seconds
        self._headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
        # Reading the system's certificates takes milliseconds, and only https needs them. An empty context trusts none.
        is_encrypted = self._origin[0] == "https"
        self._inner = httpx2.HTTPTransport(
            verify=True if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            uds=address.socket or None,
            trust_env=False,
            limits=httpx2.Limits(max_connections=256, max_keepalive_connections=16, keepalive_expiry=5),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != self._origin:
            raise httpx2.UnsupportedProtocol(
                Text("{host} is not the endpoint {given}", host=request.url.host, given=self._address.given)
            )
        if self._address.socket:
            _check_socket(self._address.socket, request.extensions["timeout"]["connect"])
        headers = {name: value for name, value in request.headers.items() if name.lower() in _ALLOWED_HEADERS}
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers | self._headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        deadline = time.monotonic() + self._seconds
        response = self._inner.handle_request(sent)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _BoundedStream(response.stream, deadline, self._seconds)
        return response

    def close(self) -> None:
        self._inner.close()


class _BoundedStream(httpx2.SyncByteStream):
    """A response body that raises when it exceeds its time or size limit."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float, seconds: float) -> None:
        self._stream = stream
        self._deadline = deadline
        self._seconds = seconds

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout(Text("not complete after {seconds:g} seconds", seconds=self._seconds))
            if size > _MAX_RESPONSE_BYTES:
                raise httpx2.ReadError(Text("a response larger than 4 MiB"))
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _check_socket(path: str, seconds: float | None) -> None:
    """Raise ``ConnectError`` if nothing listens at ``path``; httpcore would leak a socket that does not connect."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(seconds)
        try:
            probe.connect(path)
        except OSError as error:
            raise httpx2.ConnectError(error.strerror or str(error)) from None


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
