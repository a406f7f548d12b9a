"""``/docs``: the API as a page, made of the OpenAPI document. It loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from shrag.serving.api.openapi import app_document
from shrag.serving.http.endpoint import Operation
from shrag.serving.page.rendering import render_template


@Operation()
async def docs(request: Request) -> HTMLResponse:
    """Return the page."""
    return HTMLResponse(render_docs(app_document(request.app)))


def render_docs(file: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI document: its operations, then the schemas they name."""
    shapes = [
        {"name": name, "says": shape.get("description", ""), "fields": list(_fields(shape))}
        for name, shape in sorted(file["components"]["schemas"].items())
    ]
    return render_template("docs.html", title=file["info"], operations=list(_operations(file)), shapes=shapes)


def _operations(file: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, methods in file["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {})
            yield {
                "method": method.upper(),
                "path": path,
                "says": operation.get("description") or operation.get("summary", ""),
                "parameters": [
                    {
                        "name": parameter["name"],
                        "type": type_name(parameter["schema"]),
                        "required": parameter.get("required", False),
                        "says": parameter.get("description", ""),
                    }
                    for parameter in operation.get("parameters", ())
                ],
                "body": [type_name(content["schema"]) for content in body.values()],
                "responses": [
                    {
                        "status": status,
                        "says": response.get("description", ""),
                        "kinds": [
                            (kind, type_name(content.get("schema", {})))
                            for kind, content in response.get("content", {}).items()
                        ],
                    }
                    for status, response in sorted(operation["responses"].items())
                ],
            }


def _fields(shape: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    required = set(shape.get("required", ()))
    for name, field in shape.get("properties", {}).items():
        yield {
            "name": name,
            "type": type_name(field),
            "required": name in required,
            "says": field.get("description", ""),
        }


def type_name(schema: Mapping[str, Any]) -> str:
    """Return a schema in a few characters.

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
        items = schema.get("items") or {}
        return f"{type_name(items)}[]"
    return str(schema.get("type", "any"))
