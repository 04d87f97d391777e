"""What was imported is found at once: by recall, in a context, and by the searches of the page. For every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from surfaces.server import serving

import recollect
from recollect.home import Home
from recollect.model.transfer import Format

FACT = "The spare key is under the third flowerpot."
QUESTION = "where is the spare key, under which flowerpot?"
ID = "0123456789abcdef0123456789abcdef"


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def claude_code(role: str, text: str, second: int) -> dict[str, Any]:
    message = {"role": role, "content": text}
    return {
        "type": role,
        "message": message,
        "uuid": f"u{second}",
        "sessionId": "6f1c2f0e-0000-4000-8000-000000000001",
        "timestamp": f"2026-03-01T10:00:0{second}Z",
        "cwd": "/boat",
    }


def codex(kind: str, text: str) -> dict[str, Any]:
    payload = {"type": kind, "message": text}
    return {"timestamp": "2026-03-01T10:00:00Z", "type": "event_msg", "payload": payload}


CHATGPT = {
    "id": "c-1",
    "title": "Keys",
    "create_time": 1_700_000_000,
    "current_node": "b",
    "mapping": {
        "a": {
            "id": "a",
            "parent": None,
            "children": ["b"],
            "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["The key?"]}},
        },
        "b": {
            "id": "b",
            "parent": "a",
            "children": [],
            "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [FACT]}},
        },
    },
}
CLAUDE = {
    "uuid": "c-1",
    "name": "Keys",
    "created_at": "2026-03-01T10:00:00Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "The key?", "created_at": "2026-03-01T10:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "text": FACT, "created_at": "2026-03-01T10:00:01Z"},
    ],
}
GEMINI = {
    "header": "Gemini Apps",
    "title": "Prompted The key?",
    "time": "2026-03-01T10:00:00Z",
    "products": ["Gemini Apps"],
    "safeHtmlItem": [{"html": f"<p>{FACT}</p>"}],
}
ENTITY = {"type": "entity", "name": "key", "entityType": "thing", "observations": [FACT]}
NOTES: dict[Format, dict[str, str]] = {
    Format.MCP_MEMORY: {"memory.jsonl": lines(ENTITY)},
    Format.LETTA: {"sam.af": json.dumps({"agents": [{"name": "Sam"}], "blocks": [{"label": "home", "value": FACT}]})},
    Format.MEM0: {"mem0.json": json.dumps({"results": [{"id": "1", "memory": FACT}]})},
    Format.OPENCLAW: {"MEMORY.md": FACT, "SOUL.md": "Be kind."},
    Format.NOTION: {f"Home {ID}.md": f"# Home\n\n{FACT}\n"},
    Format.LOGSEQ: {"pages/Home.md": f"- {FACT}\n", "journals/2024_03_05.md": "- rain\n"},
    Format.BASIC_MEMORY: {"home.md": f"---\ntitle: Home\ntype: note\npermalink: home\n---\n- [fact] {FACT}\n"},
    Format.OBSIDIAN: {"home.md": FACT},
    Format.MEMORY_FOLDER: {"_project.md": "The house", "default/lessons.md": f"## 2026-03-01T10:00\n\n{FACT}\n"},
}
CHATS: dict[Format, dict[str, str]] = {
    Format.CHATGPT: {"conversations.json": json.dumps([CHATGPT])},
    Format.CLAUDE: {"conversations.json": json.dumps([CLAUDE])},
    Format.CLAUDE_CODE: {"p/s.jsonl": lines(claude_code("user", "The key?", 1), claude_code("assistant", FACT, 2))},
    Format.CODEX: {
        "rollout-2026-03-01.jsonl": lines(
            {"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s-1", "cwd": "/boat"}},
            codex("user_message", "The key?"),
            codex("agent_message", FACT),
        )
    },
    Format.GEMINI: {"MyActivity.json": json.dumps([GEMINI])},
    Format.CONVERSATION: {
        "saved.json": json.dumps(
            {
                "agentId": "default",
                "savedAt": 1_772_359_200_000,
                "messages": [{"role": "user", "content": "The key?"}, {"role": "assistant", "content": FACT}],
            }
        )
    },
}


def imported(home: Home, folder: Path, kind: Format, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    whole = len(files) > 1 or "/" in next(iter(files)) or next(iter(files)).endswith(".md")
    done = home.import_(folder if whole else folder / next(iter(files)), agent="default")
    assert done.format is kind
    assert done.changed


def test_every_format_is_tried() -> None:
    assert {*NOTES, *CHATS} == {*Format} - {Format.RECOLLECT}  # an export has the rows of a memory


@pytest.mark.parametrize("kind", NOTES)
def test_an_imported_note_is_found_by_recall_in_a_context_and_in_lists(kind: Format, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        imported(home, tmp_path / "export", kind, NOTES[kind])
        hits = server.client.post("/v1/recall", json={"query": QUESTION}).json()
        assert FACT in hits[0]["entry"]["content"]
        assert FACT in server.client.post("/v1/context", json={"command": QUESTION}).json()["text"]
        assert FACT in server.client.get("/v1/entries").text


@pytest.mark.parametrize("kind", CHATS)
def test_an_imported_chat_is_found_by_search_and_in_a_context_and_recall_points_to_it(
    kind: Format, tmp_path: Path
) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        imported(home, tmp_path / "export", kind, CHATS[kind])
        answer = server.client.post("/v1/recall", json={"query": QUESTION})
        found = any(FACT in hit["entry"]["content"] for hit in answer.json())
        assert found or answer.headers["Conversations-Have-More"] == "true"
        assert FACT in server.client.post("/v1/context", json={"command": QUESTION}).json()["text"]
        assert FACT in server.client.get("/v1/conversations/search", params={"q": QUESTION}).text
        (talk,) = server.client.get("/v1/conversations").json()["items"]
        assert FACT in server.client.get(f"/v1/conversations/{talk['id']}/events").text
