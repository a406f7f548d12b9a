"""Request id, access log line and metrics per request."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shrag.serving.http.logging import LOGGER, begin_trace, trace_id
from shrag.serving.http.problems import refusal

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
_LEFT = 499
"""The status logged where the client was gone before there was one; nginx's number for it."""

_log = logging.getLogger(LOGGER)


@dataclass(slots=True)
class RequestNote:
    """What a route says of its request, for the log."""

    fields: dict[str, object] = field(default_factory=dict)


_NOTE: ContextVar[RequestNote] = ContextVar("note")


def note(**fields: object) -> None:
    """Add to the log line of the request being served; outside of one, do nothing."""
    current = _NOTE.get(None)
    if current is not None:
        current.fields.update(fields)


def log_failure() -> None:
    """Log the traceback of what is being handled; for a route that answers what failed unexpectedly by itself."""
    _log.exception("failed", extra={"fields": {"trace": trace_id()}})


class Tracing:
    """ASGI middleware. ``finished`` is told the route's path, the method, the status and the seconds of each request.

    An id that the client sent as ``X-Request-Id`` is kept where it is one; every response has it. What fails
    unexpectedly becomes a problem here, with its traceback in the log and nowhere else.
    """

    def __init__(self, app: ASGIApp, finished: Callable[[str, str, int, float], None]) -> None:
        self._app = app
        self._finished = finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request and say so."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        given = Headers(scope=scope).get(HEADER, "")
        trace = given if _ACCEPTED.fullmatch(given) else os.urandom(16).hex()
        begin_trace(trace)
        said = RequestNote()
        _NOTE.set(said)
        status = 0

        async def send_traced(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = trace
            await send(message)

        try:
            await self._app(scope, receive, send_traced)
        except Exception as error:
            _log.exception("failed", extra={"fields": {"trace": trace}})
            if status:
                raise  # the answer has begun: what is left is to end the connection
            await refusal(scope["path"], error)(scope, receive, send_traced)
        finally:
            seconds = time.perf_counter() - started
            route = _route(scope)
            self._finished(route, _method(scope), status or _LEFT, seconds)
            fields = _line(scope, route, status or _LEFT, seconds, said.fields)
            _say({"trace": trace, **fields})


def _say(fields: Mapping[str, object]) -> None:
    """Log a request's line; where in the program it is said, which takes a while to find out, is of no interest."""
    if _log.isEnabledFor(logging.INFO):
        record = logging.LogRecord(LOGGER, logging.INFO, "", 0, "request", (), None)
        record.fields = fields
        _log.handle(record)


def _route(scope: Scope) -> str:
    """Return the path as the routes have it: a client's own paths would make as many figures as it likes."""
    return str(getattr(scope.get("route"), "path", "") or "other")


def _method(scope: Scope) -> str:
    """Return the method, where it is one that HTTP has; a client can write any word."""
    return scope["method"] if scope["method"] in _METHODS else "other"


def _line(scope: Scope, route: str, status: int, seconds: float, fields: Mapping[str, object]) -> Mapping[str, object]:
    return {"method": _method(scope), "route": route, "status": status, "seconds": round(seconds, 6), **fields}
