"""``/docs/api``: the OpenAPI document as a page without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from shrag.serving.api.openapi import app_document
from shrag.serving.http.endpoint import Operation
from shrag.serving.page.rendering import render_template


@Operation()
async def docs(request: Request) -> HTMLResponse:
    """Return the page: the operations, then the schemas they name."""
    return HTMLResponse(render_template("docs.html", document=app_document(request.app), type_name=type_name))


def type_name(schema: Mapping[str, Any]) -> str:
    """Return the type of a JSON schema in a few characters.

    >>> type_name({"type": "array", "items": {"$ref": "#/components/schemas/Keyword"}})
    'Keyword[]'
    >>> type_name({"anyOf": [{"type": "number"}, {"type": "null"}]})
    'number | null'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(type_name(one) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"{type_name(schema.get('items') or {})}[]"
    return str(schema.get("type", "any"))
