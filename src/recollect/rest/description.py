"""The OpenAPI document: what the framework generates, plus what applies to every route.

OpenAPI links state which response provides a parameter of another route, so that a program can follow them.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from recollect.rest.caller import declared
from recollect.rest.errors import ProblemDetails
from recollect.rest.idempotency import HEADER, changes
from recollect.rest.idempotency import KEY as KEY_PATTERN
from recollect.rest.middleware import LARGE

__all__ = ["of"]

KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A key of your choice: the same request with the same key is done once, and answered as before.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": KEY_PATTERN},
    "example": "0b5b1f3e-4c1e-4d0e-9a63-3f1c0f3f8f0a",
}


ENTRY = (
    "entries_get_entry",
    "entries_write_entry",
    "entries_forget",
    "entries_history",
    "entries_provenance",
    "entries_links",
    "entries_accesses",
    "entries_rename",
    "entries_alias",
    "entries_restore",
)
TALK = (
    "conversations_get",
    "conversations_append",
    "conversations_events",
    "conversations_detail",
    "conversations_find",
    "conversations_window",
    "conversations_messages",
    "conversations_replay",
    "conversations_summary",
    "conversations_apply_delta",
    "conversations_compact",
    "conversations_checkpoint",
    "conversations_idle",
    "conversations_archive",
    "conversations_end",
    "scratchpad_everything",
    "scratchpad_put",
    "scratchpad_clear",
)
LINKS = {
    ("entries_remember", "name_or_id", "$response.body#/id"): ENTRY,
    ("entries_upsert", "name_or_id", "$response.body#/id"): ENTRY,
    ("entries_list_entries", "cursor", "$response.body#/next"): ("entries_list_entries",),
    ("entries_trash", "cursor", "$response.body#/next"): ("entries_trash",),
    ("conversations_start", "ref", "$response.body#/ref_code"): TALK,
    ("conversations_append", "hash", "$response.body#/0/hash"): ("conversations_event",),
    ("scratchpad_put", "key", "$request.path.key"): ("scratchpad_get", "scratchpad_drop"),
    ("reminders_add", "id", "$response.body#/id"): ("reminders_cancel", "reminders_deliver"),
    ("jobs_run", "run_id", "$response.body#/id"): ("jobs_undo",),
    ("access_create_token", "id_or_name", "$response.body#/token/id"): ("access_revoke_token",),
}
"""Target routes by source route, the parameter it provides, and where that is in the request or response."""


def of(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app, built once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        made["components"]["schemas"]["ProblemDetails"] = ProblemDetails.model_json_schema()
        for route in app.state.routes:
            for method in route.methods if route.path not in LARGE else ():
                if changes(method, declared(route.dependant)):
                    made["paths"][route.path][method.lower()].setdefault("parameters", []).append(KEY)
        described = {one["operationId"]: one for operations in made["paths"].values() for one in operations.values()}
        for operation in described.values():
            if "security" in operation and not app.state.needs_token:
                operation["security"].append({})  # an empty requirement makes the token optional
            for parameter in operation.get("parameters", []):
                _without_null(parameter["schema"])
        _link(described)
        app.openapi_schema = _lists(made)
    return app.openapi_schema


def _without_null(schema: dict[str, Any]) -> None:
    """Remove null from the schema of a parameter: outside of a body null cannot be sent."""
    kinds = [one for one in schema.pop("anyOf", []) if one != {"type": "null"}]
    schema.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


def _link(operations: dict[str, dict[str, Any]]) -> None:
    """Add the links to the responses. Path parameters that both routes share, such as a conversation, are passed on."""
    for (origin, parameter, place), targets in LINKS.items():
        answers, taken = operations[origin]["responses"], _in_path(operations[origin])
        links = answers["201" if "201" in answers else "200"].setdefault("links", {})
        for target in targets:
            along = {name: f"$request.path.{name}" for name in sorted(taken & _in_path(operations[target]))}
            links[target] = {"operationId": target, "parameters": {**along, parameter: place}}


def _in_path(operation: dict[str, Any]) -> set[str]:
    return {one["name"] for one in operation["parameters"] if one["in"] == "path"}


def _lists(value: Any) -> Any:
    """Replace `prefixItems` by `items`, which every OpenAPI tool understands."""
    if isinstance(value, list):
        return [_lists(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _lists(one) for name, one in value.items()}
    if isinstance(kinds := found.pop("prefixItems", None), list):
        found["items"] = {"anyOf": kinds}
    return found
