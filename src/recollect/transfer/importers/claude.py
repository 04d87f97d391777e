"""Reader for Claude's data export: chats in `conversations.json`; memories, projects and design chats in other files.

A document that Claude wrote in a chat is the input of a tool; it becomes part of the message, as attachments do.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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

__all__ = ["is_claude", "read"]

SOURCE = "claude"
SPOKEN = ("text", "voice_note")
"""Types of message parts that are read."""
CONTENT = (*SPOKEN, "flag")
"""Types of message parts that are read, or that hold nothing to read."""
DOCUMENTS = {"artifacts": ("title", "content"), "create_file": ("path", "file_text")}
"""Tools that write a document, and the names of its title and its text in their input."""


def is_claude(value: Mapping[str, Any]) -> bool:
    """True if an object is a chat, a memory or a project of Claude's export."""
    memory = "conversations_memory" in value or "memory_files" in value
    return "chat_messages" in value or memory or ("uuid" in value and "docs" in value) or _is_design(value)


def _is_design(value: Mapping[str, Any]) -> bool:
    """True if an object is a chat about a design, whose messages have another form."""
    said = mappings(value.get("messages"))
    return (
        "uuid" in value and bool(said) and all("role" in one and isinstance(one.get("content"), dict) for one in said)
    )


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the chats, memories and projects in file order."""
    parts = [file for file in files(path, ".json") if is_claude(first(file))] if path.is_dir() else [path]
    projects = {
        line(found.get("uuid")): line(found.get("name"))
        for file in parts
        if "docs" in first(file)
        for found in objects(file, lambda read: None)
    }
    missed: Counter[str] = Counter()
    for file, read_so_far in each(parts, done):
        for number, found in enumerate(objects(file, read_so_far), 1):
            identity = line(found.get("uuid"))
            if "conversations_memory" in found or "memory_files" in found:
                yield from _memories(found, projects)
            elif identity is not None and isinstance(found.get("chat_messages"), list):
                yield from _chat(found, identity, missed)
            elif "docs" in found:
                yield from _project(found)
            elif identity is not None and _is_design(found):
                yield _design(found, identity, missed)
            else:
                yield Remark(f"chat {number} of the file has no id or no messages, and was left out")
    yield LeftOut(missed)


def _memories(found: Mapping[str, Any], projects: Mapping[str | None, str | None]) -> Iterator[ImportedItem]:
    summary = clean(found.get("conversations_memory")).strip()
    if summary:
        yield ImportedNote(content=summary, source=SOURCE, name="Claude memory")
    for project, text in mapping(found.get("project_memories")).items():
        if clean(text).strip():
            called = name(f"Claude memory of {projects.get(line(project)) or project}")
            yield ImportedNote(content=clean(text).strip(), source=SOURCE, name=called)
    for file in mappings(found.get("memory_files")):
        if text := clean(file.get("content")).strip():
            yield ImportedNote(
                content=text, source=SOURCE, name=name(f"Claude memory {line(file.get('path')) or 'file'}")
            )


def _project(found: Mapping[str, Any]) -> Iterator[ImportedItem]:
    """Yield a project's description with its instructions, and each document."""
    called, at = line(found.get("name")) or "unnamed", moment(found.get("created_at"))
    parts = (clean(found.get(key)).strip() for key in ("description", "prompt_template"))
    text = "\n\n".join(part for part in parts if part)
    if text:
        yield ImportedNote(content=text, source=SOURCE, name=name(f"Claude project {called}"), at=at)
    for document in mappings(found.get("docs")):
        content, title = clean(document.get("content")), line(document.get("filename")) or "document"
        if content.strip():
            written = moment(document.get("created_at")) or at
            yield ImportedNote(content=content, source=SOURCE, name=name(f"{called}/{title}"), at=written)
        else:
            yield Remark(f"the document {title} of the project {called} has no text, and was left out")


def _chat(found: Mapping[str, Any], identity: str, missed: Counter[str]) -> Iterator[ImportedItem]:
    said = mappings(found.get("chat_messages"))
    title, model, started = line(found.get("name"), 1_000), line(found.get("model")), moment(found.get("created_at"))
    keys = [line(message.get("uuid")) or str(number) for number, message in enumerate(said)]
    # Older exports do not say which message another answers; then each answers the one before.
    before = [None, *keys][: len(keys)]
    parents = {
        key: line(message.get("parent_message_uuid")) if "parent_message_uuid" in message else previous
        for key, message, previous in zip(keys, said, before, strict=True)
    }
    by_key = dict(zip(keys, said, strict=True))
    current = line(found.get("current_leaf_message_uuid"))
    if current not in by_key:
        current = keys[-1] if keys else None
    family = [identity, *(f"{identity}/{key}" for key in forks(parents))]
    other: str | None = None
    for number, branch in enumerate(branches(parents, current)):
        messages = [_message(by_key[key], missed) for key in branch]
        other = other if number else another_branch(title, messages)
        yield ImportedChat(
            id=f"{identity}/{branch[0]}" if number else identity,
            messages=[message for message in messages if message.text.strip()],
            title=other if number else title,
            model=model,
            started=started,
            family=family,
        )


def _design(found: Mapping[str, Any], identity: str, missed: Counter[str]) -> ImportedChat:
    """Return a chat about a design, titled by its project if it has no title."""
    messages = []
    for message in mappings(found.get("messages")):
        content = mapping(message.get("content"))
        blocks = mappings(content.get("contentBlocks"))
        missed.update(kind for part in blocks if (kind := line(part.get("type"))) and kind not in CONTENT)
        spoken = (clean(part.get("text")) for part in blocks if part.get("type") == "text")
        text = "\n".join(filter(None, spoken)) or clean(content.get("content"))
        for attached in mappings(content.get("attachments")):
            text += f"\n\n[{line(attached.get('name')) or 'attachment'}]\n{clean(attached.get('content'))}"
        at = moment(message.get("created_at") or content.get("timestamp"))
        if text.strip():
            messages.append(ImportedMessage(text.strip("\n"), message.get("role") == "user", at=at))
    title = line(found.get("title"), 1_000) or line(mapping(found.get("project")).get("name"), 1_000)
    return ImportedChat(id=identity, messages=messages, title=title, started=moment(found.get("created_at")))


def _document(part: Mapping[str, Any]) -> str:
    """Return the title and the text of a document that a part of a message writes; empty if it is something else."""
    title, text = DOCUMENTS.get(line(part.get("name")) or "", ("", ""))
    written = mapping(part.get("input"))
    content = clean(written.get(text)) if part.get("type") == "tool_use" else ""
    return f"\n\n[{line(written.get(title)) or 'document'}]\n{content}" if content.strip() else ""


def _message(message: Mapping[str, Any], missed: Counter[str]) -> ImportedMessage:
    content = mappings(message.get("content"))
    documents = list(map(_document, content))
    missed.update(
        kind
        for part, document in zip(content, documents, strict=True)
        if (kind := line(part.get("type"))) and kind not in CONTENT and not document
    )
    parts = [part for part in content if part.get("type") in SPOKEN]
    text = "\n".join(clean(part.get("text")) for part in parts) or clean(message.get("text"))
    text += "".join(documents)
    for attached in mappings(message.get("attachments")):
        text += f"\n\n[{line(attached.get('file_name')) or 'attachment'}]\n{clean(attached.get('extracted_content'))}"
    for file in mappings(message.get("files_v2") or message.get("files")):
        text += f"\n\n[{line(file.get('file_name')) or 'file'}]"
    return ImportedMessage(
        text=text.strip("\n"), by_user=message.get("sender") == "human", at=moment(message.get("created_at"))
    )
