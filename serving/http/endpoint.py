"""Endpoints of routes: each reads a request into its schema, calls a handler, and sends the response.

The same :class:`Operation` describes the route in the OpenAPI document.
"""

from __future__ import annotations

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import inspect
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shrag.corpora.readers.duplicate_keys import duplicate_key
from shrag.messages.text import Text
from shrag.models.decoding import convert
from shrag.serving.http.problems import HTTPProblem
from shrag.serving.http.validation import explain

Handler = Callable[..., Awaitable[object]]
"""Called with the request and, if the operation has a schema, with the value that was read. Returns a response, or
what is sent as JSON: a value that msgspec encodes, or bytes that are JSON already."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route reads and returns. The endpoint checks it, and the OpenAPI document describes it.

    Used as a decorator, it makes a handler an :class:`Endpoint`.

    Attributes:
        body: The schema of the JSON body; None if no body is read.
        strict: Whether the body's values must have exactly the types of the schema: 1 for an integer, and not "1".
        query: The schema of the query string; None if none is read. Parameters that are not its fields are refused.
        query_names: The parameters that the handler reads beside ``query``. None if the handler itself refuses others.
        returns: The schema of the response; None if the response is not JSON.
        events: The names of the server-sent events that may be sent instead. Empty for events without a name, and None
            if no events are sent.
        problems: The statuses of the errors of this route, without those that every route has.
        tag: The group of the route in the OpenAPI document; empty for a route that is not in it.
        problem_page: Returns the page that shows an error to a browser, or None for any other client. None if every
            client gets a problem.
    """

    body: type[msgspec.Struct] | None = None
    strict: bool = True
    query: type[msgspec.Struct] | None = None
    query_names: tuple[str, ...] | None = ()
    returns: type | None = None
    events: tuple[str, ...] | None = None
    problems: tuple[int, ...] = ()
    tag: str = ""
    problem_page: Callable[[Request, Exception], Response | None] | None = None

    def __call__(self, handler: Handler) -> Endpoint:
        """Return the endpoint of ``handler``."""
        return Endpoint(handler, self)


class Endpoint:
    """ASGI application of one route. The docstring of its ``handler`` is the description in the OpenAPI document."""

    def __init__(self, handler: Handler, operation: Operation) -> None:
        self.handler = handler
        self.operation = operation
        self._body = _BodyReader(operation.body, strict=operation.strict) if operation.body is not None else None
        read = [name for name, _ in _parameters(operation.query)] if operation.query is not None else []
        self._known = (*read, *operation.query_names) if operation.query_names is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        request = _Request(scope, receive)
        try:
            result = await self._result(request)
        except Exception as error:
            page = self.operation.problem_page(request, error) if self.operation.problem_page is not None else None
            if page is None:
                raise
            result = page
        finally:
            if request.leaving is not None:
                request.leaving.cancel()
        if not isinstance(result, Response):
            content = result if isinstance(result, bytes) else msgspec.json.encode(result)
            result = Response(content, media_type="application/json")
        await result(scope, receive, send)

    async def _result(self, request: Request) -> object:
        """Read a request, and return what the handler returns for it."""
        if self._known is not None:
            check_parameters(request, self._known)
        if self._body is not None:
            return await self.handler(request, await self._body.read(request))
        if self.operation.query is not None:
            return await self.handler(request, read_query(request.query_params, self.operation.query))
        return await self.handler(request)


class _Request(Request):
    """A request that begins to listen for a disconnect only once; Starlette begins anew each time it is asked."""

    leaving: asyncio.Task[None] | None = None

    async def is_disconnected(self) -> bool:
        """Return whether the client has left. The first call drops a body that has not been read yet."""
        if self.leaving is None:
            self.leaving = asyncio.create_task(self._wait_for_disconnect())
            await asyncio.sleep(0)
        return self.leaving.done()

    async def _wait_for_disconnect(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


class _BodyReader:
    """Reads JSON bodies as ``schema``."""

    def __init__(self, schema: type[msgspec.Struct], *, strict: bool) -> None:
        self._schema = schema
        self._decoder = msgspec.json.Decoder(schema, strict=strict)

    async def read(self, request: Request) -> msgspec.Struct:
        """Return the body of ``request``.

        Raises:
            HTTPProblem: 422: the body is not declared to be JSON, is not JSON, has a key twice in an object, or does
                not fit the schema.
        """
        body = (await request.body()).removeprefix(BOM_UTF8)
        # A page of another site can make a browser send any body as text/plain or as a form, but not as JSON.
        declared = request.headers.get("content-type", "")
        kind = declared.partition(";")[0].strip().lower()
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            raise _invalid(Text("content-type: expected application/json, got {declared!r}.", declared=declared[:100]))
        try:
            value = msgspec.json.decode(body)
            if (key := duplicate_key(body, value)) is not None:
                raise _invalid(
                    Text("body: the key {key!r} occurs more than once in an object: send it once.", key=key[:100])
                )
            try:
                return self._decoder.decode(body)
            except msgspec.ValidationError as error:
                raise _invalid(explain(error, self._schema, value, "body")) from None
        except (ValueError, RecursionError):
            raise HTTPProblem(
                422, "invalid_json", Text("body: not JSON in UTF-8: {syntax_error}.", syntax_error=_syntax_error(body))
            ) from None


def _syntax_error(body: bytes) -> str:
    """Return why ``body`` is not JSON. The standard library's decoder says more about it than msgspec's."""
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        return str(error)
    return Text("it has NaN, half a surrogate pair or another encoding")


def check_parameters(request: Request, known: Collection[str]) -> None:
    """Raise :class:`HTTPProblem` for a query string that is not UTF-8, and for a parameter that is not read.

    A misspelled filter must not seem to work.
    """
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError as error:
        raise _invalid(Text("query: not in UTF-8: {error}.", error=error)) from None
    for name in request.query_params:
        if name not in known:
            rule = (
                Text("use {names}", names=", ".join(dict.fromkeys(known))) if known else Text("this address has none")
            )
            raise HTTPProblem(
                422,
                "unknown_parameter",
                Text("query.{name}: there is no such parameter, {rule}.", name=name[:100], rule=rule),
            )


def read_query(parameters: QueryParams, schema: type[msgspec.Struct]) -> Any:  # noqa: ANN401  (an instance of schema)
    """Return the query string as ``schema``.

    Only a parameter that is a list may be sent several times.

    Raises:
        HTTPProblem: 422: the query string does not fit the schema.
    """
    values: dict[str, str | list[str]] = {}
    for name, is_list in _parameters(schema):
        sent = parameters.getlist(name)
        if len(sent) > 1 and not is_list:
            raise _invalid(Text("query.{name}: this parameter occurs more than once: send it once.", name=name))
        if sent:
            values[name] = sent if is_list else sent[0]
    try:
        return convert(values, schema, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(explain(error, schema, values, "query")) from None


@cache
def _parameters(schema: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """Return for each field its name, and whether it is a list."""
    fields = msgspec.structs.fields(schema)
    return tuple((each.name, _is_list(inspect.type_info(each.type))) for each in fields)


def _is_list(kind: inspect.Type) -> bool:
    return _is_list(kind.type) if isinstance(kind, inspect.Metadata) else isinstance(kind, inspect.ListType)


def _invalid(detail: str) -> HTTPProblem:
    return HTTPProblem(422, "invalid_request", detail)
