"""Reader for transcripts of Claude Code and Codex: one session per file, in JSON Lines.

A transcript that is imported already is read from where the last import stopped. What the user and the model wrote is
read; the calls of tools, their results, the model's thinking and the work of subagents are counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.transcripts import ASIDE, TEXT, LinePosition, message_of, records_from
from recollect.transfer.archive import opened
from recollect.transfer.importers.reading import line, mapping, mappings, moment
from recollect.transfer.importers.values import ImportedChat, ImportedItem, ImportedMessage, LeftOut, Read, Remark

__all__ = ["is_claude_code", "is_codex", "read"]

ROLLOUT = ("session_meta", "response_item", "event_msg", "turn_context")
"""Types of the lines of Codex."""
TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Lines of Claude Code with a title, and where it is; the first kind that a file has counts."""
UNSAID = (
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "web_search_call",
    "reasoning",
)
"""Items of Codex that are counted."""
SESSION_ID = 8
"""How many lines are searched for the id of a session."""


def is_codex(row: Mapping[str, Any]) -> bool:
    """True if a line is one of Codex; older versions begin with the id and the instructions of the session."""
    return (row.get("type") in ROLLOUT and "payload" in row) or {"id", "timestamp", "instructions"} <= row.keys()


def is_claude_code(row: Mapping[str, Any]) -> bool:
    """True if a line is one of Claude Code."""
    kind = row.get("type")
    return kind in ("file-history-snapshot", "queue-operation") or (
        isinstance(kind, str) and (isinstance(row.get("sessionId"), str) or (kind == "summary" and "leafUuid" in row))
    )


def read(path: Path, done: Read, *, stored: Callable[[str], LinePosition | None]) -> Iterator[ImportedItem]:
    """Yield the session of a file, or the part of it that follows the line that `stored` returns for its id."""
    missed: Counter[str] = Counter()
    titles: dict[str, str] = {}
    messages: list[ImportedMessage] = []
    model, damaged = None, 0
    with opened(path) as file:
        identity = _identity(path, (record for record, _ in records_from(file)))
        after = stored(identity)
        if after is not None and not after.is_in(file):
            after = None
        for record, position in records_from(file, after.end if after else 0):
            if record is None:
                damaged += 1
                continue
            said = message_of(record)
            if said is not None:
                at = moment(record.get("timestamp"))
                messages.append(ImportedMessage(said[1], said[0] == "user", at=at, position=position))
            titles.update(_title(record))
            model = _model(record) or model
            missed.update(_unsaid(record))
            done(position.end)
    title = next((titles[kind] for kind, _ in TITLES if kind in titles), None)
    yield ImportedChat(id=identity, messages=messages, title=title, model=model, after=after)
    yield LeftOut(missed)
    if damaged:
        what = "1 line is" if damaged == 1 else f"{damaged} lines are"
        yield Remark(f"{path}: {what} not JSON, and left out")


def _identity(path: Path, records: Iterator[Mapping[str, Any] | None]) -> str:
    """Return the id of the session: that of the file's first lines, else the name of the file."""
    for _, record in zip(range(SESSION_ID), records, strict=False):
        found = mapping(record)
        if found.get("type") == "session_meta":
            found = mapping(found.get("payload"))
        elif not is_codex(found):
            found = {"id": found.get("sessionId")}
        if (identity := line(found.get("id"))) is not None:
            return identity
    return line(path.stem) or "transcript"


def _title(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, key in TITLES:
        if record.get("type") == kind and (title := line(record.get(key), 1_000)):
            yield kind, title


def _model(record: Mapping[str, Any]) -> str | None:
    about = record.get("payload") if record.get("type") == "turn_context" else record.get("message")
    return line(mapping(about).get("model"))


def _unsaid(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types of what a line holds beside text."""
    if record.get("isSidechain") and record.get("type") in ("user", "assistant"):
        yield "sidechain"
    elif not any(record.get(mark) for mark in ASIDE):
        for part in mappings(mapping(record.get("message")).get("content")):
            if (kind := line(part.get("type"))) is not None and kind not in TEXT:
                yield kind
        item = record if record.get("type") in UNSAID else mapping(record.get("payload"))
        if (kind := line(item.get("type"))) in UNSAID:
            yield str(kind)
