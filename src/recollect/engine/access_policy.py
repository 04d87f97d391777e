"""Access policy: what an agent may read of another agent. Decided only here, and such reads are recorded here.

A caller that names another agent may read its knowledge and its past conversations, but never its working memory.
Nothing of another agent is ever written. Knowledge is a long-term note with a name; an unnamed note is private to its
author. Entries derived from a past conversation are as readable as the conversation; archives, chunks and hand-offs of
a conversation that has not ended are working memory.
The agent `_shared` owns the entries that all agents of a workspace see: they read them together with their own, and
only `_shared` itself writes them.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import Denied
from recollect.model.entry import Category, Entry, Kind, Lifetime, Scope
from recollect.model.filters import Filters
from recollect.model.history import ConversationInfo, Status
from recollect.storage import history
from recollect.storage.database import Transaction

__all__ = [
    "PAST",
    "SHARED",
    "narrowed",
    "of_another",
    "other_agent",
    "participant",
    "past_of_another",
    "readable",
    "shows",
]

SHARED = "_shared"
"""The agent whose entries all agents of a workspace see."""
PAST = (Status.IDLE, Status.ARCHIVED)
"""The states of a conversation in which other agents may read it."""
_SHARED_SCOPES = (Scope.CHANNEL, Scope.WORKSPACE)

_READABLE = (Lifetime.MID_TERM, Lifetime.LONG_TERM)


def readable(own: Sequence[Store], shared: Store) -> list[Store]:
    """Return the stores that an agent's recall reads: its own, of workspace and account, and that of `_shared`."""
    return [*own, *([] if shared in own else [shared])]


def narrowed(filters: Filters, store: Store, reader: str) -> Filters:
    """Restrict the filters of a recall to what the reader may see of a store."""
    if store.agent != SHARED or reader == SHARED:
        return filters
    scopes = tuple(scope for scope in filters.scopes if scope in _SHARED_SCOPES)
    return replace(filters, scopes=scopes, running=False)


def shows(tx: Transaction, entry: Entry, reader: str) -> bool:
    """Return whether the reader may see an entry of one of its readable stores, read in a transaction of that store."""
    if tx.agent != SHARED or reader == SHARED:
        return True
    return entry.scope in _SHARED_SCOPES and not _is_working_memory(tx, entry)


def _is_working_memory(tx: Transaction, entry: Entry) -> bool:
    """Return whether an entry is an archive, a chunk or a hand-off of a conversation that has not ended."""
    if entry.conversation_id is None or (entry.kind is Kind.NOTE and entry.category is not Category.HANDOFFS):
        return False
    found = history.conversation(tx, entry.conversation_id)
    return found is not None and found.status is Status.ACTIVE


def other_agent(reader: Store, target_agent: str | None) -> str | None:
    """Return the normalised name of the agent to read from; None if the reader reads its own memory."""
    if target_agent is None:
        return None
    name = names.segment(target_agent, "an agent")
    return None if name == reader.agent else name


def of_another(reader: Store, target_agent: str, filters: Filters, *, call: str, query: str, now: int) -> Filters:
    """Record a read of another agent's memory; return the filters restricted to what the reader may see."""
    if Scope.WORKSPACE not in filters.scopes:
        raise Denied(
            f"other agents may read only the workspace scope of {target_agent!r}: its knowledge and past "
            "conversations; omit scopes"
        )
    with reader.write() as work:
        work.tx.run("access.record", at=now, target_agent=target_agent, call=call, query=query)
    lifetimes = tuple(one for one in _READABLE if one in filters.lifetimes)
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
    """Record a search in another agent's conversations; return the statuses that the reader may see: past ones."""
    with reader.write() as work:
        work.tx.run("access.record", at=now, target_agent=target_agent, call=call, query=query)
    return PAST


def participant(owner: Store, agent: str, id_or_ref: str) -> ConversationInfo:
    """Return a conversation whose scratchpad the agent may use as a participant; raise Denied if it is none."""
    with owner.read() as tx:
        found = history.conversation(tx, id_or_ref)
    # The same error for a missing conversation, so that a denied caller cannot probe which ones exist.
    if found is None or agent not in found.participants:
        raise Denied(f"{agent!r} is not a participant of a conversation {id_or_ref!r} of {owner.agent!r}")
    return found
