"""Homes, memories and conversations on a server: the library's methods, called over HTTP.

Most methods take signature and types from the library's method and are declared with their route. Methods that do not
map to a single route are written out.
"""

import builtins
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import MISSING, fields
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, get_args, get_type_hints
from urllib.parse import quote

from recollect import Channels, Conversations, Jobs, Reminders, Review
from recollect.client.transport import HttpTransport, encoded
from recollect.client.values import from_json, to_json
from recollect.clock import Moment, milliseconds
from recollect.conversation import Conversation
from recollect.errors import Conflict, Invalid, NotFound
from recollect.memory import Memory
from recollect.model.entry import Entry
from recollect.model.history import (
    Channel,
    ConversationHandle,
    ConversationInfo,
    Event,
    EventType,
    Lane,
    Recovery,
    Status,
    reference,
)
from recollect.model.listing import Cursor, Sort
from recollect.model.operation import WRITABLE, Add, Operation, Write
from recollect.model.reminder import Reminder
from recollect.model.report import Receipt, Report
from recollect.model.stats import AgentCounts

__all__ = [
    "RemoteChannels",
    "RemoteConversation",
    "RemoteConversations",
    "RemoteHome",
    "RemoteJobs",
    "RemoteMemory",
    "RemoteReminders",
    "RemoteReview",
    "RemoteScratchpad",
    "connect",
]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
PAGE = 500
BATCH, BATCH_BYTES, BATCH_VALUES = 10_000, 30_000_000, 45_000
"""Limits of a batch request: entries, bytes and JSON values."""
LONGEST = 2**63 - 1
_PLACE = re.compile(r"\{(\w+)\}")


class _Remote:
    """Base of remote objects: the connection, the query parameters that select a memory, and path parameters."""

    def __init__(self, link: HttpTransport, where: Mapping[str, str], **path: str) -> None:
        self._link, self._where, self._path = link, where, path

    def _ask(self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, **more: Any) -> Any:
        return self._link.ask(verb, path, query={**self._where, **(query or {})}, **more)

    def _listed(self, path: str, query: Mapping[str, Any], limit: int, cursor: str = "cursor") -> list[Any]:
        """Fetch up to `limit` items of a list, page by page."""
        found: list[Any] = []
        wanted = dict(query)
        while len(found) < _count(limit):
            answer = self._ask("GET", path, query={**wanted, "limit": min(PAGE, limit - len(found))})
            found += answer["items"]
            if answer["next"] is None:
                break
            wanted[cursor] = answer["next"]
        return found


def _route(
    method: Callable[Concatenate[S, P], R], verb: str, path: str, *, slow: bool = False, **names: str
) -> Callable[Concatenate[Any, P], R]:
    """Return a method with the signature of `method` that calls a route.

    Parameters named in the path go there; the rest go into the body, or into the query for GET and DELETE; `if_version`
    becomes the If-Match header. `names` maps parameters to other names on the wire. `slow` allows a longer timeout.
    """
    signature = inspect.signature(method)
    in_path = _PLACE.findall(path)

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = _given(signature.bind(self, *args, **kwargs))
        headers = _match(given.pop("if_version", None))
        values = {**self._path, **given}
        target = path
        for name in in_path:
            target = target.replace(f"{{{name}}}", _in_path(values[name]))
        rest = {names.get(name, name): value for name, value in given.items() if name not in in_path}
        carried = {"query": rest} if verb in ("GET", "DELETE") else {"body": rest}
        answer = self._ask(verb, target, headers=headers, slow=slow, **carried)
        if isinstance(answer, dict) and answer.keys() == {"items", "next"}:
            answer = answer["items"]
        result: R = from_json(_returned(method), answer)
        return result

    return call


def _pages(
    method: Callable[Concatenate[S, P], R], path: str, cursor: str = "cursor", **names: str
) -> Callable[Concatenate[Any, P], R]:
    """Like `_route`, for a paginated list; `cursor` is the query parameter that takes the cursor of the next page."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = _given(signature.bind(self, *args, **kwargs))
        limit = given.pop("limit", signature.parameters["limit"].default)
        query = {names.get(name, name): value for name, value in given.items()}
        result: R = from_json(_returned(method), self._listed(path, query, limit, cursor))
        return result

    return call


def _given(bound: inspect.BoundArguments) -> dict[str, Any]:
    given = {}
    for name, value in bound.arguments.items():
        if name != "self":
            taken = get_args(bound.signature.parameters[name].annotation)
            known = reference(value) if ConversationHandle in taken else getattr(value, "cursor", value)
            given[name] = to_json(known)
    return given


def _returned(method: Callable[..., Any]) -> Any:
    return get_type_hints(method).get("return", Any)


class RemoteChannels(_Remote):
    """`Channels` on a server."""

    create = _route(Channels.create, "POST", "/v1/channels")
    list = _route(Channels.list, "GET", "/v1/channels")

    @property
    def default(self) -> Channel:
        """The channel of conversations that were started without one."""
        return next(channel for channel in self.list() if channel.is_default)


class RemoteReview(_Remote):
    """`Review` on a server."""

    list = _pages(Review.list, "/v1/review", after="cursor")
    resolve = _route(Review.resolve, "POST", "/v1/review/{pair}")
    reopen = _route(Review.reopen, "POST", "/v1/review/{pair}/reopen")


class RemoteReminders(_Remote):
    """`Reminders` on a server."""

    add = _route(Reminders.add, "POST", "/v1/reminders")
    due = _route(Reminders.due, "GET", "/v1/reminders/due")
    claim = _route(Reminders.claim, "POST", "/v1/reminders/claim")
    list = _pages(Reminders.list, "/v1/reminders", after="cursor")

    def deliver(self, reminder: Reminder | str) -> bool:
        """Mark a reminder as delivered. False if it already is, does not exist, or is claimed by another caller."""
        return self._done("POST", reminder, "/deliver")

    def release(self, reminder: Reminder | str) -> bool:
        """Release a claim, so that the reminder is due again. False if it is not claimed, or by another caller."""
        return self._done("POST", reminder, "/release")

    def cancel(self, reminder: Reminder | str) -> bool:
        """Remove a reminder. False if it was already delivered or does not exist."""
        return self._done("DELETE", reminder, "")

    def _done(self, verb: str, reminder: Reminder | str, what: str) -> bool:
        identity, claim = (reminder, None) if isinstance(reminder, str) else (reminder.id, reminder.claim)
        body = {"claim": claim} if verb == "POST" and claim is not None else None
        try:
            self._ask(verb, f"/v1/reminders/{_in_path(identity)}{what}", body=body)
        except (Conflict, NotFound):
            return False
        return True


class RemoteJobs(_Remote):
    """`Jobs` on a server."""

    status = _route(Jobs.status, "GET", "/v1/jobs")
    run = _route(Jobs.run, "POST", "/v1/jobs/{name}/run", slow=True)
    run_due = _route(Jobs.run_due, "POST", "/v1/jobs/run-due", slow=True)
    runs = _route(Jobs.runs, "GET", "/v1/runs", name="job")
    undo = _route(Jobs.undo, "POST", "/v1/runs/{run}/undo", slow=True)


class RemoteScratchpad(_Remote, MutableMapping[str, Any]):
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
        return base if key is None else f"{base}/{_in_path(key)}"


class RemoteConversation(_Remote):
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

    extend = _route(Conversation.extend, "POST", "/v1/conversations/{ref}/events")

    def events(
        self, after: Event | int | None = None, *, before: Event | int | None = None, limit: int = LONGEST
    ) -> Iterator[Event]:
        """Yield the events in order; with `after` those following an event; with `before` those before it, reversed."""
        if after is not None and before is not None:
            raise Invalid("pass `after` or `before`, not both")
        way, first = ("after", after or 0) if before is None else ("before", before)
        place, left = getattr(first, "seq", first), _count(limit)
        while left > 0:
            query = {way: place, "limit": min(PAGE, left)}
            found = self._ask("GET", f"/v1/conversations/{self.ref_code}/events", query=query)
            yield from from_json(list[Event], found["items"])
            left -= len(found["items"])
            if found["next"] is None:
                return
            place = found["items"][-1]["seq"]

    event = _route(Conversation.event, "GET", "/v1/conversations/{ref}/events/{reference}")

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
        path = f"/v1/conversations/{self.ref_code}/events/{_in_path(reference)}"
        answer = self._ask("DELETE", path, query={"dry_run": dry_run}, slow=True)
        receipt: Receipt = from_json(Receipt, answer)
        return receipt

    find = _route(Conversation.find, "POST", "/v1/conversations/{ref}/find")
    window = _route(Conversation.window, "GET", "/v1/conversations/{ref}/window")
    messages = _route(Conversation.messages, "POST", "/v1/conversations/{ref}/messages")
    replay = _route(Conversation.replay, "GET", "/v1/conversations/{ref}/replay")
    summary = _route(Conversation.summary, "GET", "/v1/conversations/{ref}/summary")
    apply_delta = _route(Conversation.apply_delta, "POST", "/v1/conversations/{ref}/summary/delta")
    compact = _route(Conversation.compact, "POST", "/v1/conversations/{ref}/compact", slow=True)
    checkpoint = _route(Conversation.checkpoint, "POST", "/v1/conversations/{ref}/checkpoint")
    idle = _route(Conversation.idle, "POST", "/v1/conversations/{ref}/idle")
    archive = _route(Conversation.archive, "POST", "/v1/conversations/{ref}/archive")
    end = _route(Conversation.end, "POST", "/v1/conversations/{ref}/end", slow=True)

    def _one(self, kind: EventType, text: str, lane: Lane | str, at: Moment | None, **fields: Any) -> Event:
        event = {"type": kind, "content": text, "lane": lane, "created_at": at, **fields}
        return self._append([{name: value for name, value in event.items() if value not in (None, [])}])[0]

    def _append(self, new: list[dict[str, Any]]) -> list[Event]:
        if not new:
            return []
        made = self._ask("POST", f"/v1/conversations/{self.ref_code}/events", body=to_json(new))
        return builtins.list(from_json(list[Event], made))


class RemoteConversations(_Remote):
    """`Conversations` on a server."""

    search = _route(Conversations.search, "POST", "/v1/conversations/search")
    end_stale = _route(Conversations.end_stale, "POST", "/v1/conversations/end-stale")
    list = _pages(Conversations.list, "/v1/conversations", before="cursor")
    journal = _pages(Conversations.journal, "/v1/events", "after")
    detail = _route(Conversations.detail, "GET", "/v1/conversations/{id_or_ref}/detail")

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
            raise Invalid(f"participants are a list of agents; write [{participants!r}]")
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
        info = self._ask("GET", f"/v1/conversations/{_in_path(reference(id_or_ref))}")
        return RemoteConversation(self._link, self._where, from_json(ConversationInfo, info))

    def erase(self, id_or_ref: ConversationHandle | str, *, dry_run: bool = False) -> Receipt:
        """Erase all events of a conversation and everything that was made from them; return a receipt."""
        path, query = f"/v1/conversations/{_in_path(reference(id_or_ref))}", {"erase": "true", "dry_run": dry_run}
        receipt: Receipt = from_json(Receipt, self._ask("DELETE", path, query=query, slow=True))
        return receipt

    def last_event(self) -> int:
        """Return the sequence number of the last event in the journal; 0 if it is empty."""
        return int(self._ask("GET", "/v1/events/last")["seq"])

    def scratchpad(self, id_or_ref: ConversationHandle | str, owner: str | None = None) -> RemoteScratchpad:
        """Return the scratchpad of an own conversation, or of one whose `owner` named this agent as a participant."""
        where = self._where if owner is None else {**self._where, "owner": owner}
        found = RemoteScratchpad(self._link, where, ref=_in_path(reference(id_or_ref)))
        len(found)  # raises NotFound now instead of on first use
        return found


class RemoteMemory(_Remote):
    """`Memory` on a server: what one agent remembers in one workspace."""

    def __init__(self, link: HttpTransport, agent: str, workspace: str) -> None:
        super().__init__(link, {"workspace": workspace, "agent": agent})
        self.agent = agent
        self.channels = RemoteChannels(link, self._where)
        self.conversations = RemoteConversations(link, self._where)
        self.reminders, self.review = RemoteReminders(link, self._where), RemoteReview(link, self._where)

    remember = _route(Memory.remember, "POST", "/v1/entries")
    upsert = _route(Memory.upsert, "PUT", "/v1/entries/{key}/knowledge")
    supersede = _route(Memory.supersede, "POST", "/v1/entries/{name_or_id}/supersede")
    retract = _route(Memory.retract, "POST", "/v1/entries/{name_or_id}/retract")
    restore = _route(Memory.restore, "POST", "/v1/entries/{name_or_id}/restore")
    recall = _route(Memory.recall, "POST", "/v1/recall")
    get = _route(Memory.get, "GET", "/v1/entries/{name_or_id}")
    links = _route(Memory.links, "GET", "/v1/entries/{name_or_id}/links")
    history = _route(Memory.history, "GET", "/v1/entries/{name_or_id}/history")
    changed_since = _route(Memory.changed_since, "GET", "/v1/changes/since")
    overview = _route(Memory.overview, "GET", "/v1/overview")
    timeline = _route(Memory.timeline, "GET", "/v1/timeline")
    graph = _route(Memory.graph, "GET", "/v1/graph")
    provenance = _route(Memory.provenance, "GET", "/v1/entries/{name_or_id}/provenance")
    accesses = _route(Memory.accesses, "GET", "/v1/entries/{name_or_id}/accesses")
    trash = _pages(Memory.trash, "/v1/trash", before="cursor")
    changes = _pages(Memory.changes, "/v1/changes", "after")
    query = _route(Memory.query, "POST", "/v1/query")
    context = _route(Memory.context, "POST", "/v1/context")
    orient = _route(Memory.orient, "POST", "/v1/orient", slow=True)
    recover = _route(Memory.recover, "GET", "/v1/recovery")

    @property
    def profiles(self) -> builtins.list[str]:
        """The names of the profiles that `context` accepts."""
        return builtins.list(self._ask("GET", "/v1/profiles"))

    def remember_many(self, drafts: Iterable[Add]) -> builtins.list[Entry]:
        """Remember many entries, up to 10,000 per request; each request is validated completely before any write."""
        if not isinstance(drafts, Iterable):
            raise Invalid(f"remember_many takes a list of Add values, not {type(drafts).__name__}")
        made = builtins.list[Entry]()
        for batch in _batches(drafts):
            answer = self._ask("POST", "/v1/entries/batch", body={"entries": batch}, slow=True)
            made += from_json(list[Entry], answer["items"])
        return made

    def apply(self, operation: Operation, *, if_version: str | None = None) -> Entry:
        """Apply one operation; return the entry after it (for a remove: before it)."""
        body = {"op": type(operation).__name__.lower(), **_without_defaults(operation, *get_args(Operation))}
        if body.keys() == {"op", "target"} and isinstance(operation, Write):
            raise Invalid(f"this write changes nothing; pass {', '.join(WRITABLE[:-1])} or {WRITABLE[-1]}")
        entry: Entry = from_json(Entry, self._ask("POST", "/v1/operations", body=body, headers=_match(if_version)))
        return entry

    def forget(self, name_or_id: str, *, erase: bool = False, if_version: str | None = None) -> bool | Receipt:
        """Forget an entry; False if there is none. With `erase=True` erase it permanently and return a receipt."""
        path, query = f"/v1/entries/{_in_path(name_or_id)}", {"erase": "true"} if erase else {}
        try:
            answer = self._ask("DELETE", path, query=query, headers=_match(if_version))
        except NotFound:
            if erase:
                raise
            return False
        return from_json(Receipt, answer) if erase else True

    def list(self, *, limit: int = 100, **filters: Any) -> builtins.list[Entry]:
        """Return entries like `Memory.list`, with the same filters."""
        known = inspect.signature(Memory.list).parameters
        unknown = next((name for name in filters if name not in known), None)
        if unknown is not None:
            raise Invalid(f"list() has no filter {unknown!r}; it has {', '.join(list(known)[1:])}")
        if "conversation" in filters:
            filters["conversation"] = reference(filters["conversation"])
        place = _place(filters.pop("before", None), filters.pop("after", None), filters)
        # Pad milliseconds: in a query string, a short number could mean a year or a day.
        for name in filters.keys() & {"since", "until", "as_of"}:
            moment = to_json(filters[name])
            filters[name] = f"{moment:011}" if type(moment) is int else moment
        found = self._listed("/v1/entries", {**to_json(filters), "cursor": place}, limit)
        return builtins.list(from_json(list[Entry], found))

    def project(self) -> str | None:
        """Return the project description; None if it is not set."""
        content: str | None = self._ask("GET", "/v1/project")["content"]
        return content

    def set_project(self, content: str, *, replace: bool = True) -> bool:
        """Set the project description; with `replace=False` only if it is not set. True if written."""
        return bool(self._ask("PUT", "/v1/project", body={"content": content, "replace": replace})["written"])

    def empty_trash(self) -> int:
        """Permanently erase the text of everything in the trash; return the number of entries. Cannot be undone."""
        return int(self._ask("DELETE", "/v1/trash")["emptied"])

    def last_change(self, *, account: bool = False) -> int:
        """Return the sequence number of the last operation in the change log, or in the account's; 0 if empty."""
        query = {"account": "true"} if account else {}
        return int(self._ask("GET", "/v1/changes/last", query=query)["seq"])


class RemoteHome:
    """A home on a server, returned by `connect()`; a context manager that closes its connections."""

    def __init__(self, link: HttpTransport) -> None:
        self._link = link
        self.jobs = RemoteJobs(link, {})

    def agent(self, name: str, workspace: str = "default") -> RemoteMemory:
        """Return the memory of an agent in a workspace. Sends no request."""
        return RemoteMemory(self._link, name, workspace)

    def workspaces(self) -> list[str]:
        """Return the workspaces that are not empty."""
        return list(self._link.ask("GET", "/v1/workspaces"))

    def agents(self, workspace: str = "default") -> list[str]:
        """Return the agents that have rows in a workspace."""
        return list(self._link.ask("GET", "/v1/agents", query={"workspace": workspace}))

    def counts(self) -> tuple[AgentCounts, ...]:
        """Return how much each agent has in each workspace, and when it changed last; by workspace, then agent."""
        return tuple(from_json(AgentCounts, one) for one in self._link.ask("GET", "/v1/workspaces/counts"))

    def check(self, *, repair: bool = False) -> Report:
        """Verify names, index, log, entries and files of the whole home."""
        report: Report = from_json(Report, self._link.ask("POST", "/v1/check", body={"repair": repair}, slow=True))
        return report

    def close(self) -> None:
        """Close idle connections."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(url: str = "http://127.0.0.1:8377", *, token: str | None = None, timeout: float = 30.0) -> RemoteHome:
    """Connect to a home on a server started with `recollect serve`. Create tokens with `recollect token create`."""
    return RemoteHome(HttpTransport(url, token, timeout))


def _place(before: Any, after: Any, filters: Mapping[str, Any]) -> str | None:
    """Return `before` or `after` as the text of a cursor; None if the list starts at its beginning."""
    try:
        sort = Sort(filters.get("sort", Sort.CREATED))
    except ValueError:  # the server's error lists the valid ones
        return None
    if before is not None:
        if after is not None or sort is not Sort.CREATED or filters.get("descending") is False:
            raise Invalid("`before` is for lists with the newest first; pass the last entry as `after` instead")
        return (Cursor.of(before, sort) if isinstance(before, Entry) else Cursor(milliseconds(before), "")).text(sort)
    return Cursor.of(after, sort).text(sort) if isinstance(after, Entry) else after


def _in_path(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise Invalid(f"a name or id must be non-blank text, not {given!r}")
    return quote(given, safe="")


def _count(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise Invalid(f"the limit must be a number, 0 or more; not {limit!r}")
    return limit


def _batches(drafts: Iterable[Add]) -> list[list[dict[str, Any]]]:
    """Encode new entries in as few batches as the limits allow. All are validated before the first is sent."""
    batches: list[list[dict[str, Any]]] = []
    size = values = 0
    for draft in drafts:
        body = _without_defaults(draft, Add)
        length, held = len(encoded(body)) + 2, _values(body)
        full = batches and (len(batches[-1]) == BATCH or size + length > BATCH_BYTES or values + held > BATCH_VALUES)
        if full or not batches:
            batches.append([])
            size = values = 0
        batches[-1].append(body)
        size, values = size + length, values + held
    return batches


def _values(body: dict[str, Any]) -> int:
    """Return how many JSON values an entry contributes to a request."""
    return 1 + len(body) + sum(1 + len(value) for value in body.values() if isinstance(value, list | tuple))


def _match(version: str | None) -> dict[str, str]:
    if version is None:
        return {}
    if not (isinstance(version, str) and version.isascii() and version.isprintable()):
        raise Invalid(f"a version is the `version` of an entry, not {version!r}")
    return {"If-Match": f'"{version}"'}


def _without_defaults(value: Any, *kinds: type) -> dict[str, Any]:
    """Convert a dataclass of one of these types to JSON, omitting fields with default values."""
    if not isinstance(value, kinds):
        wanted = ", ".join(kind.__name__ for kind in kinds)
        raise Invalid(f"{type(value).__name__} cannot be added here; pass {wanted}, such as Add('content', name=…)")
    declared: Any = value
    return {
        item.name: to_json(getattr(value, item.name))
        for item in fields(declared)
        if item.default is MISSING or getattr(value, item.name) != item.default
    }


def _new(event: object) -> dict[str, Any]:
    """Convert an event to its request form, without the fields that the server assigns."""
    if not isinstance(event, Event):
        raise Invalid(f"append takes events, not {type(event).__name__}; write Event(type=…, content=…)")
    body = _without_defaults(event, Event)
    return {
        name: value
        for name, value in body.items()
        if name not in ("seq", "id", "conversation_id", "hash", "previous") and value not in (None, [], {})
    }
