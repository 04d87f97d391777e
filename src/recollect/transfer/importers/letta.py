"""Reader for agent files of Letta (`.af`): memory blocks and files become notes, messages a conversation per agent.

Agents of older kinds speak through the tool `send_message`, and what the user says is wrapped in JSON.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.transfer.importers.reading import clean, line, mapping, mappings, moment, name, objects
from recollect.transfer.importers.values import ImportedChat, ImportedItem, ImportedMessage, ImportedNote, LeftOut, Read

__all__ = ["is_agent_file", "read"]

SOURCE = "letta"


def is_agent_file(value: Mapping[str, Any]) -> bool:
    """True if an object is an agent file, of this or of the first version."""
    listed = isinstance(value.get("agents"), list) and isinstance(value.get("blocks"), list)
    return listed or ("agent_type" in value and isinstance(value.get("core_memory"), list))


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield blocks and files, then the messages of each agent."""
    missed: Counter[str] = Counter()
    for found in objects(path, done):
        first = "core_memory" in found
        agents = mappings([found] if first else found.get("agents"))
        blocks = mappings(found.get("core_memory" if first else "blocks"))
        for block in blocks:
            yield from _note(block.get("value"), f"{_owner(block, agents)}/{line(block.get('label'))}", block)
        for file in mappings(found.get("files")):
            yield from _note(file.get("content"), line(file.get("original_file_name") or file.get("file_name")), file)
        for agent in agents:
            yield ImportedChat(
                id=f"letta/{_called(agent)}",
                messages=[said for one in mappings(agent.get("messages")) for said in _messages(one, missed)],
                title=_called(agent),
                model=line(mapping(agent.get("llm_config")).get("model")),
            )
    yield LeftOut(missed)


def _called(agent: Mapping[str, Any]) -> str:
    return line(agent.get("name")) or line(agent.get("id")) or "agent"


def _owner(block: Mapping[str, Any], agents: list[Mapping[str, Any]]) -> str:
    """Return the name of the agent that a block belongs to; the first one if the file does not say."""
    having = [agent for agent in agents if isinstance(ids := agent.get("block_ids"), list) and block.get("id") in ids]
    return _called((having or agents or [{}])[0])


def _note(content: object, called: str | None, about: Mapping[str, Any]) -> Iterator[ImportedNote]:
    if clean(content).strip():
        yield ImportedNote(
            content=clean(content).strip("\n"),
            source=SOURCE,
            name=name(called),
            context=clean(about.get("description")).strip() or None,
            at=moment(about.get("created_at")),
        )


def _messages(message: Mapping[str, Any], missed: Counter[str]) -> Iterator[ImportedMessage]:
    """Yield what a message says; anything else is counted."""
    role, at = line(message.get("role")) or "message", moment(message.get("created_at"))
    text = _text(message)
    if role == "user":
        wrapped = _object(text)
        kind = line(wrapped.get("type"))
        if kind not in (None, "user_message"):
            missed[str(kind)] += 1
            return
        text = clean(wrapped.get("message")) if kind else text
    elif role == "assistant":
        calls = [mapping(call.get("function")) for call in mappings(message.get("tool_calls"))]
        spoken = [call for call in calls if call.get("name") == "send_message"]
        missed.update(line(call.get("name")) or "tool call" for call in calls if call not in spoken)
        if spoken:  # the text beside it is what the agent thought
            text = "\n".join(clean(_object(call.get("arguments")).get("message")) for call in spoken)
    else:
        missed[role] += 1
        return
    if text.strip():
        yield ImportedMessage(text, role == "user", at=at)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(clean(part.get("text")) for part in mappings(content) if part.get("type") == "text")
    return clean(content) or clean(message.get("text"))


def _object(text: object) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(clean(text)))
    except (ValueError, RecursionError):
        return {}
