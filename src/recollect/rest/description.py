"""The description of the app for machines (OpenAPI): what the framework finds, and what holds for every route."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from recollect.rest.guard import LARGE
from recollect.rest.once import HEADER
from recollect.rest.once import KEY as KEY_PATTERN
from recollect.rest.problems import Problem

__all__ = ["of"]

KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A key of your choice: the same request with the same key is done once, and answered as before.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": KEY_PATTERN},
    "example": "0b5b1f3e-4c1e-4d0e-9a63-3f1c0f3f8f0a",
}


def of(app: FastAPI) -> dict[str, Any]:
    """The description of an app, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        made["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        for path, operations in made["paths"].items():
            if "post" in operations and path not in LARGE:
                operations["post"].setdefault("parameters", []).append(KEY)
        app.openapi_schema = _lists(made)
    return app.openapi_schema


def _lists(value: Any) -> Any:
    """Lists of fixed length described in the words that every reader of a description knows."""
    if isinstance(value, list):
        return [_lists(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _lists(one) for name, one in value.items()}
    if isinstance(kinds := found.pop("prefixItems", None), list):
        found["items"] = {"anyOf": kinds}
    return found
