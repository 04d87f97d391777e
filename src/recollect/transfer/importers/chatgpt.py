"""Reader for ChatGPT's data export: chats as message trees in `conversations.json` or its numbered parts.

The export lists neither memories nor custom instructions. Both are in the chats: instructions as a hidden message of
each chat, memories as messages to the tool `bio`, and as a numbered list that some chats hold as context. The newest
list counts. A project is known by its id only.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.model.entry import Origin
from recollect.transfer.importers.branches import another_branch, branches, forks
from recollect.transfer.importers.reading import (
    clean,
    each,
    files,
    first,
    line,
    mapping,
    mappings,
    moment,
    name,
    objects,
)
from recollect.transfer.importers.values import (
    ImportedChat,
    ImportedItem,
    ImportedMessage,
    ImportedNote,
    LeftOut,
    Read,
    Remark,
)

__all__ = ["read"]

SOURCE = "chatgpt"
INSTRUCTIONS = "ChatGPT custom instructions"
PROJECT = "g-p-"
"""How the ids of projects begin; other ids are those of custom assistants."""
CONTEXT = ("user_editable_context", "model_editable_context")
"""Types of hidden messages with custom instructions, and with the list of memories."""
UNSAID = ("thoughts", "reasoning_recap")
"""Types of messages that are counted: they are what the model thought."""
_FENCED = re.compile(r"```(?:[a-z]*\n)?(.*?)```", re.DOTALL)
_CITATION = re.compile("[ \t]*\ue200[^\ue201]*\ue201|\u3010\\d+(?::\\d+)?\u2020[^\u3011]*\u3011")
"""A place where the page shows a source: between characters for private use, or in lenticular brackets."""
_MEMORY = re.compile(r"[ \t]*\d+\.[ \t]*(?:\[([^\]\n]*)\]\.?[ \t]*)?(\S.*)")
"""A line of the list of memories: number, date and text."""


@dataclass(slots=True)
class _Collected:
    """What is collected over all chats of an export."""

    instructions: dict[str, int] = field(default_factory=dict)
    """The time of the first chat with these instructions."""
    projects: dict[str, list[str]] = field(default_factory=dict)
    """Titles of chats by project."""
    memories: tuple[int, str] = (0, "")
    """The newest list of memories, and its time."""
    left_out: Counter[str] = field(default_factory=Counter)


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the chats in file order, each with its current branch first, then what is collected from all of them."""
    found = _Collected()
    parts = [file for file in files(path, ".json") if "mapping" in first(file)] if path.is_dir() else [path]
    for file, read_so_far in each(parts, done):
        for number, chat in enumerate(objects(file, read_so_far), 1):
            identity = line(chat.get("conversation_id") or chat.get("id"))
            if identity is None or not isinstance(chat.get("mapping"), Mapping):
                yield Remark(f"chat {number} of the file has no id or no messages, and was left out")
                continue
            yield from _chat(chat, identity, found)
    yield from _collected(found)


def _collected(found: _Collected) -> Iterator[ImportedItem]:
    versions = sorted(found.instructions.items(), key=lambda one: one[1])
    for number, (text, since) in enumerate(versions, 1):
        newest = number == len(versions)
        yield ImportedNote(
            content=text,
            source=SOURCE,
            name=INSTRUCTIONS if newest else None,
            at=since or None,
            valid_until=None if newest else versions[number][1] or None,
            origin=Origin.USER,
        )
    since, listed = found.memories
    for memory in filter(None, map(_MEMORY.fullmatch, listed.splitlines())):
        at = moment(memory[1]) or since or None
        yield ImportedNote(content=memory[2].strip(), source=SOURCE, tags=("memory",), at=at)
    for project, titles in sorted(found.projects.items()):
        shown = "\n".join(f"- {title}" for title in sorted(titles))
        yield ImportedNote(
            content=f"Chats of this project:\n{shown}", source=SOURCE, name=name(f"ChatGPT project {project}")
        )
    yield LeftOut(found.left_out)


def _chat(chat: Mapping[str, Any], identity: str, found: _Collected) -> Iterator[ImportedItem]:
    nodes = {key: node for key, node in chat["mapping"].items() if isinstance(node, Mapping)}
    parents = {key: parent if isinstance(parent := node.get("parent"), str) else None for key, node in nodes.items()}
    title, started = line(chat.get("title"), 1_000), moment(chat.get("create_time"))
    latest = moment(chat.get("update_time")) or started
    family = [identity, *(f"{identity}/{node}" for node in forks(parents))]
    other: str | None = None
    for number, branch in enumerate(branches(parents, _current(chat, nodes))):
        messages = []
        for node in branch:
            yield from _notes(nodes[node], started, latest, found)
            if (message := _message(nodes[node], found)) is not None:
                messages.append(message)
        other = other if number else another_branch(title, messages)
        yield ImportedChat(
            id=f"{identity}/{branch[0]}" if number else identity,
            messages=messages,
            title=other if number else title,
            model=line(chat.get("default_model_slug")),
            started=started,
            family=family,
        )
    project = line(chat.get("gizmo_id") or chat.get("conversation_template_id"))
    if project is not None and project.startswith(PROJECT):
        found.projects.setdefault(project, []).append(title or identity)


def _current(chat: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the last node of the branch that was shown; by default the newest leaf."""
    current = chat.get("current_node")
    if isinstance(current, str) and current in nodes:
        return current
    leaves = [key for key, node in nodes.items() if not node.get("children")]
    return max(leaves, key=lambda key: moment(mapping(nodes[key].get("message")).get("create_time")) or 0, default=None)


def _notes(
    node: Mapping[str, Any], started: int | None, latest: int | None, found: _Collected
) -> Iterator[ImportedNote]:
    """Yield the memories that a message stores, and collect custom instructions and lists of memories."""
    message = mapping(node.get("message"))
    content, about = mapping(message.get("content")), mapping(message.get("metadata"))
    if message.get("recipient") == "bio" and mapping(message.get("author")).get("role") == "assistant":
        text = _text(content).strip()
        if text:
            at = moment(message.get("create_time")) or started
            yield ImportedNote(content=text, source=SOURCE, tags=("memory",), at=at)
    if content.get("content_type") == "user_editable_context":
        custom = mapping(about.get("user_context_message_data"))
        parts = (
            clean(custom.get("about_user_message")) or _unfenced(content.get("user_profile")),
            clean(custom.get("about_model_message")) or _unfenced(content.get("user_instructions")),
        )
        text = "\n\n".join(part.strip() for part in parts if part.strip())
        if text:
            found.instructions[text] = min(found.instructions.get(text, started or 0), started or 0)
    if listed := clean(content.get("model_set_context")).strip():
        at = moment(message.get("create_time")) or latest or 0
        found.memories = max(found.memories, (at, listed))


def _unfenced(value: object) -> str:
    """Return the text that ChatGPT put between fences when it wrapped custom instructions, or all of it."""
    text = clean(value)
    inside = _FENCED.search(text)
    return inside[1] if inside else text


def _message(node: Mapping[str, Any], found: _Collected) -> ImportedMessage | None:
    message = mapping(node.get("message"))
    author, content, about = (mapping(message.get(key)) for key in ("author", "content", "metadata"))
    role, kind = author.get("role"), line(content.get("content_type")) or "text"
    if role not in ("user", "assistant", "tool") or kind in CONTEXT:
        return None
    text = "" if kind in UNSAID else _CITATION.sub("", _text(content))
    attached = [line(one.get("name")) for one in mappings(about.get("attachments"))]
    text = "\n".join(part for part in (text, *(f"[{one}]" for one in attached if one)) if part)
    if not text.strip():
        if kind not in ("text", "multimodal_text"):
            found.left_out[kind] += 1
        return None
    spoken = kind in ("text", "multimodal_text") and message.get("recipient", "all") == "all"
    hidden = bool(about.get("is_visually_hidden_from_conversation"))
    return ImportedMessage(
        text=text,
        by_user=role == "user",
        by_tool=role == "tool",
        at=moment(message.get("create_time")),
        speaker=line(author.get("name")) or ("tool" if role == "tool" else None),
        internal=role == "tool" or hidden or not spoken,
    )


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a message; other content is replaced by its type in brackets."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return clean(content.get("text") or content.get("result") or content.get("content"))
    texts = (clean(part) if isinstance(part, str) else _other(mapping(part)) for part in parts)
    return "\n".join(one for one in texts if one)


def _other(part: Mapping[str, Any]) -> str:
    kind = line(part.get("content_type")) or "attachment"
    return clean(part.get("text")) or f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"
