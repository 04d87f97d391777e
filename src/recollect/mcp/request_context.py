"""Who a request speaks for, and which conversation it is about. No tool takes the agent as an argument."""

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

from recollect.conversation import Conversation
from recollect.errors import Denied, Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.history import Status

__all__ = ["CALLER", "SESSIONS", "Caller", "Seat", "Seats", "seat", "seated"]

CALLER = "recollect.caller"
"""Where the endpoint leaves the caller for the handlers, in the scope of a request."""
SESSIONS = 10_000
"""For so many sessions the conversation is kept in mind, as many as the SDK holds open."""


def _anybody(agent: str) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose memory a request is about, and what it may do there."""

    home: Home
    workspace: str
    agent: str
    may_write: bool = True
    may_read: Callable[[str], bool] = _anybody
    """Whether another agent may be read, beside what the memory itself allows."""
    conversation: str | None = None
    """The conversation to begin with, by its id or ref code."""

    @property
    def memory(self) -> Memory:
        """The memory of the agent."""
        return self.home.agent(self.agent, self.workspace)


class Seats:
    """Which conversation each session is in, or was in last."""

    def __init__(self) -> None:
        self._lock, self._known = Lock(), OrderedDict[tuple[str, str, str], tuple[str, bool]]()

    def get(self, key: tuple[str, str, str]) -> tuple[str, bool] | None:
        """The id of the latest conversation of a session, if it had one; and whether the session is still in it."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: tuple[str, str, str], conversation: str, *, still: bool = True) -> None:
        """Say which conversation a session is in, or was in last."""
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = conversation, still
            while len(self._known) > SESSIONS:
                self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Seat:
    """One request: its caller, and the session it belongs to (None where the protocol has none)."""

    caller: Caller
    session: str | None
    seats: Seats
    over_http: bool = False
    """Whether it came from elsewhere, where nobody is to know what is where on this machine."""

    @property
    def memory(self) -> Memory:
        """The memory to read."""
        return self.caller.memory

    def writing(self) -> Memory:
        """The memory to write to; Denied where the caller may only read."""
        if not self.caller.may_write:
            raise Denied("this access may only read; nothing was changed")
        return self.caller.memory

    def reading(self, other: str | None) -> str | None:
        """Another agent that is to be read; Denied where the caller may not."""
        other = other and other.strip()
        if other is not None and other != self.caller.agent and not self.caller.may_read(other):
            raise Denied(f"this access does not give the right to read the agent {other!r}")
        return other

    def current(self) -> str | None:
        """The conversation that this session is in, if it is in one."""
        known, still = self._latest()
        return known if still else None

    def conversation(self, asked: str | None, *, begin: bool = False) -> Conversation:
        """The conversation that was asked for, else that of the session: the latest one, also when it is over.

        With `begin`, for what adds something to it, one that is over does not count, and where there is none it begins.
        """
        known = asked or (self.current() if begin else self._latest()[0])
        if known is not None:
            return self.memory.conversations.get(known)
        if self._key() is None:
            raise Invalid(
                "which conversation? This connection keeps none in mind: begin one with the tool `conversation`, "
                "action `start`, and give the ref code it returns as `conversation`"
            )
        if begin:
            return self.begun(self.writing().conversations.start())
        raise Invalid(
            "which conversation? This session has none yet: the tool `conversation` begins one with its action `start` "
            "or `append`, and its action `list` shows others, whose ref code can be given as `conversation`"
        )

    def begun(self, conversation: Conversation) -> Conversation:
        """Let this be the conversation of the session."""
        key = self._key()
        if key is not None:
            self.seats.put(key, conversation.id)
        return conversation

    def left(self, conversation: Conversation) -> None:
        """The session is no longer in a conversation that is over; it still is the latest one."""
        key = self._key()
        if key is not None and self._is_latest(conversation) and conversation.status is not Status.ACTIVE:
            self.seats.put(key, conversation.id, still=False)

    def _latest(self) -> tuple[str | None, bool]:
        """The latest conversation of the session, if any, and whether the session is still in it."""
        key = self._key()
        known = None if key is None else self.seats.get(key)
        return known or (self.caller.conversation, True)

    def _is_latest(self, conversation: Conversation) -> bool:
        return self._latest()[0] in (conversation.id, conversation.ref_code)

    def _key(self) -> tuple[str, str, str] | None:
        """With whose it is: a session id alone opens nothing to another agent."""
        return None if self.session is None else (self.caller.workspace, self.caller.agent, self.session)


seated: ContextVar[Seat] = ContextVar("seated")


def seat() -> Seat:
    """The request that is being answered."""
    return seated.get()
