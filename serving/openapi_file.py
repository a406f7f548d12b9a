"""``/openapi.json``: FastAPI's file, with the errors as they are."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from shrag.serving.wire import Problem

_REF = "#/components/schemas/{model}"
_NEVER_SENT = ("HTTPValidationError", "ValidationError")


def describe(app: FastAPI) -> None:
    """Let ``app`` give its OpenAPI file; made once, when it is first asked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _openapi(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _openapi(app: FastAPI) -> dict[str, Any]:
    file = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    schemas = file["components"]["schemas"]
    schemas[Problem.__name__] = TypeAdapter(Problem).json_schema(ref_template=_REF)
    for operations in file["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            # FastAPI describes its own form of a 422, which is not what is sent.
            if any(name in str(responses.get("422")) for name in _NEVER_SENT):
                del responses["422"]
    for name in _NEVER_SENT:
        schemas.pop(name, None)
    return file
