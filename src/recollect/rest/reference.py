"""The API reference as an HTML page, rendered from the OpenAPI document without external resources."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
VERBS = ("get", "post", "put", "patch", "delete")


@router.get("/docs", response_class=HTMLResponse)
async def reference(request: Request) -> HTMLResponse:
    """All routes with their parameters, bodies and responses."""
    return HTMLResponse("\n".join(_page(request.app.openapi())), headers=HEADERS)


def _page(api: dict[str, Any]) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>recollect: all routes</title>'
    yield '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/reference.css">'
    yield f"</head><body><h1>All routes</h1><p>{escape(api['info']['description'])}"
    yield ' The same for programs: <a href="/openapi.json">openapi.json</a>.</p>'
    nouns: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, operations in api["paths"].items():
        for verb in VERBS:
            if verb in operations:
                nouns.setdefault(operations[verb].get("tags", ["other"])[0], []).append((verb, path, operations[verb]))
    yield "<nav>" + " ".join(f'<a href="#{escape(noun)}">{escape(noun)}</a>' for noun in nouns) + "</nav>"
    for noun, routes in nouns.items():
        yield f'<h2 id="{escape(noun)}">{escape(noun)}</h2>'
        for verb, path, operation in routes:
            yield from _route(api, verb, path, operation)
    yield "</body></html>"


def _route(api: dict[str, Any], verb: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<details><summary><b>{verb.upper()}</b> <code>{escape(path)}</code> "
    yield f"{escape(operation.get('description', operation.get('summary', '')).split(chr(10))[0])}</summary>"
    rows = [
        (one["name"], one["in"], "required" if one.get("required") else "", one.get("description", ""))
        for one in operation.get("parameters", [])
    ]
    if rows:
        yield "<table><tr><th>parameter</th><th>in</th><th></th><th></th></tr>"
        for row in rows:
            yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        yield "</table>"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        shape = json.dumps(_shape(api, content.get("schema", {})), indent=2, ensure_ascii=False)
        yield f"<p>Body, {escape(kind)}:</p><pre>{escape(shape)}</pre>"
    answers = ", ".join(f"{status} {one.get('description', '')}" for status, one in operation["responses"].items())
    yield f"<p>Answers: {escape(answers)}.</p></details>"


def _shape(api: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """Summarise a schema for people: names and types."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = [one for one in schema.get("anyOf", schema.get("oneOf", [])) if one.get("type") != "null"]
    if kinds:
        shapes = [_shape(api, one, depth) for one in kinds]
        return shapes[0] if len(shapes) == 1 else {"one of": shapes} if depth == 0 else shapes[0]
    if "properties" in schema and depth < 3:
        return {name: _shape(api, one, depth + 1) for name, one in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_shape(api, schema.get("items", {}), depth + 1)]
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    return schema.get("type", "anything")
