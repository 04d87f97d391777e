"""The context of an MCP request: its caller, session and conversation. No tool takes the agent as an argument."""

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

from recollect.conversation import Conversation
from recollect.errors import Denied, Invalid
from recollect.home import Home
from recollect.memory import SHARED, Memory, claiming, without_project
from recollect.model.entry import Origin
from recollect.model.history import Status

__all__ = [
    "ACCESS",
    "SESSIONS",
    "MemoryAccess",
    "RequestContext",
    "SessionConversations",
    "current_request",
    "request_context",
]

ACCESS = "recollect.caller"
"""Key in the ASGI scope under which the endpoint passes the caller to the handlers."""
SESSIONS = 10_000
"""Number of sessions whose conversation is tracked, as many as the SDK holds open."""


def _anybody(agent: str) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccess:
    """The memory that a request addresses, and its rights on it."""

    home: Home
    workspace: str
    agent: str
    may_write: bool = True
    may_set_project: bool = True
    origin: Origin = Origin.USER
    """The most trusted origin that it may claim."""
    may_read: Callable[[str], bool] = _anybody
    """Returns whether another agent may be read, in addition to what the memory itself allows."""
    conversation: str | None = None
    """Id or ref code of the initial conversation."""

    @property
    def memory(self) -> Memory:
        """The memory of the agent."""
        found = claiming(self.home.agent(self.agent, self.workspace), self.origin)
        return found if self.may_set_project or self.agent != SHARED else without_project(found)


class SessionConversations:
    """The current or latest conversation of each session; the least recently set are evicted."""

    def __init__(self) -> None:
        self._lock, self._known = Lock(), OrderedDict[tuple[str, str, str], tuple[str, bool]]()

    def get(self, key: tuple[str, str, str]) -> tuple[str, bool] | None:
        """Return the id of a session's latest conversation and whether it is still current; None if it had none."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: tuple[str, str, str], conversation: str, *, still: bool = True) -> None:
        """Set the latest conversation of a session, and whether it is still current."""
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = conversation, still
            while len(self._known) > SESSIONS:
                self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The context of one request: its caller and its session (None where the protocol has none)."""

    caller: MemoryAccess
    session: str | None
    seats: SessionConversations
    over_http: bool = False
    """Whether it came over HTTP; errors then must not reveal paths of this machine."""

    @property
    def memory(self) -> Memory:
        """The memory to read."""
        return self.caller.memory

    def writing(self) -> Memory:
        """Return the memory for writing; raise Denied if the caller may only read."""
        if not self.caller.may_write:
            raise Denied("this access is read-only; nothing was changed")
        return self.caller.memory

    def reading(self, other: str | None) -> str | None:
        """Return the name of another agent to read; raise Denied if the caller may not."""
        other = other and other.strip()
        if other is not None and other != self.caller.agent and not self.caller.may_read(other):
            raise Denied(f"this access does not give the right to read the agent {other!r}")
        return other

    def current(self) -> str | None:
        """Return the current conversation of the session, if any."""
        known, still = self._latest()
        return known if still else None

    def conversation(self, asked: str | None, *, begin: bool = False) -> Conversation:
        """Return the named conversation, otherwise the latest one of the session, even if it has ended.

        With `begin`, for actions that write to it, an ended one does not count, and a new one is started if needed.
        """
        known = asked or (self.current() if begin else self._latest()[0])
        if known is not None:
            return self.memory.conversations.get(known)
        if self._key() is None:
            raise Invalid(
                "which conversation? This connection has no state: start one with the tool `conversation`, "
                "action `start`, and pass the ref code it returns as `conversation`"
            )
        if begin:
            return self.begun(self.writing().conversations.start())
        raise Invalid(
            "which conversation? This session has none yet: the tool `conversation` starts one with its action `start` "
            "or `append`; its action `list` shows others, whose ref code can be passed as `conversation`"
        )

    def begun(self, conversation: Conversation) -> Conversation:
        """Make this the current conversation of the session."""
        key = self._key()
        if key is not None:
            self.seats.put(key, conversation.id)
        return conversation

    def left(self, conversation: Conversation) -> None:
        """Mark a conversation that has ended as no longer current; it stays the latest one of the session."""
        key = self._key()
        if key is not None and self._is_latest(conversation) and conversation.status is not Status.ACTIVE:
            self.seats.put(key, conversation.id, still=False)

    def _latest(self) -> tuple[str | None, bool]:
        """Return the latest conversation of the session, if any, and whether it is still current."""
        key = self._key()
        known = None if key is None else self.seats.get(key)
        return known or (self.caller.conversation, True)

    def _is_latest(self, conversation: Conversation) -> bool:
        return self._latest()[0] in (conversation.id, conversation.ref_code)

    def _key(self) -> tuple[str, str, str] | None:
        """Return the key of the session, with workspace and agent: the id alone gives another agent no access."""
        return None if self.session is None else (self.caller.workspace, self.caller.agent, self.session)


current_request: ContextVar[RequestContext] = ContextVar("seated")


def request_context() -> RequestContext:
    """Return the context of the current request."""
    return current_request.get()
