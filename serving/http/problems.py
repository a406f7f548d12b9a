"""Exceptions → RFC 9457 problems (and OpenAI errors)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from shrag.indexing.errors import IndexDamaged
from shrag.serving.api.chat_completions.schemas import OpenAIError, OpenAIProblem
from shrag.serving.api.schemas import Problem
from shrag.serving.errors import (
    ClientLeft,
    DocumentMissing,
    NotServed,
    Overloaded,
    QuestionError,
    StrategyUnavailable,
    UnknownStrategy,
)
from shrag.serving.http.logging import trace_id

MEDIA_TYPE = "application/problem+json"

_TITLES = {
    400: "Request not readable",
    401: "Key needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Not in this index",
    413: "Request too large",
    414: "Address too long",
    415: "Encoding not read",
    422: "Question not readable",
    429: "Too many requests",
    431: "Headers too large",
    500: "Unexpected error",
    503: "Not served now",
}

_CODES = {404: "not_found", 405: "method_not_allowed"}

_OPENAI_PATHS = ("/v1/chat/", "/v1/models")


class Refusal(Exception):
    """What is wrong with a request, ready to be sent. ``code`` is stable and for programs."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


class _Kind(NamedTuple):
    error: type[Exception]
    status: int
    code: str


_KINDS = (
    _Kind(UnknownStrategy, 422, "unknown_strategy"),
    _Kind(StrategyUnavailable, 409, "strategy_unavailable"),
    _Kind(DocumentMissing, 404, "document_missing"),
    _Kind(IndexDamaged, 503, "index_damaged"),
    _Kind(ClientLeft, 499, "client_left"),
)

HANDLED: tuple[type[Exception], ...] = (
    HTTPException,
    RequestValidationError,
    Refusal,
    NotServed,
    QuestionError,
    *(kind.error for kind in _KINDS),
)
"""What a client is told the reason of; anything else is a fault of the server."""


def read_error(error: Exception) -> Refusal:
    """Return what a client is told of ``error``; of an unexpected one, its kind and nothing more."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, QuestionError):
        return Refusal(422, error.code, str(error))
    if isinstance(error, NotServed):
        status = 429 if isinstance(error, Overloaded) else 503
        return Refusal(status, error.code, str(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    return _read_other(error)


def _read_other(error: Exception) -> Refusal:
    for kind in _KINDS:
        if isinstance(error, kind.error):
            return Refusal(kind.status, kind.code, str(error))
    if isinstance(error, HTTPException):
        code = _CODES.get(error.status_code, "http_error")
        return Refusal(error.status_code, code, str(error.detail), error.headers or {})
    return Refusal(500, "unexpected", f"The server failed with {type(error).__name__}; its log says where.")


def refusal(path: str, error: Exception) -> Response:
    """Return the response to ``error`` at ``path``: RFC 9457's problem, or OpenAI's error on its routes."""
    told = read_error(error)
    if path.startswith(_OPENAI_PATHS):
        status = 400 if told.status == 422 else told.status
        body: OpenAIProblem | Problem = openai_problem(error)
        return _response(body, status, "application/json", told.headers)
    return _response(problem(error), told.status, MEDIA_TYPE, told.headers)


def problem(error: Exception) -> Problem:
    """Return ``error`` as RFC 9457 has it."""
    told = read_error(error)
    title = _TITLES.get(told.status, "Request not served")
    return Problem("about:blank", title, told.status, told.detail, told.code, trace_id())


def openai_problem(error: Exception) -> OpenAIProblem:
    """Return ``error`` as OpenAI's clients read it."""
    told = read_error(error)
    kind = "invalid_request_error" if told.status < 500 else "server_error"
    if told.status == 429:
        kind = "rate_limit_exceeded"
    if told.status == 401:
        kind = "authentication_error"
    return OpenAIProblem(OpenAIError(told.detail, kind, None, told.code, trace_id()))


def add_problems(app: FastAPI) -> None:
    """Let every error that a route raises be answered as :func:`refusal` has it."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 405:
            allowed = {"Allow": ", ".join(_methods(app, request.url.path))}
            error = HTTPException(405, "This address has other methods, see Allow.", allowed)
        return refusal(request.url.path, error)

    for kind in HANDLED:
        app.add_exception_handler(kind, answer)


def _methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods that there are at ``path``: the router knows of the first route's only."""
    found: set[str] = set()
    for route in app.routes:
        pattern, methods = getattr(route, "path_regex", None), getattr(route, "methods", None)
        if pattern is not None and methods and pattern.match(path):
            found |= methods
    return sorted(found)


def _invalid(error: RequestValidationError) -> Refusal:
    first: Mapping[str, Any] = error.errors()[0] if error.errors() else {}
    where = ".".join(str(part) for part in first.get("loc", ()))
    return Refusal(422, "invalid_request", f"{where}: {first.get('msg', 'invalid')}.")


def _response(body: object, status: int, media_type: str, headers: Mapping[str, str]) -> Response:
    return Response(msgspec.json.encode(body), status, dict(headers), media_type)
