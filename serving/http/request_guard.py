"""Trusted hosts, body limits, security headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shrag.serving.http.problems import Refusal, refusal

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

LARGEST_BODY = 1 << 20
LARGEST_HEADERS = 16 << 10
MOST_HEADERS = 100
LONGEST_ADDRESS = 32 << 10
"""Bytes; a question of 2,000 Hangul syllables takes 18,000 of them in an address."""

_HEADERS = (
    # Scripts are files of this server and talk to it alone; none stands in the page. HTML is made from text by one
    # policy of theirs only, which takes what this server rendered. Nothing is loaded from anywhere else.
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types shrag",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""As ASGI has them."""

_HOST = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^:@/\[\]\s]+)(:[0-9]{0,5})?")

# What is refused before its body was read: the rest of the body is not waited for.
_CLOSE = {"Connection": "close"}


class SafeHeaders:
    """ASGI middleware. Every response, an error's too, has the headers above."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                given = {name.lower() for name, _ in headers}
                headers += [header for header in _HEADERS if header[0] not in given]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Guard:
    """ASGI middleware. A page of another site cannot reach a local server under a name of its own (DNS rebinding)."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where its Host is known and its size is bounded."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refuse(scope)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _bounded(receive), send)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the refusal of a request whose head is enough to refuse it."""
        headers = Headers(scope=scope)
        if _host(headers.get("host", "")) not in self._hosts:
            return PlainTextResponse("This server does not go by that host name.\n", status_code=400)
        wrong = _wrong_size(scope) or self._wrong_origin(scope, headers) or _wrong_fetch(scope, headers)
        wrong = wrong or _wrong_body(headers)
        return refusal(scope["path"], wrong) if wrong else None

    def _wrong_origin(self, scope: Scope, headers: Headers) -> Refusal | None:
        origin = headers.get("origin")
        if origin is None or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            return None
        try:
            known = _host(urlsplit(origin).netloc) in self._hosts
        except ValueError:
            known = False
        return None if known else Refusal(403, "foreign_origin", "A page of another site may not ask here.", _CLOSE)


def _wrong_fetch(scope: Scope, headers: Headers) -> Refusal | None:
    """Let other sites' pages link here and nothing else, where the browser says who asks (W3C, Fetch Metadata).

    Another port of this machine is another site's page too, though it goes by our host name.
    """
    if headers.get("sec-fetch-site", "none") in {"same-origin", "none"}:
        return None
    visit = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    if visit and scope["method"] in {"GET", "HEAD"}:
        return None
    return Refusal(403, "foreign_origin", "A page of another site may not ask here.", _CLOSE)


def _wrong_size(scope: Scope) -> Refusal | None:
    address = len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"])
    if address > LONGEST_ADDRESS:
        says = f"The address has {address} bytes, at most {LONGEST_ADDRESS} are read: send the question by POST."
        return Refusal(414, "address_too_long", says, _CLOSE)
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    if len(scope["headers"]) > MOST_HEADERS or size > LARGEST_HEADERS:
        says = f"At most {MOST_HEADERS} headers of {LARGEST_HEADERS} bytes in all are read: send fewer."
        return Refusal(431, "headers_too_large", says, _CLOSE)
    return None


def _wrong_body(headers: Headers) -> Refusal | None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        return Refusal(415, "encoding_not_read", "A compressed body is not read: send it as it is.", _CLOSE)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > LARGEST_BODY:
        return _too_large()
    return None


def _too_large() -> Refusal:
    return Refusal(413, "body_too_large", f"At most {LARGEST_BODY} bytes of a body are read: send less.", _CLOSE)


def _bounded(receive: Receive) -> Receive:
    """Return ``receive`` for a body whose length was not said before it came."""
    read = 0

    async def bounded() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST_BODY:
            told = _too_large()
            # The only kind that FastAPI lets through while it reads a body.
            raise HTTPException(told.status, told.detail, told.headers)
        return message

    return bounded


def _host(value: str) -> str:
    """Return the host of a Host header or an origin, without its port; empty where it is neither."""
    parts = _HOST.fullmatch(value.lower())
    return parts["host"] if parts else ""
