"""``/openapi.json``: FastAPI's file, with the errors as they are."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from shrag.serving.access import PUBLIC
from shrag.serving.wire import Problem

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
