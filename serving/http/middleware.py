"""ASGI middleware of all servers.

One gives each request an id, a log line and security headers. The other refuses unknown hosts, requests that are too
large, and requests from pages of other sites.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shrag.messages.language import accepted_language
from shrag.messages.text import Text
from shrag.serving.http.logging import (
    REQUEST_CONTEXT,
    RequestContext,
    log_failure,
    request_language,
    write_access_log,
)
from shrag.serving.http.problems import HTTPProblem, problem_response, to_problem

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

LARGEST_BODY = 1 << 20
LARGEST_HEADERS = 16 << 10
MOST_HEADERS = 100
LONGEST_ADDRESS = 32 << 10
"""Bytes. In an address, a question of 2,000 Hangul syllables takes 18,000 of them."""

SECURITY_HEADERS = (
    # Scripts are files of this server, never inline, and connect only to it. One Trusted Types policy makes HTML from
    # text; it takes what this server rendered. Nothing is loaded from anywhere else.
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
"""Headers of every response, errors included. A header that the response sets itself stays as it is."""

REQUEST_ID = b"x-request-id"
_ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
_CLIENT_LEFT = 499
"""The status that is logged if the client leaves before the response begins; nginx uses the same number."""

_HOST = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^:@/\[\]\s]+)(:[0-9]{0,5})?")

# The body of a refused request has not been read: close the connection instead of waiting for the rest of it.
_CLOSE = {"Connection": "close"}

_Headers = Mapping[bytes, bytes]


class RequestLogMiddleware:
    """ASGI middleware: request id, security headers, error response, access log line and metrics of each request.

    A well-formed ``X-Request-Id`` of the client is kept. An exception becomes a problem response; the traceback of an
    unexpected one goes only to the log. ``observe`` is called with the path of the route, the method, the status and
    the seconds.
    """

    def __init__(self, app: ASGIApp, observe: Callable[[str, str, int, float], None]) -> None:
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        sent_id = next((value for name, value in scope["headers"] if name == REQUEST_ID), b"")
        accepted_id = sent_id if _ACCEPTED_ID.fullmatch(sent_id) else os.urandom(16).hex().encode()
        languages = next((value for name, value in scope["headers"] if name == b"accept-language"), b"")
        context = RequestContext(accepted_id.decode(), accepted_language(languages.decode("latin-1")))
        REQUEST_CONTEXT.set(context)
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                own = {name for name, _ in headers}
                headers += [header for header in SECURITY_HEADERS if header[0] not in own]
                headers.append((REQUEST_ID, accepted_id))
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            if status or to_problem(error).status == 500:
                log_failure()
            if status:
                raise  # the response has begun, so the connection can only be closed
            await problem_response(scope["path"], error)(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            # With the client's own paths and methods, the metrics could have any number of time series.
            route = getattr(scope.get("route"), "path", "") or "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._observe(route, method, status or _CLIENT_LEFT, seconds)
            write_access_log(context, route, method, status or _CLIENT_LEFT, seconds)


class RequestGuardMiddleware:
    """ASGI middleware: refuses unknown hosts, requests from pages of other sites, and requests that are too large.

    The host check prevents DNS rebinding: a page of another site reaching a local server under that site's name.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an acceptable request on; refuse any other."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body_size = 0

        async def receive_bounded() -> Message:
            nonlocal body_size
            message = await receive()
            body_size += len(message.get("body", b""))
            if body_size > LARGEST_BODY:  # without a Content-Length, `_check_body` cannot see this
                raise _body_too_large()
            return message

        await self._app(scope, receive_bounded, send)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request because of its head, or None for an acceptable one."""
        headers: _Headers = dict(reversed(scope["headers"]))  # if a header is sent twice, the first one counts
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:  # RFC 9112, 3.2
            return _refusal(Text("A request has one Host header: send one."))
        host = _host_of(headers.get(b"host", b"").decode("latin-1"))
        if host not in self._hosts:
            if not host:
                return _refusal(Text("This server does not answer under the host name given."))
            return _refusal(
                Text(
                    "This server does not answer under the host name {host}: start it with --allow-host {host}, or "
                    "send the request under the server's own name.",
                    host=host,
                )
            )
        problem = _check_size(scope) or self._check_origin(scope, headers) or _check_body(headers)
        return problem_response(scope["path"], problem) if problem is not None else None

    def _check_origin(self, scope: Scope, headers: _Headers) -> HTTPProblem | None:
        """Refuse requests from pages of other sites, but not links on them (W3C, Fetch Metadata).

        A page from another port of this machine counts as another site, although the host name is the same.
        """
        reads = scope["method"] in {"GET", "HEAD"}
        origin = headers.get(b"origin")
        foreign = origin is not None and not (reads or scope["method"] == "OPTIONS") and not self._is_own(origin)
        if headers.get(b"sec-fetch-site", b"none") not in {b"same-origin", b"none"}:
            mode, destination = headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")
            foreign |= not (reads and (mode, destination) == (b"navigate", b"document"))
        return (
            HTTPProblem(403, "foreign_origin", Text("Requests from pages of other sites are refused."), _CLOSE)
            if foreign
            else None
        )

    def _is_own(self, origin: bytes) -> bool:
        try:
            return _host_of(urlsplit(origin.decode("latin-1")).netloc) in self._hosts
        except ValueError:
            return False


def _refusal(message: Text) -> Response:
    """Return a message as plain text: a client that uses another host name must not see any page of this server."""
    return PlainTextResponse(f"{message.in_language(request_language())}\n", status_code=400)


def _check_size(scope: Scope) -> HTTPProblem | None:
    address = len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"])
    if address > LONGEST_ADDRESS:
        detail = Text(
            "The address has {address} bytes, at most {longest} are read: send the question by POST.",
            address=address,
            longest=LONGEST_ADDRESS,
        )
        return HTTPProblem(414, "address_too_long", detail, _CLOSE)
    size = sum(map(len, chain.from_iterable(scope["headers"])))
    if len(scope["headers"]) > MOST_HEADERS or size > LARGEST_HEADERS:
        detail = Text(
            "At most {most} headers of {largest} bytes in all are read: send fewer.",
            most=MOST_HEADERS,
            largest=LARGEST_HEADERS,
        )
        return HTTPProblem(431, "headers_too_large", detail, _CLOSE)
    return None


def _check_body(headers: _Headers) -> HTTPProblem | None:
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        return HTTPProblem(415, "encoding_not_read", Text("A compressed body is not read: send it as it is."), _CLOSE)
    length = headers.get(b"content-length", b"0")
    return _body_too_large() if length.isdigit() and int(length) > LARGEST_BODY else None


def _body_too_large() -> HTTPProblem:
    return HTTPProblem(
        413,
        "body_too_large",
        Text("At most {largest_body} bytes of a body are read: send less.", largest_body=LARGEST_BODY),
        _CLOSE,
    )


def _host_of(value: str) -> str:
    """Return the host of a Host header or an origin, without its port; empty if ``value`` is neither."""
    match = _HOST.fullmatch(value.lower())
    return match["host"] if match else ""
