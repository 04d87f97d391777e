"""Conversations and scratchpads on a server: the library's methods, called over HTTP."""

import builtins
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from recollect import Conversations
from recollect.client.calls import PAGE, RemoteObject, count, in_path, pages, route, without_defaults
from recollect.client.transport import HttpTransport
from recollect.client.values import from_json, to_json
from recollect.clock import Moment
from recollect.conversation import Conversation
from recollect.errors import Invalid, NotFound
from recollect.model.history import (
    ConversationHandle,
    ConversationInfo,
    Event,
    EventType,
    Lane,
    Recovery,
    Status,
    reference,
)
from recollect.model.report import Receipt

__all__ = ["RemoteConversation", "RemoteConversations", "RemoteScratchpad"]

LONGEST = 2**63 - 1


class RemoteScratchpad(RemoteObject, MutableMapping[str, Any]):
    """`Scratchpad` on a server: a mapping of JSON values."""

    def __getitem__(self, key: str) -> Any:
        try:
            return self._ask("GET", self._of(key))["value"]
        except NotFound:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Any) -> None:
        self._ask("PUT", self._of(key), body={"value": value})

    def __delitem__(self, key: str) -> None:
        try:
            self._ask("DELETE", self._of(key))
        except NotFound:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def clear(self) -> None:
        """Remove every value."""
        self._ask("DELETE", self._of())

    def _all(self) -> dict[str, Any]:
        return dict(self._ask("GET", self._of()))

    def _of(self, key: str | None = None) -> str:
        base = f"/v1/conversations/{self._path['ref']}/scratchpad"
        return base if key is None else f"{base}/{in_path(key)}"


class RemoteConversation(RemoteObject):
    """`Conversation` on a server."""

    def __init__(self, link: HttpTransport, where: Mapping[str, str], info: ConversationInfo) -> None:
        super().__init__(link, where, ref=info.ref_code)
        self.id, self.ref_code = info.id, info.ref_code

    def __repr__(self) -> str:
        return f"RemoteConversation({self.ref_code!r}, agent={self._where['agent']!r})"

    @property
    def info(self) -> ConversationInfo:
        """The conversation's current metadata, fetched from the server."""
        found: ConversationInfo = from_json(ConversationInfo, self._ask("GET", f"/v1/conversations/{self.ref_code}"))
        return found

    @property
    def status(self) -> Status:
        """The current status, fetched from the server."""
        return self.info.status

    @property
    def saved(self) -> Recovery | None:
        """The last saved checkpoint; None if there is none, or it is no longer kept."""
        found: Recovery | None = from_json(
            Recovery | None, self._ask("GET", f"/v1/conversations/{self.ref_code}/checkpoint")
        )
        return found

    @property
    def scratchpad(self) -> RemoteScratchpad:
        """The conversation's temporary values."""
        return RemoteScratchpad(self._link, self._where, ref=self.ref_code)

    def append(self, event: Event | Iterable[Event]) -> Event | list[Event]:
        """Append an event, or several atomically. They are durable on the server when this returns."""
        single = isinstance(event, Event)
        several = [event] if isinstance(event, Event) else [*event]
        made = self._append([_new(one) for one in several])
        return made[0] if single else made

    def user(
        self,
        text: str,
        *,
        speaker: str | None = None,
        at: Moment | None = None,
        lane: Lane | str = Lane.EDGE,
        internal: bool = False,
    ) -> Event:
        """Append a user message."""
        return self._one(EventType.USER, text, lane, at, speaker=speaker, internal=internal)

    def assistant(
        self,
        text: str,
        *,
        tool_calls: Iterable[Mapping[str, Any]] = (),
        speaker: str | None = None,
        at: Moment | None = None,
        lane: Lane | str = Lane.EDGE,
        internal: bool = False,
    ) -> Event:
        """Append a model response with its tool calls."""
        calls = [dict(call) for call in tool_calls]
        return self._one(EventType.MODEL, text, lane, at, tool_calls=calls, speaker=speaker, internal=internal)

    def tool(self, text: str, tool_call_id: str, *, at: Moment | None = None, lane: Lane | str = Lane.EDGE) -> Event:
        """Append a tool result."""
        return self._one(EventType.TOOL, text, lane, at, tool_call_id=tool_call_id)

    def instruct(self, text: str, *, lane: Lane | str = Lane.EDGE) -> Event:
        """Append a system instruction."""
        return self._one(EventType.INSTRUCTION, text, lane, None)

    def job(self, text: str) -> Event:
        """Append the start of a job in the lane `core`."""
        return self._one(EventType.JOB, text, Lane.CORE, None)

    extend = route(Conversation.extend, "POST", "/v1/conversations/{ref}/events")

    def events(
        self, after: Event | int | None = None, *, before: Event | int | None = None, limit: int = LONGEST
    ) -> Iterator[Event]:
        """Yield the events in order; with `after` those following an event; with `before` those before it, reversed."""
        if after is not None and before is not None:
            raise Invalid("pass `after` or `before`, not both")
        way, first = ("after", after or 0) if before is None else ("before", before)
        place, left = getattr(first, "seq", first), count(limit)
        while left > 0:
            query = {way: place, "limit": min(PAGE, left)}
            found = self._ask("GET", f"/v1/conversations/{self.ref_code}/events", query=query)
            yield from from_json(list[Event], found["items"])
            left -= len(found["items"])
            if found["next"] is None:
                return
            place = found["items"][-1]["seq"]

    event = route(Conversation.event, "GET", "/v1/conversations/{ref}/events/{reference}")

    def erase(self, event: Event | int | str, *, dry_run: bool = False) -> Receipt:
        """Erase an event, given itself or by its number, its hash or a unique prefix of it; return a receipt."""
        if isinstance(event, int):
            found = next(self.events(max(event, 1) - 1, limit=1), None)
            if found is None or found.seq != event:
                raise NotFound(f"no event of this conversation has the number {event}")
            event = found
        if isinstance(event, Event) and event.conversation_id != self.id:
            raise NotFound(f"event {event.seq} belongs to another conversation; erase it there")
        reference = event.hash if isinstance(event, Event) else event
        path = f"/v1/conversations/{self.ref_code}/events/{in_path(reference)}"
        answer = self._ask("DELETE", path, query={"dry_run": dry_run}, slow=True)
        receipt: Receipt = from_json(Receipt, answer)
        return receipt

    find = route(Conversation.find, "POST", "/v1/conversations/{ref}/find")
    window = route(Conversation.window, "GET", "/v1/conversations/{ref}/window")
    messages = route(Conversation.messages, "POST", "/v1/conversations/{ref}/messages")
    replay = route(Conversation.replay, "GET", "/v1/conversations/{ref}/replay")
    summary = route(Conversation.summary, "GET", "/v1/conversations/{ref}/summary")
    apply_delta = route(Conversation.apply_delta, "POST", "/v1/conversations/{ref}/summary/delta")
    compact = route(Conversation.compact, "POST", "/v1/conversations/{ref}/compact", slow=True)
    checkpoint = route(Conversation.checkpoint, "POST", "/v1/conversations/{ref}/checkpoint")
    idle = route(Conversation.idle, "POST", "/v1/conversations/{ref}/idle")
    archive = route(Conversation.archive, "POST", "/v1/conversations/{ref}/archive")
    end = route(Conversation.end, "POST", "/v1/conversations/{ref}/end", slow=True)

    def _one(self, kind: EventType, text: str, lane: Lane | str, at: Moment | None, **fields: Any) -> Event:
        event = {"type": kind, "content": text, "lane": lane, "created_at": at, **fields}
        return self._append([{name: value for name, value in event.items() if value not in (None, [])}])[0]

    def _append(self, new: list[dict[str, Any]]) -> list[Event]:
        if not new:
            return []
        made = self._ask("POST", f"/v1/conversations/{self.ref_code}/events", body=to_json(new))
        return builtins.list(from_json(list[Event], made))


class RemoteConversations(RemoteObject):
    """`Conversations` on a server."""

    search = route(Conversations.search, "POST", "/v1/conversations/search")
    end_stale = route(Conversations.end_stale, "POST", "/v1/conversations/end-stale")
    list = pages(Conversations.list, "/v1/conversations", before="cursor")
    journal = pages(Conversations.journal, "/v1/events", "after")
    detail = route(Conversations.detail, "GET", "/v1/conversations/{id_or_ref}/detail")

    def start(
        self,
        channel: str | None = None,
        chat_id: str | None = None,
        model_id: str | None = None,
        participants: Iterable[str] = (),
        resume: bool = False,
    ) -> RemoteConversation:
        """Start a conversation; with `resume`, return the active one of that chat id if there is one."""
        if isinstance(participants, str):
            raise Invalid(f"participants must be a list of agents; write [{participants!r}]")
        given = {
            "channel": channel,
            "chat_id": chat_id,
            "model_id": model_id,
            "participants": [*participants],
            "resume": resume,
        }
        info = self._ask("POST", "/v1/conversations", body=given)
        return RemoteConversation(self._link, self._where, from_json(ConversationInfo, info))

    def get(self, id_or_ref: ConversationHandle | str) -> RemoteConversation:
        """Return the conversation with this id or ref code; raise NotFound if this agent has none."""
        info = self._ask("GET", f"/v1/conversations/{in_path(reference(id_or_ref))}")
        return RemoteConversation(self._link, self._where, from_json(ConversationInfo, info))

    def erase(self, id_or_ref: ConversationHandle | str, *, dry_run: bool = False) -> Receipt:
        """Erase all events of a conversation and everything that was made from them; return a receipt."""
        path, query = f"/v1/conversations/{in_path(reference(id_or_ref))}", {"erase": "true", "dry_run": dry_run}
        receipt: Receipt = from_json(Receipt, self._ask("DELETE", path, query=query, slow=True))
        return receipt

    def last_event(self) -> int:
        """Return the sequence number of the last event in the journal; 0 if it is empty."""
        return int(self._ask("GET", "/v1/events/last")["seq"])

    def scratchpad(self, id_or_ref: ConversationHandle | str, owner: str | None = None) -> RemoteScratchpad:
        """Return the scratchpad of an own conversation, or of one whose `owner` named this agent as a participant."""
        where = self._where if owner is None else {**self._where, "owner": owner}
        found = RemoteScratchpad(self._link, where, ref=in_path(reference(id_or_ref)))
        len(found)  # raises NotFound now instead of on first use
        return found


def _new(event: object) -> dict[str, Any]:
    """Convert an event to its request form, without the fields that the server assigns."""
    if not isinstance(event, Event):
        raise Invalid(f"append takes events, not {type(event).__name__}; write Event(type=…, content=…)")
    body = without_defaults(event, Event)
    return {
        name: value
        for name, value in body.items()
        if name not in ("seq", "id", "conversation_id", "hash", "previous") and value not in (None, [], {})
    }
