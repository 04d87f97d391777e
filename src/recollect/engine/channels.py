"""Channels of a workspace: list, create, find by name."""

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import Conflict, NotFound
from recollect.model.history import Channel
from recollect.storage import history

__all__ = ["DEFAULT_CHANNEL", "channel_id", "channels", "create_channel"]

DEFAULT_CHANNEL = "general"


def channels(shared: Store, workspace: str) -> list[Channel]:
    """List the channels of the workspace. The default channel is included even if it is not stored yet."""
    with shared.read() as tx:
        found = history.channels(tx, workspace)
    if not any(channel.is_default for channel in found):
        found.insert(0, Channel(id=DEFAULT_CHANNEL, workspace=workspace, name=DEFAULT_CHANNEL, is_default=True))
    return found


def create_channel(shared: Store, workspace: str, name: object, description: object, now: int) -> Channel:
    """Create a channel; raise Conflict if the name is taken."""
    name, description = names.name(name, "channel"), names.plain("description", description, lines=True)
    with shared.database.write(shared.agent) as tx:
        if not any(channel.is_default for channel in history.channels(tx, workspace)):
            tx.run("history.channel_put", id=DEFAULT_CHANNEL, description="", is_default=1, created_at=now)
        if not tx.run("history.channel_put", id=name, description=description, is_default=0, created_at=now):
            raise Conflict(f"channel {name!r} already exists; use it, or choose another name")
    return Channel(id=name, workspace=workspace, name=name, description=description, created_at=now)


def channel_id(shared: Store, workspace: str, name: object) -> str:
    """Return the id of a channel, of the default one for None; raise NotFound if there is none of that name."""
    known = channels(shared, workspace)
    wanted = next(one.id for one in known if one.is_default) if name is None else names.name(name)
    if all(one.id != wanted for one in known):
        raise NotFound(f"there is no channel {wanted!r}; create it first, or use one that is in the list")
    return wanted
