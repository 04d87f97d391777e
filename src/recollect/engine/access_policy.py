"""Who may read what of another agent. The one place where this is decided, and where such reads are recorded.

Another agent's knowledge and past conversations may be read, by naming the agent; working memory never, and nothing of
another agent is ever written. Knowledge is a long-term note with a name: a plain note is for its author alone. What was
made from a past conversation may be read with it; archives, chunks and hand-offs of a conversation that has not ended
are working memory.
The agent `_shared` owns what all agents of a workspace see: they read its entries with their own, and only `_shared`
itself writes them.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import Denied
from recollect.model.entry import Entry, Lifetime, Scope
from recollect.model.history import ConversationInfo, Status
from recollect.model.recall import Filters
from recollect.storage import history

__all__ = ["SHARED", "narrowed", "of_another", "other_agent", "participant", "past_of_another", "readable", "shows"]

SHARED = "_shared"
"""The agent whose entries all agents of a workspace see."""
_SHARED_SCOPES = (Scope.CHANNEL, Scope.WORKSPACE)

_READABLE = (Lifetime.MID_TERM, Lifetime.LONG_TERM)


def readable(own: Sequence[Store], shared: Store) -> list[Store]:
    """The stores that an agent's recall reads: its own, in the workspace and the account, and that of `_shared`."""
    return [*own, *([] if shared in own else [shared])]


def narrowed(filters: Filters, store: Store, reader: str) -> Filters:
    """The filters of a recall, limited to what the reader may see of a store."""
    if store.agent != SHARED or reader == SHARED:
        return filters
    scopes = tuple(scope for scope in filters.scopes if scope in _SHARED_SCOPES)
    return replace(filters, scopes=scopes, running=False)


def shows(entry: Entry, store: Store, reader: str) -> bool:
    """Whether the reader may see an entry of one of its readable stores."""
    return store.agent != SHARED or reader == SHARED or entry.scope in _SHARED_SCOPES


def other_agent(reader: Store, target_agent: str | None) -> str | None:
    """The name of the other agent that a read is for, in its stored form; None for a read of one's own memory."""
    if target_agent is None:
        return None
    name = names.segment(target_agent, "an agent")
    return None if name == reader.agent else name


def of_another(reader: Store, target_agent: str, filters: Filters, *, call: str, query: str, now: int) -> Filters:
    """Record that an agent reads another one's memory, and give the filters narrowed to what it may see."""
    if Scope.WORKSPACE not in filters.scopes:
        raise Denied(
            f"only the workspace scope of {target_agent!r} may be read from outside: its knowledge and its past "
            "conversations; leave scopes out"
        )
    with reader.write() as work:
        work.tx.run("access.record", at=now, target_agent=target_agent, call=call, query=query)
    lifetimes = tuple(one for one in _READABLE if one in (filters.lifetimes or _READABLE))
    return replace(
        filters,
        scopes=(Scope.WORKSPACE,),
        lifetimes=lifetimes,
        conversation=None,
        channel=None,
        running=False,
        private=False,
    )


def past_of_another(reader: Store, target_agent: str, *, call: str, query: str, now: int) -> tuple[Status, ...]:
    """Record that an agent searches another one's conversations, and give the states of those it may see: past ones."""
    with reader.write() as work:
        work.tx.run("access.record", at=now, target_agent=target_agent, call=call, query=query)
    return (Status.IDLE, Status.ARCHIVED)


def participant(owner: Store, agent: str, id_or_ref: str) -> ConversationInfo:
    """The conversation whose scratchpad an agent may use, because its owner named it as a participant."""
    with owner.read() as tx:
        found = history.conversation(tx, id_or_ref)
    # The same answer for one that is not there: who may not see it is not told that it exists.
    if found is None or agent not in found.participants:
        raise Denied(f"{agent!r} is no participant of a conversation {id_or_ref!r} of {owner.agent!r}")
    return found
