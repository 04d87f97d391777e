"""One call of a hook: the context that it adds to a session, and the messages that it stores.

A hook starts a process for every prompt and every answer, so this module imports no more than the work needs; a test
lists what it must not load.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, BinaryIO

import recollect
from recollect.cli.hook_events import EVENTS
from recollect.cli.invocation import Invocation
from recollect.cli.output import complain, json_text, line
from recollect.cli.transcripts import locked_transcript
from recollect.conversation import Conversation
from recollect.environment import folder_of
from recollect.errors import Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.context import DECISIONS, EARLIER, LESSONS, NOTES
from recollect.model.history import Event, EventType, Status
from recollect.transcripts import LinePosition, Message, messages_from

__all__ = ["HookCall", "handle"]

RELEVANT = (DECISIONS, LESSONS, NOTES, EARLIER)
TYPES = {"user": EventType.USER, "assistant": EventType.MODEL}
CURSOR = "cursor_version"
"""Field that only the hooks of Cursor have."""
NEWEST = 2**62
"""A sequence number greater than any."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook: the memory and the agent, the event, the JSON of the host, and the project folder."""

    call: Invocation
    event: str
    given: Mapping[str, Any]
    folder: str
    profile: str = "default"

    @property
    def location(self) -> str:
        """The location of the home; a relative one is in the project, also if the session runs in a subfolder."""
        home = self.call.home
        return str(Path(self.folder) / Path(home).expanduser()) if home.strip() and "://" not in home else home

    def handle(self, opened: Callable[[], AbstractContextManager[Home]]) -> tuple[str, str]:
        """Handle the hook; return what belongs on stdout and on stderr."""
        call = replace(self.call, folder=Path(self.folder))
        with opened() as home:
            text, said = _answer(home.agent(call.agent, call.workspace), self)
        return json_text(self._output(text)) if text else "", f"recollect: {line(said)}\n" if said else ""

    def _output(self, text: str) -> dict[str, Any]:
        """Return a context as the host reads it; the output of Cursor names no event."""
        if CURSOR in self.given:
            return {**({"continue": True} if self.event == "user-prompt" else {}), "additional_context": text}
        return {"hookSpecificOutput": {"hookEventName": EVENTS[self.event], "additionalContext": text}}


def handle(event: str, call: Invocation, folder: str = "", profile: str = "default") -> None:
    """Handle a hook whose JSON is read from stdin. It never fails its host: errors go to stderr."""
    try:
        if event not in EVENTS:
            raise Invalid(f"unknown hook {event!r}; choose one of {', '.join(EVENTS)}")
        given = _given()
        asked = HookCall(call, event, given, folder or folder_of(given), profile)
        out, err = asked.handle(lambda: recollect.open(asked.location, settings=call.settings))
    except Exception as error:  # the session must go on
        complain(f"hook {event} failed: {error}")
        return
    for stream, text in ((sys.stdout, out), (sys.stderr, err)):
        stream.flush()
        stream.buffer.write(text.encode())


def _given() -> Mapping[str, Any]:
    raw = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    given = json.loads(raw) if raw.strip() else {}
    if not isinstance(given, dict):
        raise Invalid("the input of a hook must be a JSON object")
    return given


def _answer(mem: Memory, hook: HookCall) -> tuple[str, str]:
    """Return the context for the host, and a remark about what failed."""
    event, given = hook.event, hook.given
    session = given.get("conversation_id" if CURSOR in given else "session_id")
    if event in ("stop", "pre-compact", "session-end"):
        if isinstance(session, str) and session:
            _keep(mem, given, session, end=event == "session-end")
        return "", ""
    here = None
    if isinstance(session, str) and session:
        model = given.get("model")
        here = mem.conversations.start(chat_id=session, model_id=model if isinstance(model, str) else None, resume=True)
        _store_transcript(mem, here, given, session)
    if event == "user-prompt":
        return _bearing(mem, str(given.get("prompt") or ""), here), ""
    found = mem.context("", profile=hook.profile, conversation=here.id if here else None)
    named = f"This session is the conversation {here.ref_code} of the memory `recollect`." if here else ""
    return "\n\n".join(part for part in (found.text.strip(), named) if part), "; ".join(found.failed)


def _keep(mem: Memory, given: Mapping[str, Any], session: str, *, end: bool) -> None:
    """Append the new messages of the transcript, and end the conversation if the session ends."""
    known = mem.conversations.list(chat_id=session)
    here = next((mem.conversations.get(info.id) for info in known if info.status is Status.ACTIVE), None)
    if here is None:
        with locked_transcript(given.get("transcript_path")) as file:
            if file is None or not _new(mem, file, session):
                return  # already ended
        here = mem.conversations.start(chat_id=session, resume=True)
    _store_transcript(mem, here, given, session)
    if not end:
        return
    if next(here.events(), None) is None:
        here.archive()  # without a message there is nothing to hand over
    else:
        here.end()


def _bearing(mem: Memory, prompt: str, here: Conversation | None) -> str:
    """Return standing rules and what is relevant to a prompt, fenced as in a context."""
    if not prompt.strip():
        return ""
    found = mem.context(prompt, profile="prompt", conversation=here.id if here else None)
    relevant = RELEVANT if found.answered else (NOTES,)  # the notes have the standing rules
    items = [line for section in found.sections if section.name in relevant for line in section.lines()]
    return "\n".join(["Remembered, and perhaps of use here:", *items]) if items else ""


def _store_transcript(mem: Memory, here: Conversation, given: Mapping[str, Any], session: str) -> None:
    """Append the messages of the transcript that the conversations of this session do not have."""
    with locked_transcript(given.get("transcript_path")) as file:
        new = [] if file is None else _new(mem, file, session)
        if new:
            here.append(
                Event(type=TYPES[message.role], content=message.content, payload=message.position.payload)
                for message in new
            )


def _new(mem: Memory, file: BinaryIO, session: str) -> Sequence[Message]:
    """Return the messages of a transcript that are not stored yet."""
    talks = [mem.conversations.get(info.id) for info in mem.conversations.list(True, chat_id=session)]
    erased = 0
    for event in chain.from_iterable(talk.events(before=NEWEST) for talk in talks):
        position = LinePosition.of(event.payload)
        if position is not None and position.is_in(file):
            return [*messages_from(file, position.end)][erased:]
        if position is not None:  # the file was replaced or cut
            break
        erased += event.erased_at is not None and event.type in TYPES.values()
    events = chain.from_iterable(talk.events() for talk in reversed(talks))
    return _unknown([event for event in events if event.type in TYPES.values()], [*messages_from(file)])


def _unknown(known: Sequence[Event], messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages after those that begin or end the journal. A message that was erased is not stored again."""

    def same(event: Event, message: Message) -> bool:
        return event.erased_at is not None or event.content == message.content

    shared = sum(1 for _ in takewhile(lambda pair: same(*pair), zip(known, messages, strict=False)))
    if shared:
        return messages[shared:]
    ends = (n for n in range(min(len(known), len(messages)), 0, -1) if same(known[-1], messages[n - 1]))
    for count in ends:
        if all(map(same, known[-count:], messages)):
            return messages[count:]
    return messages
