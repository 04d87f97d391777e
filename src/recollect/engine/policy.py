"""Who may read what of another agent. The one place where this is decided, and where such reads are recorded.

Another agent's knowledge and past conversations may be read, by naming the agent; working memory never, and nothing of
another agent is ever written.
"""

from dataclasses import replace

from recollect.engine.store import Store
from recollect.errors import Denied
from recollect.model.entry import Lifetime, Scope
from recollect.model.recall import Filters

__all__ = ["of_another"]

_READABLE = (Lifetime.MID_TERM, Lifetime.LONG_TERM)


def of_another(reader: Store, target_agent: str, filters: Filters, *, call: str, query: str, now: int) -> Filters:
    """Record that an agent reads another one's memory, and give the filters narrowed to what it may see."""
    if Scope.WORKSPACE not in filters.scopes:
        raise Denied(
            f"only the workspace scope of {target_agent!r} may be read from outside: its knowledge and its past "
            "conversations; leave scopes out"
        )
    with reader.write() as work:
        work.tx.run("access.record", at=now, target_agent=target_agent, call=call, query=query)
    return replace(filters, scopes=(Scope.WORKSPACE,), lifetimes=_READABLE, conversation=None, channel=None)
