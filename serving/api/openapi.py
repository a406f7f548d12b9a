"""The OpenAPI document, generated from the endpoints that have a tag and from the JSON schemas of msgspec."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from shrag.serving.http.access import PUBLIC
from shrag.serving.http.endpoint import Endpoint, Operation
from shrag.serving.http.problems import PROBLEM_TYPE, OpenAIProblem, Problem, uses_openai_errors
from shrag.serving.http.sse import SSE_TYPE

_PROBLEMS = {
    400: "The request cannot be read, or its Host is not one of the server's.",
    401: "The server needs an API key, and the request does not have the right one.",
    403: "Requests from pages of other sites are refused.",
    404: "What the request names does not exist.",
    409: "The index lacks what the strategy needs.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "Compressed bodies are not accepted.",
    422: "The question or a parameter cannot be read.",
    429: "Too many requests are waiting, or too many wrong keys were sent; Retry-After says when to ask again.",
    431: "The headers are too many or too large.",
    503: "The index is damaged, the deadline has passed, or the server is being stopped.",
}
_COMMON_STATUSES = (400, 401, 403, 414, 429, 431)
_KEY_STATUSES = (401, 429)

_SECURITY = {
    "type": "http",
    "scheme": "bearer",
    "description": "The server's API key, where it was started with one; a server on loopback may have none.",
}

_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n     .+)*)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?(?:\w+\.)*(\w+)`")

_References = Mapping[type, Mapping[str, Any]]


@Operation()
async def openapi(request: Request) -> Mapping[str, Any]:
    """Return the OpenAPI document."""
    return app_document(request.app)


def app_document(app: Starlette) -> Mapping[str, Any]:
    """Return the OpenAPI document of ``app``; it is made once and cached in ``app.state``."""
    if not hasattr(app.state, "openapi"):
        app.state.openapi = openapi_document(app.routes)
    document: Mapping[str, Any] = app.state.openapi
    return document


def write_openapi(routes: Iterable[BaseRoute]) -> str:
    """Return the document as JSON with sorted keys, for readable diffs."""
    return json.dumps(openapi_document(routes), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def openapi_document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of those ``routes`` whose :class:`Endpoint` has a tag."""
    described = list(_described(routes))
    kinds = {
        kind for _, _, each in described for kind in (each.operation.body, each.operation.returns) if kind is not None
    }
    named = sorted({*kinds, Problem, OpenAIProblem}, key=lambda kind: kind.__name__)
    references, schemas = _schemas(named)
    paths: dict[str, dict[str, Any]] = {}
    for route, method, endpoint in described:
        paths.setdefault(route.path_format, {})[method] = _operation(route, method, endpoint, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "SHRAG",
            "description": "Search and cited answers over Korean and English scholarly text.",
            "version": version("shrag"),
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": _SECURITY}},
    }


def _described(routes: Iterable[BaseRoute]) -> Iterator[tuple[Route, str, Endpoint]]:
    """Yield each route of the document with each of its methods and its endpoint."""
    for route in routes:
        if isinstance(route, Route) and isinstance(route.endpoint, Endpoint) and route.endpoint.operation.tag:
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield route, method.lower(), route.endpoint


def _schemas(kinds: list[type]) -> tuple[_References, dict[str, Any]]:
    """Return a reference to the schema of each type, and the schemas by name."""
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for schema in schemas.values():
        if "description" in schema:
            _describe(schema, inspect.cleandoc(schema["description"]))
    return dict(zip(kinds, references, strict=True)), schemas


def _describe(schema: dict[str, Any], docstring: str) -> None:
    """Describe a schema by a docstring, and its fields by the attributes there."""
    text, _, attributes = docstring.partition("\n\nAttributes:\n")
    schema["description"] = _markdown(text)
    for name, meaning in _ATTRIBUTE.findall(attributes):
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", _markdown(" ".join(meaning.split())))


def _markdown(docstring: str) -> str:
    """Return a docstring with code as Markdown has it, and names without their modules."""
    return _ROLE.sub(r"`\1`", docstring).replace("``", "`")


def _operation(route: Route, method: str, endpoint: Endpoint, references: _References) -> dict[str, Any]:
    name, described = endpoint.handler.__name__, endpoint.operation
    operation: dict[str, Any] = {
        "tags": [described.tag],
        "summary": name.replace("_", " ").title(),
        "description": _markdown(inspect.getdoc(endpoint.handler) or ""),
        "operationId": re.sub(r"\W", "_", name + route.path_format) + f"_{method}",
    }
    if parameters := [*_path_parameters(route), *_query_parameters(described.query)]:
        operation["parameters"] = parameters
    if described.body is not None:
        content = {"application/json": {"schema": references[described.body]}}
        operation["requestBody"] = {"content": content, "required": True}
    public = route.path in PUBLIC
    statuses = {*_COMMON_STATUSES, *described.problems} - (set(_KEY_STATUSES) if public else set())
    operation["responses"] = {"200": _success(described, references)}
    operation["responses"] |= {str(status): _problem(route, status, references) for status in sorted(statuses)}
    if not public:
        operation["security"] = [{"key": []}, {}]
    return operation


def _path_parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name in route.param_convertors:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query_parameters(query: type | None) -> Iterator[dict[str, Any]]:
    if query is None:
        return
    schema = msgspec.json.schema_components([query])[1][query.__name__]
    for name, field in schema["properties"].items():
        description = {"description": field["description"]} if "description" in field else {}
        yield {"name": name, "in": "query", "required": name in schema["required"], "schema": field} | description


def _success(described: Operation, references: _References) -> dict[str, Any]:
    description = "Successful Response" if described.events is None else "The whole answer, or its events."
    content: dict[str, Any] = {}
    if described.returns is not None:
        content["application/json"] = {"schema": references[described.returns]}
    if described.events is not None:
        properties: dict[str, Any] = {"data": {"type": "string", "description": "JSON."}}
        if described.events:
            properties["event"] = {"enum": list(described.events)}
        event = {"type": "object", "properties": properties, "required": list(properties)}
        content[SSE_TYPE] = {"schema": event}
    return {"description": description} | ({"content": content} if content else {})


def _problem(route: Route, status: int, references: _References) -> dict[str, Any]:
    openai = uses_openai_errors(route.path)
    kind, media_type = (OpenAIProblem, "application/json") if openai else (Problem, PROBLEM_TYPE)
    return {"description": _PROBLEMS[status], "content": {media_type: {"schema": references[kind]}}}
