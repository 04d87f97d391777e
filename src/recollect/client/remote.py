"""Homes and memories on a server: the library's methods, called over HTTP.

Most methods take signature and types from the library's method and are declared with their route. Methods that do not
map to a single route are written out.
"""

import builtins
import inspect
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, get_args

from recollect import Channels, Jobs, Reminders, Review
from recollect.client.calls import RemoteObject, if_match, in_path, pages, route, without_defaults
from recollect.client.conversations import RemoteConversations
from recollect.client.transport import HttpTransport, encoded
from recollect.client.values import from_json, to_json
from recollect.clock import milliseconds
from recollect.errors import Conflict, Invalid, NotFound
from recollect.memory import Memory
from recollect.model.entry import Entry
from recollect.model.history import Channel, reference
from recollect.model.listing import Cursor, Sort
from recollect.model.operation import WRITABLE, Add, Operation, Write
from recollect.model.reminder import Reminder
from recollect.model.report import Receipt, Report
from recollect.model.stats import AgentCounts

__all__ = ["RemoteChannels", "RemoteHome", "RemoteJobs", "RemoteMemory", "RemoteReminders", "RemoteReview", "connect"]

BATCH, BATCH_BYTES, BATCH_VALUES = 10_000, 30_000_000, 45_000
"""Limits of a batch request: entries, bytes and JSON values."""


class RemoteChannels(RemoteObject):
    """`Channels` on a server."""

    create = route(Channels.create, "POST", "/v1/channels")
    list = route(Channels.list, "GET", "/v1/channels")

    @property
    def default(self) -> Channel:
        """The channel of conversations that were started without one."""
        return next(channel for channel in self.list() if channel.is_default)


class RemoteReview(RemoteObject):
    """`Review` on a server."""

    list = pages(Review.list, "/v1/review", after="cursor")
    resolve = route(Review.resolve, "POST", "/v1/review/{pair}")
    reopen = route(Review.reopen, "POST", "/v1/review/{pair}/reopen")


class RemoteReminders(RemoteObject):
    """`Reminders` on a server."""

    add = route(Reminders.add, "POST", "/v1/reminders")
    due = route(Reminders.due, "GET", "/v1/reminders/due")
    claim = route(Reminders.claim, "POST", "/v1/reminders/claim")
    list = pages(Reminders.list, "/v1/reminders", after="cursor")

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
            self._ask(verb, f"/v1/reminders/{in_path(identity)}{what}", body=body)
        except (Conflict, NotFound):
            return False
        return True


class RemoteJobs(RemoteObject):
    """`Jobs` on a server."""

    status = route(Jobs.status, "GET", "/v1/jobs")
    run = route(Jobs.run, "POST", "/v1/jobs/{name}/run", slow=True)
    run_due = route(Jobs.run_due, "POST", "/v1/jobs/run-due", slow=True)
    runs = route(Jobs.runs, "GET", "/v1/runs", name="job")
    undo = route(Jobs.undo, "POST", "/v1/runs/{run}/undo", slow=True)


class RemoteMemory(RemoteObject):
    """`Memory` on a server: what one agent remembers in one workspace."""

    def __init__(self, link: HttpTransport, agent: str, workspace: str) -> None:
        super().__init__(link, {"workspace": workspace, "agent": agent})
        self.agent = agent
        self.channels = RemoteChannels(link, self._where)
        self.conversations = RemoteConversations(link, self._where)
        self.reminders, self.review = RemoteReminders(link, self._where), RemoteReview(link, self._where)

    remember = route(Memory.remember, "POST", "/v1/entries")
    upsert = route(Memory.upsert, "PUT", "/v1/entries/{key}/knowledge")
    supersede = route(Memory.supersede, "POST", "/v1/entries/{name_or_id}/supersede")
    retract = route(Memory.retract, "POST", "/v1/entries/{name_or_id}/retract")
    restore = route(Memory.restore, "POST", "/v1/entries/{name_or_id}/restore")
    recall = route(Memory.recall, "POST", "/v1/recall")
    get = route(Memory.get, "GET", "/v1/entries/{name_or_id}")
    links = route(Memory.links, "GET", "/v1/entries/{name_or_id}/links")
    history = route(Memory.history, "GET", "/v1/entries/{name_or_id}/history")
    changed_since = route(Memory.changed_since, "GET", "/v1/changes/since")
    overview = route(Memory.overview, "GET", "/v1/overview")
    timeline = route(Memory.timeline, "GET", "/v1/timeline")
    graph = route(Memory.graph, "GET", "/v1/graph")
    provenance = route(Memory.provenance, "GET", "/v1/entries/{name_or_id}/provenance")
    accesses = route(Memory.accesses, "GET", "/v1/entries/{name_or_id}/accesses")
    trash = pages(Memory.trash, "/v1/trash", before="cursor")
    changes = pages(Memory.changes, "/v1/changes", "after")
    query = route(Memory.query, "POST", "/v1/query")
    context = route(Memory.context, "POST", "/v1/context")
    orient = route(Memory.orient, "POST", "/v1/orient", slow=True)
    recover = route(Memory.recover, "GET", "/v1/recovery")

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
        body = {"op": type(operation).__name__.lower(), **without_defaults(operation, *get_args(Operation))}
        if body.keys() == {"op", "target"} and isinstance(operation, Write):
            raise Invalid(f"this write changes nothing; pass {', '.join(WRITABLE[:-1])} or {WRITABLE[-1]}")
        entry: Entry = from_json(Entry, self._ask("POST", "/v1/operations", body=body, headers=if_match(if_version)))
        return entry

    def forget(self, name_or_id: str, *, erase: bool = False, if_version: str | None = None) -> bool | Receipt:
        """Forget an entry; False if there is none. With `erase=True` erase it permanently and return a receipt."""
        path, query = f"/v1/entries/{in_path(name_or_id)}", {"erase": "true"} if erase else {}
        try:
            answer = self._ask("DELETE", path, query=query, headers=if_match(if_version))
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


def _batches(drafts: Iterable[Add]) -> list[list[dict[str, Any]]]:
    """Encode new entries in as few batches as the limits allow. All are validated before the first is sent."""
    batches: list[list[dict[str, Any]]] = []
    size = values = 0
    for draft in drafts:
        body = without_defaults(draft, Add)
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
