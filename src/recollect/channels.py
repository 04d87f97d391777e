"""The facade of channels: methods check their input and delegate to the engine."""

from recollect.clock import Clock
from recollect.engine import channels
from recollect.engine.agent_store import Store
from recollect.model.history import Channel

__all__ = ["Channels"]


class Channels:
    """The channels of a workspace, as `mem.channels`."""

    def __init__(self, shared: Store, workspace: str, clock: Clock) -> None:
        self._shared, self._workspace, self._clock = shared, workspace, clock

    @property
    def default(self) -> Channel:
        """The channel of conversations that are started without one."""
        return next(channel for channel in self.list() if channel.is_default)

    def create(self, name: str, description: str = "") -> Channel:
        """Create a channel and return it.

        Raises Conflict if the name is taken.
        """
        return channels.create_channel(self._shared, self._workspace, name, description, self._clock.now())

    def list(self) -> list[Channel]:
        """Return all channels, oldest first."""
        return channels.channels(self._shared, self._workspace)
