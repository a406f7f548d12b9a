"""ASGI middleware: request id, access log line, metrics and security headers of every request."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shrag.serving.http.logging import LOGGER
from shrag.serving.http.problems import problem_response, to_problem
from shrag.serving.http.request_context import RequestContext, begin_request, request_id
from shrag.serving.http.request_guard import SECURITY_HEADERS

REQUEST_ID = b"x-request-id"
_ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
_CLIENT_LEFT = 499
"""The status logged where the client left before the response began; nginx's number for it."""

_log = logging.getLogger(LOGGER)


def log_failure() -> None:
    """Log the traceback of the exception being handled."""
    _log.exception("failed", extra={"fields": {"request_id": request_id()}})


class TracingMiddleware:
    """ASGI middleware. Every request has an id, a line in the log and a place in the metrics.

    An id that the client sends as ``X-Request-Id`` is kept where it is well-formed; every response has one, and
    :data:`~shrag.serving.http.request_guard.SECURITY_HEADERS`. An exception becomes a problem here; the traceback of
    an unexpected one is logged and shown nowhere else. ``observe`` is called with the route's path, the method, the
    status and the seconds of each request.
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
        context = begin_request(accepted_id.decode())
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
                raise  # the response has begun: the connection can only be closed
            await problem_response(scope["path"], error)(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            # A client's own paths and methods would make as many time series as it likes.
            route = getattr(scope.get("route"), "path", "") or "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._observe(route, method, status or _CLIENT_LEFT, seconds)
            _write_access_log(context, route, method, status or _CLIENT_LEFT, seconds)


def _write_access_log(context: RequestContext, route: str, method: str, status: int, seconds: float) -> None:
    """Log a request's line. The record is made directly: finding out where in the program takes a while."""
    if _log.isEnabledFor(logging.INFO):
        record = logging.LogRecord(LOGGER, logging.INFO, "", 0, "request", (), None)
        fields = {"request_id": context.request_id, "method": method, "route": route, "status": status}
        record.fields = {**fields, "seconds": round(seconds, 6), **context.log_fields}
        _log.handle(record)
