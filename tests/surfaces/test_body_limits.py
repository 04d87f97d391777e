"""No body is too much for the server: every part of it has a limit, and it is counted before it is parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from surfaces.server import Server, serving, settings
from surfaces.test_rest_middleware import is_problem

import recollect
from recollect.compat import forge
from recollect.mcp import conversations, memory_read, notes, vault
from recollect.mcp.tool import ERRORS
from recollect.rest import bodies
from recollect.rest.app import create_app
from recollect.rest.errors import MOST_ERRORS

Schema = dict[str, Any]
MANY = 2_000
ZEROS = b"[" + b"0," * bodies.VALUES + b"0]"
SPEAKS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def within(
    schema: Schema, known: Schema, where: str, above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Schema]]:
    """Every schema within one, with the place where it stands."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in above:
            yield from within(known[name], known, f"{where} {name}", above | {name})
        return
    yield where, schema
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from within(one, known, where, above)
    if isinstance(items := schema.get("items"), dict):
        yield from within(items, known, f"{where}[]", above)
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield from within(others, known, f"{where}{{}}", above)
    for name, one in schema.get("properties", {}).items():
        yield from within(one, known, f"{where}.{name}", above)


def is_unlimited(schema: Schema) -> bool:
    """Whether a text, a list or an object could be of any size."""
    match schema.get("type"):
        case "string":
            return not schema.keys() & {"maxLength", "enum", "const"}
        case "array":
            return "maxItems" not in schema
        case "object":
            return schema.get("additionalProperties") not in (None, False) and "maxProperties" not in schema
    return False


@pytest.fixture
def described(tmp_path: Path) -> Schema:
    """The description of all routes."""
    with recollect.open(tmp_path / "memory.db") as home:
        made: Schema = create_app(home, upkeep=False).openapi()
    return made


def test_every_text_list_and_object_of_a_body_has_a_limit(described: Schema) -> None:
    found = [
        (where, one)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
        if kind == "application/json"
        for where, one in within(content["schema"], described["components"]["schemas"], f"{method} {path}")
    ]
    assert len(found) > 200
    assert [where for where, one in found if is_unlimited(one)] == []


def test_every_text_list_and_object_of_a_tool_has_a_limit() -> None:
    modules = (notes, memory_read, conversations, forge, vault)
    checked = {tool.name: tool.fn_metadata.arg_model.model_json_schema() for one in modules for tool in one.TOOLS}
    found = [place for name, schema in checked.items() for place in within(schema, schema.get("$defs", {}), name)]
    assert len(found) > 50
    assert [where for where, one in found if is_unlimited(one)] == []


def wrong(schema: Schema, known: Schema, above: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Values that are wrong at many places: long lists of what is no item, objects with many unknown keys."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in above:
            yield from wrong(known[name], known, above | {name})
        return
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from wrong(one, known, above)
    if "items" in schema:
        yield [None] * min(schema.get("maxItems", MANY), MANY)
        for one in wrong(schema["items"], known, above):
            yield [one] * min(schema.get("maxItems", MANY), MANY)
    if schema.get("type") == "object":
        fixed = {name: one["const"] for name, one in schema.get("properties", {}).items() if "const" in one}
        yield fixed | {f"key {number}": None for number in range(MANY)}
        for name, one in schema.get("properties", {}).items():
            for value in wrong(one, known, above):
                yield fixed | {name: value}


def test_few_errors_are_collected_whatever_is_wrong(tmp_path: Path, described: Schema) -> None:
    counted = []
    with recollect.open(tmp_path / "other.db") as home:
        routes = [one for one in create_app(home, upkeep=False).state.routes if isinstance(one, APIRoute)]
    for route in routes:
        if route.body_field is None:
            continue
        (method,) = route.methods
        body = described["paths"][route.path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
        for value in wrong(body, described["components"]["schemas"]):
            try:
                route.body_field._type_adapter.validate_python(value)
            except ValidationError as error:
                counted.append((error.error_count(), method, route.path))
    assert len(counted) > 100
    assert max(counted) < (3 * MOST_ERRORS,)


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/entries/batch", "/api/memory", "/mcp"])
def test_a_body_with_too_many_values_or_levels_is_refused(server: Server, path: str) -> None:
    assert is_problem(server.client.post(path, content=ZEROS, headers=SPEAKS), 413)
    parts = iter([ZEROS[:9], ZEROS[9:]])
    assert is_problem(server.client.post(path, content=parts, headers=SPEAKS), 413)
    deep = b"[" * (bodies.DEPTH + 1) + b"]" * (bodies.DEPTH + 1)
    assert is_problem(server.client.post(path, content=deep, headers=SPEAKS), 400)
    within = b"[" * bodies.DEPTH + b"]" * bodies.DEPTH
    assert server.client.post(path, content=within, headers=SPEAKS).status_code in (400, 422)


@pytest.mark.parametrize(
    "message",
    [
        {"k" * 100_000: 1},
        {"jsonrpc": "2.0", "id": 1, "method": "x" * 100_000},
        {"jsonrpc": "2.0", "id": "x" * 100_000, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["x" * 100_000]},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {f"key {number}": 1 for number in range(9_000)}},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "more": "x" * 100_000},
        ["x" * 100_000],
    ],
    ids=["key", "method", "id", "params", "many params", "more", "list"],
)
def test_a_long_body_that_is_no_message_of_json_rpc_does_not_reach_the_sdk(server: Server, message: Any) -> None:
    answer = server.client.post("/mcp", json=message, headers=SPEAKS)
    assert is_problem(answer, 400)
    assert len(answer.content) < 1_000


def test_a_long_argument_of_a_tool_arrives(speaking: Server) -> None:
    text = "We deploy on Tuesdays, [or] {so}. " * 10_000
    result = called(speaking, "memory", {"action": "remember", "content": text}).json()["result"]
    assert speaking.home.agent("default").get(result["structuredContent"]["id"]).content == text


def test_text_may_look_like_many_values(server: Server) -> None:
    text = '"[{,\\' * 150_000
    made = server.client.post("/v1/entries", json={"content": text})
    assert made.status_code == 201
    assert server.client.get(f"/v1/entries/{made.json()['id']}").json()["content"] == text


def test_an_unknown_key_is_not_repeated_at_length(server: Server) -> None:
    answer = server.client.post("/v1/entries", json={"content": "x", "k" * 1_000_000: 1})
    assert is_problem(answer, 422)
    assert len(answer.content) < 1_000


def called(server: Server, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    """What a tool answers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return server.client.post("/mcp", json=body, headers={**SPEAKS, "Mcp-Protocol-Version": "2025-06-18"})


@pytest.fixture
def speaking(tmp_path: Path) -> Iterator[Server]:
    """A server whose MCP knows no sessions, so that a tool can be called at once."""
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(workers=2)) as running:
        yield running


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "append", **{f"key {number}": 1 for number in range(MANY)}},
        {"action": "append", "messages": [{f"key {number}": 1 for number in range(MANY)}]},
        {"action": "append", "messages": json.dumps([0] * bodies.VALUES)},
        {"action": "append", "messages": [0] * 1_000},
    ],
    ids=["unknown", "unknown within", "a list as text", "wrong items"],
)
def test_a_tool_tells_a_few_errors_whatever_is_wrong(speaking: Server, arguments: dict[str, Any]) -> None:
    result = called(speaking, "conversation", arguments).json()["result"]
    assert result["isError"]
    assert len(result["content"][0]["text"]) < 150 * ERRORS


JSON = st.recursive(
    st.none() | st.integers() | st.text('",[]{}\\/\nä', max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text('",[{\\a', max_size=4), inner, max_size=6),
    max_leaves=40,
)


def size(value: Any) -> tuple[int, int]:
    """The commas and opening brackets of a value as JSON, and its levels."""
    if not isinstance(value, list | dict):
        return 0, 0
    inner = [size(one) for one in (value.values() if isinstance(value, dict) else value)]
    return (
        1 + max(len(value) - 1, 0) + sum(values for values, _ in inner),
        1 + max((levels for _, levels in inner), default=0),
    )


@given(value=JSON, most=st.integers(0, 30), levels=st.integers(0, 5), piece=st.integers(1, 20), plain=st.booleans())
def test_values_and_levels_are_counted_as_they_are(value: Any, most: int, levels: int, piece: int, plain: bool) -> None:
    values, depth = size(value)
    expected = {413, 400} if values > most else {400} if depth > levels else {None}
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(bodies, "VALUES", most)
        changed.setattr(bodies, "DEPTH", levels)
        changed.setattr(bodies, "PIECE", piece)
        refused = None
        try:
            bodies.refuse_too_much(json.dumps(value, ensure_ascii=plain).encode())
        except HTTPException as error:
            refused = error.status_code
    assert refused in expected


@pytest.mark.parametrize(("path", "name"), [("/v1/operations", "op"), ("/v1/upsert", "op"), ("/v1/query", "store")])
def test_a_long_discriminator_is_refused_without_being_repeated(server: Server, path: str, name: str) -> None:
    for tag in ("x" * 100_000, ["x"] * 10_000, {"x" * 100_000: 0}):
        answer = server.client.post(path, json={name: tag, "content": "y"})
        assert answer.status_code == 422
        assert f"{name} must be a string of at most 100 characters" in answer.json()["detail"]
        assert len(answer.content) < 1_000
