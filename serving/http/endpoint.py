"""An endpoint: reads a request into its schema, calls a function, sends the response."""

from __future__ import annotations

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shrag.serving.http.problems import HTTPProblem
from shrag.serving.http.validation import explain

Handler = Callable[..., Awaitable[object]]
"""Called with the request and, where there is a schema, with what was read. Returns a response, or what is sent as
JSON: a value that msgspec encodes, or bytes that are JSON already."""


class Endpoint:
    """ASGI application of one route, and its description for the OpenAPI document.

    Attributes:
        handler: What answers; its docstring describes the route.
        body: The schema of the JSON body, None where none is read.
        query: The schema of the query string, None where none is read. Other parameters than its fields are ignored.
        returns: The schema of the response, None where it is not JSON.
        events: Names of the server-sent events that may be sent instead; empty for events without a name, None where
            none are sent.
        problems: Statuses of the errors that other routes do not have.
        tag: The group of the route in the OpenAPI document; empty where that does not describe it.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        body: type[msgspec.Struct] | None = None,
        strict: bool = True,
        query: type[msgspec.Struct] | None = None,
        returns: type | None = None,
        events: Sequence[str] | None = None,
        problems: Sequence[int] = (),
        tag: str = "",
    ) -> None:
        self.handler = handler
        self.body = body
        self.query = query
        self.returns = returns
        self.events = events
        self.problems = tuple(problems)
        self.tag = tag
        self._decoder = msgspec.json.Decoder(body, strict=strict) if body is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        request = _Request(scope, receive)
        try:
            if self.body is not None and self._decoder is not None:
                body = await request.body()
                _check_content_type(request)
                result = await self.handler(request, _decode_body(self._decoder, body, self.body))
            elif self.query is not None:
                result = await self.handler(request, read_query(request.query_params, self.query))
            else:
                result = await self.handler(request)
        finally:
            request.stop_listening()
        if not isinstance(result, Response):
            content = result if isinstance(result, bytes) else msgspec.json.encode(result)
            result = Response(content, media_type="application/json")
        await result(scope, receive, send)


def endpoint(**options: Any) -> Callable[[Handler], Endpoint]:  # noqa: ANN401  (those of Endpoint)
    """Return a decorator that makes a handler an :class:`Endpoint` with these options."""
    return lambda handler: Endpoint(handler, **options)


class _Request(Request):
    """A request that listens once for its client leaving; Starlette does so anew each time it is asked."""

    _leaving: asyncio.Task[None] | None = None

    async def is_disconnected(self) -> bool:
        """Return whether the client has left; a body that has not been read by now is dropped."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._wait_for_disconnect())
            await asyncio.sleep(0)
        return self._leaving.done()

    def stop_listening(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()

    async def _wait_for_disconnect(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


def read_query(parameters: QueryParams, schema: type[msgspec.Struct]) -> Any:  # noqa: ANN401  (an instance of schema)
    """Return the query string as ``schema``. Of a parameter sent twice, a list has all and another type the last.

    Raises:
        HTTPProblem: 422; it does not fit.
    """
    values = {
        name: parameters.getlist(name) if is_list else parameters[name]
        for name, is_list in _parameters(schema)
        if name in parameters
    }
    try:
        return msgspec.convert(values, schema, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(explain(error, schema, values, "query")) from None


@cache
def _parameters(schema: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """Return the name of each field, and whether it is a list."""
    fields = msgspec.structs.fields(schema)
    return tuple((each.name, isinstance(inspect.type_info(each.type), inspect.ListType)) for each in fields)


def _check_content_type(request: Request) -> None:
    """Raise where the body is not declared to be JSON.

    A page of another site can have a browser send any body as text/plain or as a form, but none as JSON.
    """
    sent = request.headers.get("content-type", "")
    kind = sent.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise _invalid(f"content-type: expected application/json, got {sent[:100]!r}.")


def _decode_body(decoder: msgspec.json.Decoder[Any], body: bytes, schema: type[msgspec.Struct]) -> Any:  # noqa: ANN401
    """Return the body as ``schema``.

    Raises:
        HTTPProblem: 422; it is not JSON, or it does not fit.
    """
    body = body.removeprefix(BOM_UTF8)
    try:
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            raise _invalid(explain(error, schema, msgspec.json.decode(body), "body")) from None
    except (ValueError, RecursionError):
        raise _invalid(f"body: expected JSON in UTF-8, got {_syntax_error(body)}.") from None


def _syntax_error(body: bytes) -> str:
    """Return what keeps ``body`` from being JSON; the standard library's decoder tells more than msgspec's."""
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        return f"{len(body)} bytes that are not: {error}"
    return "NaN, half a surrogate pair or another encoding"


def _invalid(detail: str) -> HTTPProblem:
    return HTTPProblem(422, "invalid_request", detail)
