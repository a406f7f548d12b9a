"""Turn exceptions into HTTP problems (RFC 9457), or into OpenAI's errors on the routes of its API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from shrag.indexing.errors import EngineUnavailable, IndexDamaged, TooManyCandidates
from shrag.messages.text import Text, in_language, message_of
from shrag.serving.errors import (
    ClientDisconnected,
    DocumentMissing,
    Overloaded,
    QuestionError,
    ServiceUnavailable,
    SettingRejected,
    StrategyUnavailable,
    UnknownIndex,
    UnknownStrategy,
)
from shrag.serving.http.logging import request_id, request_language

PROBLEM_TYPE = "application/problem+json"

_TITLES = {
    400: Text("Request not readable"),
    401: Text("API key needed"),
    403: Text("Not allowed"),
    404: Text("Not found"),
    405: Text("Method not allowed"),
    409: Text("Not in this index"),
    413: Text("Request too large"),
    414: Text("Address too long"),
    415: Text("Encoding not supported"),
    422: Text("Request not valid"),
    429: Text("Too many requests"),
    431: Text("Headers too large"),
    500: Text("Unexpected error"),
    503: Text("Not served now"),
}

_STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownStrategy, 422, "unknown_strategy"),
    (SettingRejected, 422, "invalid_setting"),
    (StrategyUnavailable, 409, "strategy_unavailable"),
    (DocumentMissing, 404, "document_missing"),
    (UnknownIndex, 404, "unknown_index"),
    (IndexDamaged, 503, "index_damaged"),
    (EngineUnavailable, 503, "engine_unavailable"),
    (TooManyCandidates, 422, "too_many_candidates"),
    (ClientDisconnected, 499, "client_disconnected"),
    (ClientDisconnect, 499, "client_disconnected"),
)
"""The status and the code of exceptions that do not carry their own."""

_HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


class HTTPProblem(Exception):
    """An error response. Programs read the stable ``code``, and people read ``detail``."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, as RFC 9457 has it; ``code`` is stable and for programs."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class OpenAIError:
    """What went wrong; ``code`` is the same as in a problem."""

    message: str
    type: str
    param: str | None
    code: str
    request_id: str


@dataclass(frozen=True, slots=True)
class OpenAIProblem:
    """The body of every error on OpenAI's routes, and the event that a failing stream ends with."""

    error: OpenAIError


def to_problem(error: Exception) -> HTTPProblem:
    """Return the problem that a client gets for ``error``. Of an unexpected error, it names only the type."""
    if isinstance(error, HTTPProblem):
        return error
    if isinstance(error, QuestionError):
        return HTTPProblem(422, error.code, message_of(error))
    if isinstance(error, ServiceUnavailable):
        status = 429 if isinstance(error, Overloaded) else 503
        return HTTPProblem(status, error.code, message_of(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, HTTPException):
        code = _HTTP_CODES.get(error.status_code, "http_error")
        return HTTPProblem(error.status_code, code, error.detail, error.headers)
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return HTTPProblem(status, code, message_of(error) or Text("The client closed the connection."))
    return HTTPProblem(
        500, "unexpected", Text("The server failed with {name}; its log says where.", name=type(error).__name__)
    )


def problem_body(error: Exception) -> Problem:
    """Return ``error`` in the form of RFC 9457."""
    problem = to_problem(error)
    title = _TITLES.get(problem.status, Text("Request not served"))
    language = request_language()
    return Problem(
        type="about:blank",
        title=in_language(title, language),
        status=problem.status,
        detail=in_language(problem.detail, language),
        code=problem.code,
        request_id=request_id(),
    )


def openai_error_body(error: Exception) -> OpenAIProblem:
    """Return ``error`` in the form that OpenAI's clients read."""
    problem = to_problem(error)
    kinds = {401: "authentication_error", 429: "rate_limit_exceeded"}
    kind = kinds.get(problem.status, "invalid_request_error" if problem.status < 500 else "server_error")
    return OpenAIProblem(
        OpenAIError(in_language(problem.detail, request_language()), kind, None, problem.code, request_id())
    )


def uses_openai_errors(path: str) -> bool:
    """Return whether the errors of ``path`` have OpenAI's form."""
    return path.startswith(("/v1/chat/", "/v1/models", "/v1/embeddings"))


def problem_response(path: str, error: Exception) -> Response:
    """Return the response to ``error`` at ``path``, in the form that clients of the path read."""
    problem = to_problem(error)
    if uses_openai_errors(path):
        status = 400 if problem.status == 422 else problem.status
        return _json(openai_error_body(problem), status, problem.headers, "application/json")
    return _json(problem_body(problem), problem.status, problem.headers, PROBLEM_TYPE)


async def http_exception_response(request: Request, error: Exception) -> Response:
    """Return the response to Starlette's own ``HTTPException``: a Starlette exception handler."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_allowed_methods(request)))}
        error = HTTPException(405, Text("This address has other methods, see Allow."), headers)
    return problem_response(request.scope["path"], error)


def _allowed_methods(request: Request) -> set[str]:
    """Return the methods of all routes of the path. Starlette itself would name only those of the first route."""
    allowed: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route | Mount) and route.path_regex.match(request.scope["path"]):
            allowed |= (route.methods if isinstance(route, Route) else None) or {"GET", "HEAD"}
    return allowed


def _json(body: object, status: int, headers: Mapping[str, str], media_type: str) -> Response:
    language = {"Content-Language": request_language(), "Vary": "Accept-Language"}
    return Response(msgspec.json.encode(body), status, {**headers, **language}, media_type)
