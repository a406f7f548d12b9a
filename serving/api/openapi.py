"""OpenAPI document and its error responses."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from shrag.serving.api.chat_completions.schemas import OpenAIProblem
from shrag.serving.api.schemas import Problem
from shrag.serving.http.access import PUBLIC
from shrag.serving.http.problems import MEDIA_TYPE
from shrag.serving.http.sse import MEDIA_TYPE as STREAM_TYPE

_REF = "#/components/schemas/{model}"
_KEY = "The server's API key, where it was started with one; a server on loopback may have none."
_NEVER_SENT = ("HTTPValidationError", "ValidationError")


def describe(app: FastAPI) -> None:
    """Let ``app`` give its OpenAPI file; made once, when it is first asked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _openapi(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def write_openapi(app: FastAPI) -> str:
    """Return the file of ``app`` as text in which a change of the interface is a change of few lines."""
    return json.dumps(app.openapi(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _openapi(app: FastAPI) -> dict[str, Any]:
    file = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    schemas = file["components"]["schemas"]
    schemas[Problem.__name__] = TypeAdapter(Problem).json_schema(ref_template=_REF)
    file["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": _KEY}}
    for path, operations in file["paths"].items():
        for operation in operations.values():
            responses = operation["responses"]
            if path in PUBLIC:
                del responses["401"], responses["429"]
            else:
                operation["security"] = [{"key": []}, {}]
            # FastAPI describes its own form of a 422, which is not what is sent.
            if any(name in str(responses.get("422")) for name in _NEVER_SENT):
                del responses["422"]
    for name in _NEVER_SENT:
        schemas.pop(name, None)
    return file


_SAYS = {
    400: "The request cannot be read, or its Host is not one of the server's.",
    401: "The server needs an API key, and this is not it.",
    403: "A page of another site may not ask here.",
    404: "There is no such thing.",
    409: "The index lacks what the strategy needs.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "A compressed body is not read.",
    422: "The question or a parameter cannot be read.",
    429: "As many requests wait as may, or too many wrong keys came; Retry-After says when to ask again.",
    431: "The headers are too many or too large.",
    503: "The index is damaged, the deadline has passed, or the server is being stopped.",
}

_EVERYWHERE = (400, 401, 403, 414, 429, 431)


def stream_of(says: str, *names: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of a 200 that may be a stream; the schema is of each of its events."""
    properties: dict[str, Any] = {"data": {"type": "string", "description": "JSON."}}
    if names:
        properties["event"] = {"enum": list(names)}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {200: {"content": {STREAM_TYPE: {"schema": schema}}, "description": says}}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of these errors and of those that every route has, as problems."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    return {
        status: {"description": _SAYS[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in sorted({*statuses, *_EVERYWHERE})
    }


def openai_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the same in OpenAI's form."""
    return {
        status: {"model": OpenAIProblem, "description": _SAYS[status]} for status in sorted({*statuses, *_EVERYWHERE})
    }
