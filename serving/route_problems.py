"""The errors of a route, for the OpenAPI file."""

from __future__ import annotations

from typing import Any

from shrag.serving.event_stream import MEDIA_TYPE as STREAM_TYPE
from shrag.serving.openai_wire import OpenAIProblem
from shrag.serving.problems import MEDIA_TYPE
from shrag.serving.wire import Problem

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
