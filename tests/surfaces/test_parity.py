"""Whatever the library can do, REST can do; or there is a reason why not."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import recollect
from recollect import Channels, Conversation, Conversations, Scratchpad
from recollect.access import Requests, Tokens
from recollect.home import Home
from recollect.memory import Memory
from recollect.reminders import Reminders
from recollect.rest.app import create_app
from recollect.upkeep.runner import Jobs
from recollect.vault.sync import Vault

CONVERSATION = "/v1/conversations/{ref}"
ENTRY = "/v1/entries/{name_or_id}"
REACHED: dict[type, dict[str, str]] = {
    Home: {
        "agents": "GET /v1/agents",
        "backfill": "POST /v1/backfill",
        "backup": "GET /v1/backup",
        "check": "POST /v1/check",
        "compact": "POST /v1/compact",
        "counts": "GET /v1/workspaces/counts",
        "delete_workspace": "DELETE /v1/workspaces/{name}",
        "export": "GET /v1/export",
        "flush": "POST /v1/flush",
        "import_": "POST /v1/import",
        "last_compaction": "GET /v1/compact",
        "reembed": "POST /v1/reembed",
        "stats": "GET /v1/stats",
        "workspaces": "GET /v1/workspaces",
    },
    Memory: {
        "accesses": f"GET {ENTRY}/accesses",
        "changed_since": "GET /v1/changes/since",
        "overview": "GET /v1/overview",
        "apply": "POST /v1/operations",
        "changes": "GET /v1/changes",
        "context": "POST /v1/context",
        "empty_trash": "DELETE /v1/trash",
        "forget": f"DELETE {ENTRY}",
        "get": f"GET {ENTRY}",
        "graph": "GET /v1/graph",
        "history": f"GET {ENTRY}/history",
        "last_change": "GET /v1/changes/last",
        "links": f"GET {ENTRY}/links",
        "list": "GET /v1/entries",
        "numbers": "GET /api/memory/vault",
        "orient": "POST /v1/orient",
        "project": "GET /v1/project",
        "provenance": f"GET {ENTRY}/provenance",
        "query": "POST /v1/query",
        "recall": "POST /v1/recall",
        "set_project": "PUT /v1/project",
        "recover": "GET /v1/recovery",
        "remember": "POST /v1/entries",
        "remember_many": "POST /v1/entries/batch",
        "restore": f"POST {ENTRY}/restore",
        "retract": f"POST {ENTRY}/retract",
        "supersede": f"POST {ENTRY}/supersede",
        "timeline": "GET /v1/timeline",
        "trash": "GET /v1/trash",
        "upsert": "PUT /v1/entries/{key}/knowledge",
    },
    Channels: {"create": "POST /v1/channels", "default": "GET /v1/channels", "list": "GET /v1/channels"},
    Conversations: {
        "detail": f"GET {CONVERSATION}/detail",
        "end_stale": "POST /v1/conversations/end-stale",
        "erase": f"DELETE {CONVERSATION}",
        "get": f"GET {CONVERSATION}",
        "journal": "GET /v1/events",
        "last_event": "GET /v1/events/last",
        "last_saved": "GET /api/memory",
        "list": "GET /v1/conversations",
        "scratchpad": f"GET {CONVERSATION}/scratchpad",
        "search": "GET /v1/conversations/search",
        "start": "POST /v1/conversations",
    },
    Conversation: {
        "append": f"POST {CONVERSATION}/events",
        "apply_delta": f"POST {CONVERSATION}/summary/delta",
        "archive": f"POST {CONVERSATION}/archive",
        "assistant": f"POST {CONVERSATION}/events",
        "checkpoint": f"POST {CONVERSATION}/checkpoint",
        "compact": f"POST {CONVERSATION}/compact",
        "end": f"POST {CONVERSATION}/end",
        "erase": f"DELETE {CONVERSATION}/events/{{hash}}",
        "event": f"GET {CONVERSATION}/events/{{hash}}",
        "events": f"GET {CONVERSATION}/events",
        "extend": f"POST {CONVERSATION}/events",
        "find": f"GET {CONVERSATION}/find",
        "id": f"GET {CONVERSATION}",
        "idle": f"POST {CONVERSATION}/idle",
        "info": f"GET {CONVERSATION}",
        "instruct": f"POST {CONVERSATION}/events",
        "job": f"POST {CONVERSATION}/events",
        "messages": f"POST {CONVERSATION}/messages",
        "ref_code": f"GET {CONVERSATION}",
        "replay": f"GET {CONVERSATION}/replay",
        "saved": f"GET {CONVERSATION}/checkpoint",
        "load": "GET /api/memory",
        "save": "POST /api/memory",
        "scratchpad": f"GET {CONVERSATION}/scratchpad",
        "status": f"GET {CONVERSATION}",
        "summary": f"GET {CONVERSATION}/summary",
        "tool": f"POST {CONVERSATION}/events",
        "user": f"POST {CONVERSATION}/events",
        "window": f"GET {CONVERSATION}/window",
    },
    Scratchpad: {
        "clear": f"DELETE {CONVERSATION}/scratchpad",
        "get": f"GET {CONVERSATION}/scratchpad/{{key}}",
        "items": f"GET {CONVERSATION}/scratchpad",
        "keys": f"GET {CONVERSATION}/scratchpad",
        "pop": f"DELETE {CONVERSATION}/scratchpad/{{key}}",
        "values": f"GET {CONVERSATION}/scratchpad",
        "update": f"PUT {CONVERSATION}/scratchpad/{{key}}",
    },
    Reminders: {
        "add": "POST /v1/reminders",
        "cancel": "DELETE /v1/reminders/{id}",
        "claim": "POST /v1/reminders/claim",
        "deliver": "POST /v1/reminders/{id}/deliver",
        "due": "GET /v1/reminders/due",
        "list": "GET /v1/reminders",
        "release": "POST /v1/reminders/{id}/release",
    },
    Jobs: {
        "run": "POST /v1/jobs/{name}/run",
        "run_due": "POST /v1/jobs/run-due",
        "runs": "GET /v1/runs",
        "status": "GET /v1/jobs",
        "undo": "POST /v1/runs/{run_id}/undo",
    },
    Vault: {
        "checkpoint": "POST /v1/vault/checkpoint",
        "history": "GET /v1/vault/history",
        "instructions": "GET /v1/vault/instructions",
        "migrate": "POST /v1/vault/migrate",
        "sync": "POST /v1/vault/sync",
    },
    Tokens: {
        "check": "GET /v1/session",
        "create": "POST /v1/tokens",
        "list": "GET /v1/tokens",
        "revoke": "DELETE /v1/tokens/{id_or_name}",
    },
    Requests: {},
}
LEFT_OUT: dict[type, dict[str, str]] = {
    Home: {
        "agent": "the parameters workspace and agent of every route",
        "close": "the server closes its home when it ends",
        "caches": "the gauge recollect_memory_bytes in GET /metrics",
        "jobs": "the routes under /v1/jobs are its methods",
        "move_to": "a target that only the server's machine can open: `recollect` moves, on the command line",
        "on_reminder": "a function of the process; a client claims what is due, or listens to the feed",
        "requests": "the header Idempotency-Key",
        "tokens": "the routes under /v1/tokens are its methods",
        "vault": "the routes under /v1/vault are its methods",
    },
    Conversations: dict.fromkeys(("payloads", "payload_rows"), "for the adapters of frameworks, in the same process"),
    Scratchpad: {
        "popitem": "any value, whichever: of no use to a client",
        "setdefault": "a read and a write, which a client can do",
    },
    Jobs: {
        "start": "the server starts its upkeep itself",
        "stop": "the server ends its upkeep itself",
    },
    Vault: {
        "commit": "`checkpoint` commits",
        "convert": "the layout is a setting of the server; `recollect` converts, on the command line",
        "entries_changed": "every write does it",
        "flush": "`POST /v1/flush` does it for the home",
        "folder": "a path on the server's machine",
        "layout": "a setting of the server",
        "project": "every write of the project text does it",
        "record": "every ending does it",
        "refresh": "every read does it",
        "refresh_all": "every job does it",
        "remove": "deleting a workspace does it",
        "remove_leftovers": "`sync` and `compact` do it",
        "status": "names files on the server's machine: `recollect vault status`, on the command line",
        "uses_git": "a setting of the server",
        "watch": "the server's own work",
        "written": "every write does it",
    },
    Tokens: {"any": "the server asks it before it listens"},
    Requests: {
        "begin": "the header Idempotency-Key",
        "drop": "the header Idempotency-Key",
        "executing": "the header Idempotency-Key",
        "fail": "the header Idempotency-Key",
        "finish": "the header Idempotency-Key",
        "forget_answers": "erasing an entry does it",
    },
}


def public(kind: type) -> set[str]:
    """The methods and properties of a class that its users call."""
    found = inspect.getmembers(kind, lambda one: inspect.isroutine(one) or isinstance(one, property))
    return {name for name, _ in found if not name.startswith("_")}


@pytest.mark.parametrize("kind", REACHED, ids=lambda kind: kind.__name__)
def test_every_method_of_the_library_is_reached_or_left_out_for_a_reason(kind: type) -> None:
    reached, left_out = set(REACHED[kind]), set(LEFT_OUT.get(kind, {}))
    assert not reached & left_out
    assert public(kind) == reached | left_out


def test_every_route_that_is_named_here_is_there(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        paths = create_app(home, upkeep=False).openapi()["paths"]
    there = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    named = {route for routes in REACHED.values() for route in routes.values()}
    assert named - there == set()
