"""Reader for a `.memory` folder: a flat file or a folder of category files per agent, `_project.md`, and saved
conversations.

A flat file is split at its `## ` headings, which determine the categories, and is renamed to `.md.bak` afterwards. It
is skipped if that backup exists or its agent has a folder. Symbolic links in the folder are not followed. The agents
wrote these notes themselves; the project description is the user's.
"""

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from recollect.engine.access_policy import SHARED
from recollect.errors import Invalid
from recollect.model.entry import Category, Origin
from recollect.model.fields import CONTENT_BYTES
from recollect.names import segment
from recollect.transfer.archive import file_errors
from recollect.transfer.importers.markdown_texts import other_files
from recollect.transfer.importers.reading import clean, line, listed, moment
from recollect.transfer.importers.values import (
    ImportedChat,
    ImportedItem,
    ImportedMessage,
    ImportedNote,
    Read,
    Remark,
    Retire,
    Skipped,
)
from recollect.vault.files import FILE_BYTES, LeftAlone, read_bytes

__all__ = ["category_of", "chat", "entries", "read", "read_conversation", "sections"]

SOURCE = "memory-folder"
CONVERSATIONS = "conversations"
PROJECT = "_project.md"
_HEADINGS = {
    Category.DECISIONS: ("decisoes", "decisoes tecnicas", "decisions"),
    Category.LESSONS: ("aprendizados", "notas de sessao", "lessons", "findings", "notes"),
    Category.TASKS: ("tarefas", "tasks"),
    Category.PROJECTS: ("contexto", "contexto de projeto", "context", "projects"),
    Category.HANDOFFS: ("handoffs",),
}
_SECTIONS = {heading: category for category, headings in _HEADINGS.items() for heading in headings}
TITLE = 200
"""How many characters of a heading are used to find its category."""
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^<!-- id:(\d{1,19}) -->[ \t]*\r?\n## ([^\r\n]*)\r?\n", re.MULTILINE)
_TAG = re.compile(r"#(\w+)")
_TITLE = re.compile(r"\A\s*# [^\n]*\n?")


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield everything in the folder, or in one flat file."""
    if path.is_file():
        yield from _flat(path.resolve())
        return
    for file in sorted(path.glob("*.md")):
        if not file.name.startswith(("_", ".")):
            yield from _flat(file)
    for folder in sorted(one for one in path.iterdir() if one.is_dir() and not one.is_symlink()):
        if folder.name != CONVERSATIONS and not folder.name.startswith("."):
            yield from _agent(path, folder.name)
    content = _text(path, PROJECT)
    if isinstance(content, Remark):
        yield content
    elif content.strip():
        yield ImportedNote(content=content, source=SOURCE, name=PROJECT, agent=SHARED, origin=Origin.USER)
    for file in sorted((path / CONVERSATIONS).glob("*.json")):
        yield from _conversation(path, f"{CONVERSATIONS}/{file.name}")
    yield from other_files(path, ".md", ".json")


def read_conversation(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield one saved conversation, or a remark if the file is damaged."""
    whole = path.resolve()
    yield from _conversation(whole.parent, whole.name)


def _conversation(root: Path, name: str) -> Iterator[ImportedItem]:
    file = Path(name)
    try:
        with file_errors(root / name):
            found = json.loads((read_bytes(root, name) or b"").decode("utf-8-sig"))
    except LeftAlone as problem:
        yield Remark(f"{file.name} was left out: {problem}")
        return
    except (ValueError, RecursionError):
        yield Remark(f"{file.name} is not JSON, and was skipped")
        return
    made = chat(found, file.stem)
    yield Remark(f"{file.name} is not a conversation, and was skipped") if made is None else made


def chat(found: object, stem: str) -> ImportedChat | None:
    """Parse a conversation of the form {agentId, savedAt, messages: [{role, text}]}; None if it is none."""
    if not isinstance(found, Mapping) or not isinstance(found.get("messages"), list):
        return None
    agent = line(found.get("agentId")) or stem
    saved = moment(found.get("savedAt"))
    said = [
        ImportedMessage(
            text=clean(one.get("text") or one.get("content")),
            by_user=one.get("role") == "user",
            by_tool=one.get("role") == "tool",
            at=moment(one.get("timestamp")) or saved,
            internal=bool(one.get("internal")),
        )
        for one in found["messages"]
        if isinstance(one, Mapping)
    ]
    return ImportedChat(
        id=line(found.get("chatId")) or f"{agent}.json",
        messages=[message for message in said if message.text.strip()],
        model=line(found.get("modelId")),
        started=saved,
        agent=agent,
        digest=True,
    )


def _flat(file: Path) -> Iterator[ImportedItem]:
    backup = file.with_name(file.name + ".bak")
    if backup.exists() or file.with_suffix("").is_dir():
        yield Skipped(file.name, f"{backup.name} is there" if backup.exists() else "its agent has a folder already")
        return
    content, agent = _text(file.parent, file.name), _agent_name(file.stem)
    if isinstance(content, Remark) or isinstance(agent, Remark):
        yield content if isinstance(content, Remark) else agent  # type: ignore[misc]
        return
    at = round(file.lstat().st_mtime * 1000)
    for title, body in sections(content):
        known, category = category_of(title)
        text = body if known or not title else f"{title}\n\n{body}"
        tags = list(dict.fromkeys(_TAG.findall(body)))[:64]
        yield ImportedNote(
            content=text,
            source=SOURCE,
            category=category,
            tags=tags,
            context=title or None,
            at=at,
            agent=agent,
            origin=Origin.AGENT,
        )
    yield Retire(file, backup)


def sections(content: str) -> list[tuple[str, str]]:
    """Split a flat file into (title, text); text before the first heading has an empty title."""
    parts = _HEADING.split(content)
    parts[0] = _TITLE.sub("", parts[0])
    found = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return [(title.strip().rstrip(" \t#"), body.strip()) for title, body in found if body.strip()]


def category_of(title: str) -> tuple[bool, Category]:
    """Return whether a heading in English or Portuguese names a category, and which; lessons by default."""
    plain = unicodedata.normalize("NFKD", title[:TITLE].casefold())
    words = " ".join(re.findall(r"[a-z]+", "".join(mark for mark in plain if not unicodedata.combining(mark))))
    if words in _SECTIONS:
        return True, _SECTIONS[words]
    within = [key for key in _SECTIONS if re.search(rf"\b{key.removesuffix('s')}", words)]
    close = max(within, key=len, default=None) or next(iter(get_close_matches(words, _SECTIONS, 1, 0.8)), None)
    return False, _SECTIONS[close] if close else Category.LESSONS


def _agent(root: Path, folder: str) -> Iterator[ImportedItem]:
    agent = _agent_name(folder)
    known = {f"{category}.md" for category in Category}
    if other := sorted(file.name for file in (root / folder).glob("*.md") if file.name not in known):
        yield Remark(f"files of {folder} that belong to no category were left out: {listed(other)}")
    for category in Category:
        name = f"{folder}/{category}.md"
        if not os.path.lexists(root / name):
            continue
        content = _text(root, name, FILE_BYTES)
        if isinstance(content, Remark) or isinstance(agent, Remark):
            yield content if isinstance(content, Remark) else agent  # type: ignore[misc]
            continue
        for at, tags, text in entries(content):
            yield ImportedNote(
                content=text, source=SOURCE, category=category, tags=tags, at=at, agent=agent, origin=Origin.AGENT
            )


def entries(content: str) -> list[tuple[int | None, list[str], str]]:
    """Parse a category file into (time, tags, text), oldest first; text before the first entry has no time."""
    found = list(_ENTRY.finditer(content))
    first = _TITLE.sub("", content[: found[0].start()] if found else content)
    first = _without_rule(first)
    made: list[tuple[int | None, list[str], str]] = []
    for place, entry in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(content)
        text = _without_rule(content[entry.end() : end])
        date, _, tagged = entry[2].partition("·")
        tags = [tag for word in tagged.split() if (tag := word.strip("#"))]
        if text.strip():
            # The id is usually the creation time in milliseconds; handwritten ones may be any number.
            at = int(entry[1]) if 10**12 <= int(entry[1]) < 10**13 else moment(date.rstrip())
            made.append((at, list(dict.fromkeys(tags))[:64], text))
    return ([(None, [], first)] if first.strip() else []) + made[::-1]


def _without_rule(text: str) -> str:
    """Remove a trailing `---` line and surrounding empty lines."""
    text = text.strip("\r\n")
    before, _, last = text.rpartition("\n")
    return before.strip("\r\n") if last.rstrip(" \t") == "---" else text


def _text(root: Path, name: str, longest: int = CONTENT_BYTES) -> str | Remark:
    """Read a file as text, empty if it is missing; a Remark if it is unsafe to read or too long."""
    with file_errors(root / name):
        try:
            return clean((read_bytes(root, name, longest) or b"").decode("utf-8-sig", "replace"))
        except LeftAlone as problem:
            return Remark(f"{Path(name).name} was left out: {problem}")


def _agent_name(stem: str) -> str | Remark:
    try:
        return segment(stem, "an agent")
    except Invalid as error:
        return Remark(f"{stem[:80]!r} was left out: {error}")
