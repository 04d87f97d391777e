"""The scratchpad of a conversation: temporary JSON values by key. A write is on disk when it returns."""

import json
from typing import Any

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import Invalid

__all__ = ["clear", "get", "keys", "put", "remove"]

VALUE_BYTES = 1_000_000


def get(store: Store, conversation: str, key: object) -> Any:
    """Return a value; raise KeyError if there is none."""
    with store.read() as tx:
        row = tx.one("history.scratch_get", conversation=conversation, key=names.name(key, "key"))
    if row is None:
        raise KeyError(key)
    return json.loads(row[0])


def put(store: Store, conversation: str, key: object, value: object, now: int) -> None:
    """Store a value; raise Invalid unless it is JSON of at most VALUE_BYTES."""
    key = names.name(key, "key")
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the value of {key!r} is not JSON: {error}") from None
    names.plain(f"value of {key!r}", encoded, lines=True)
    if len(encoded.encode()) > VALUE_BYTES:
        raise Invalid(
            f"the value of {key!r} is longer than {VALUE_BYTES:,} bytes; store it elsewhere and save a reference"
        )
    with store.database.write(store.agent) as tx:
        tx.run("history.scratch_put", conversation_id=conversation, key=key, value=encoded, created_at=now)


def remove(store: Store, conversation: str, key: object) -> None:
    """Remove a value; raise KeyError if there is none."""
    with store.database.write(store.agent) as tx:
        if not tx.run("history.scratch_drop", conversation=conversation, key=names.name(key, "key")):
            raise KeyError(key)


def keys(store: Store, conversation: str) -> list[str]:
    """List the keys."""
    with store.read() as tx:
        return [key for (key,) in tx.all("history.scratch_keys", conversation=conversation)]


def clear(store: Store, conversation: str) -> None:
    """Remove all values."""
    with store.database.write(store.agent) as tx:
        tx.run("history.scratch_clear", conversation=conversation)
