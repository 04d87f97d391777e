"""Renders what a search found as text for a model: one item each, fenced, with name, date, category and origin.

The text depends on the result only, so the same result gives the same bytes. It contains no score.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from recollect import fencing

__all__ = ["found_text"]

HASH_LENGTH = 12
"""Characters of a hash that are shown; a beginning is enough to look a turn up."""


def found_text(result: Mapping[str, Any]) -> str:
    """Return the results of `memory` and `memory_query` as lines; a result without any stays JSON."""
    if "results" not in result:
        return to_json(result).decode()
    lines = [_line(one) for one in result["results"]] or ["Nothing found."]
    if "confidence" in result:
        lines.insert(0, "Nothing stored answers this; the nearest:")
    if "conversations_have_more" in result:
        lines.append('Conversations have more: memory_query with "store": "session", "mode": "text".')
    if "next" in result:
        lines.append(f'There is more: call again with "after": {result["next"]}.')
    if "conversation" in result:
        lines.append(f"Conversation {result['conversation']}.")
    return "\n".join(lines)


def _line(one: Mapping[str, Any]) -> str:
    """Return one item: `- staging database port: 5433 (2026-03-02, agent) id …`."""
    is_turn = "role" in one
    name = fencing.label(one.get("speaker", one["role"])) if is_turn else one.get("name") or one.get("key")
    text = fencing.behind_label(f"{name}: {one['content']}" if name else one["content"])
    place = f"session {one['session_id']} hash {one['hash'][:HASH_LENGTH]}" if is_turn else f"id {one['id']}"
    return f"- {text} ({', '.join(_facts(one))}) {place}"


def _facts(one: Mapping[str, Any]) -> list[str]:
    tags = [f"#{fencing.label(tag)}" for tag in one.get("tags", ())]
    facts = [one["created_at"][:10], one.get("category"), one["origin"], *tags]
    if one.get("state", "current") != "current":
        facts.append(one["state"])
    facts += [f"{word} {one[word][:10]}" for word in ("since", "until") if word in one]
    return [fact for fact in facts if fact]
