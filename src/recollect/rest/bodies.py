"""Limits on the number of values and the nesting depth of JSON bodies, checked before parsing.

The parser holds the GIL until it is done, and two million zeros keep it and the validation after it busy for a minute.
So values are counted first, without building any: each comma or opening bracket outside of a string counts as one.
Long bodies are counted and parsed in a worker thread, one at a time.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from typing import Any

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

__all__ = ["DEPTH", "VALUES", "checked", "parsed", "refuse_no_message", "refuse_too_much", "replayed"]

VALUES = 50_000
"""Maximum number of values in a body."""
DEPTH = 64
"""Maximum nesting depth of lists and objects."""
LONG = 1 << 16
"""Size in bytes from which a body is processed in a worker thread."""
PLAIN = 1_000
"""Upper bound on the length of a JSON-RPC method, id or parameter name, and on the number of parameters."""
PIECE = 1 << 16
"""Bytes scanned at once, so that other threads can take the GIL in between."""
_OTHER = bytes(set(range(256)) - set(b'",[]{}'))
_STRING = re.compile(rb'"[^"]*"')
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_one_at_a_time = RunVar[CapacityLimiter]("one_at_a_time")


def refuse_too_much(body: bytes) -> None:
    """Reject a body with too many values or levels. Whether it is valid JSON is left to the parser."""
    opened = body.count(b"[") + body.count(b"{")
    if opened <= DEPTH and opened + body.count(b",") <= VALUES:  # even if none of them is inside a string
        return
    marks = b"".join(_marks(body))
    if marks.count(b'"') <= 4 * VALUES + 2:  # two for a key, two for its value
        marks = _STRING.sub(b"", marks)
    steps = (_STEP[mark] for mark in marks[: 3 * VALUES] if mark in _STEP)  # more would exceed the limit anyway
    if max(accumulate(steps), default=0) > DEPTH:
        raise HTTPException(
            400, f"the body cannot be read: its lists and objects are nested too deeply, {DEPTH} levels are allowed"
        )
    if marks.count(b",") + marks.count(b"[") + marks.count(b"{") > VALUES:
        raise HTTPException(413, f"the body has more than {VALUES:,} values; send fewer per request")


def _marks(body: bytes) -> Iterator[bytes]:
    """Yield the structural characters of a body: quotes that delimit strings, commas and brackets."""
    at = 0
    while at < len(body):
        end = at + PIECE
        if _is_escape(body[at:end]):
            end += 1
        yield body[at:end].replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHER)
        at = end


def _is_escape(piece: bytes) -> bool:
    """Return whether the byte after the piece is escaped."""
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1


# The hooks change nothing, but as Python functions they let the GIL be released during parsing.
_loads = partial(json.loads, object_hook=lambda value: value, parse_float=lambda text: float(text))


def refuse_no_message(body: bytes) -> None:
    """Reject a long body that is no JSON-RPC message: the MCP SDK would put all of it into its error message."""
    try:
        message = _loads(body) if len(body) >= LONG else None
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body cannot be read; send JSON in UTF-8") from error
    if message is not None and not _is_message(message):
        raise HTTPException(400, "the body is not a JSON-RPC 2.0 message")


def _is_message(value: object) -> bool:
    """Return whether a value looks like a JSON-RPC request, notification or response as MCP uses them."""
    match value:
        case {"jsonrpc": "2.0", "method": str() as method, **rest}:
            params = rest.pop("params", {})
            request_id = rest.pop("id", None)
            known = not rest and isinstance(request_id, str | int | float | None)
            known = known and len(str(request_id)) < PLAIN and len(method) < PLAIN
            return (
                known and isinstance(params, dict) and len(params) < PLAIN and max(map(len, params), default=0) < PLAIN
            )
        case {"jsonrpc": "2.0", "result": dict()} | {"jsonrpc": "2.0", "error": dict()}:
            return True
    return False


def checked(receive: Receive, *, messages: bool = False) -> Receive:
    """Wrap `receive` to deliver the body as one part within the limits, read on the first call.

    With `messages` the body must be a JSON-RPC message.
    """
    first = True

    async def whole() -> Message:
        nonlocal first
        if not first:
            return await receive()
        first = False
        parts, more = list[bytes](), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return message
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        body = b"".join(parts)
        await _worked(refuse_too_much, body)
        if messages:
            await _worked(refuse_no_message, body)
        return {"type": "http.request", "body": body, "more_body": False}

    return whole


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body that was read."""
    first = True

    async def replay() -> Message:
        nonlocal first
        if not first:
            return await receive()
        first = False
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def parsed(body: bytes) -> Any:
    """Parse a JSON text, in a worker thread if it is long."""
    if len(body) < LONG:
        return json.loads(body)
    return await _worked(_loads, body)


async def _worked(function: Any, body: bytes) -> Any:
    if len(body) < LONG:
        return function(body)
    limiter = _one_at_a_time.get(None)
    if limiter is None:
        limiter = CapacityLimiter(1)
        _one_at_a_time.set(limiter)
    return await run_sync(function, body, limiter=limiter)
