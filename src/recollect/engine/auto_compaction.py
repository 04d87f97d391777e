"""Automatic compaction: decides after each append whether a window is full, and compacts it.

With a language model it runs in the background, because a model may be slow. After a failure the next event tries
again; then the wait doubles, up to the length of a window. A short outage costs nothing, and a model that stays down is
called about once per window.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recollect.clock import Clock
from recollect.engine import compaction, lanes
from recollect.engine.agent_store import Store
from recollect.engine.background import Background
from recollect.engine.compaction import WindowLimits
from recollect.engine.embedding import EmbeddingQueue
from recollect.errors import RecollectError
from recollect.model.history import Compacted, ConversationInfo, Event, Lane
from recollect.providers.base import LanguageModel
from recollect.text import estimate_tokens

__all__ = ["AutoCompaction", "CompactionServices"]

_log = logging.getLogger("recollect.conversations")


@dataclass(slots=True)
class _Backoff:
    """Consecutive failures to compact a lane, and how many events to append before the next attempt."""

    failures: int = 0
    wait: int = 0

    def add(self, longest: int) -> None:
        self.failures += 1
        self.wait = min(2 ** min(self.failures - 1, 30), longest)

    def due(self, added: int) -> bool:
        self.wait -= added
        return self.wait <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionServices:
    """What the compaction of an agent's conversations needs, and its state in this process by conversation and lane."""

    store: Store
    clock: Clock
    model: LanguageModel | None
    limits: WindowLimits
    later: EmbeddingQueue
    background: Background
    identity: Callable[[Lane], Mapping[str, str]]
    """Reads the agent's identity files for a lane."""
    backoffs: dict[tuple[str, Lane], _Backoff] = field(default_factory=dict)
    prompt_tokens: dict[tuple[str, Lane], int] = field(default_factory=dict)
    """Tokens of the last prompt outside summary and window; they cannot be compacted."""


class AutoCompaction:
    """The compaction of one conversation."""

    def __init__(self, services: CompactionServices, info: ConversationInfo) -> None:
        self._services, self._info = services, info
        self._sizes: dict[Lane, tuple[int, int]] = {}
        """Events and tokens of each lane's window, as far as this object knows."""

    def appended(self, events: Sequence[Event]) -> None:
        """Compact the lanes that have grown, if they are full. A failure is logged: the events are on disk."""
        for lane in {event.lane for event in events}:
            try:
                self._grown(lane, [event for event in events if event.lane is lane])
            except RecollectError as error:
                _log.warning("the lane %s of %s could not be compacted: %s", lane, self._info.ref_code, error)

    def prompted(self, lane: Lane, texts: Iterable[str]) -> int:
        """Record the texts of a prompt outside summary and window, which limit the window; return their tokens."""
        tokens = self._services.prompt_tokens[self._info.id, lane] = sum(map(estimate_tokens, texts))
        return tokens

    def compact(self, lane: Lane, *, requested: bool = True) -> Compacted | None:
        """Compact a lane now; return None if there is nothing to compact. Raises Unavailable if the model fails."""
        services, key = self._services, (self._info.id, lane)
        try:
            done = compaction.compact(
                services.store,
                self._info,
                lane,
                services.model,
                self._limits(lane),
                asked=requested,
                now=services.clock.now(),
            )
        except RecollectError:
            services.backoffs.setdefault(key, _Backoff()).add(services.limits.events)
            raise
        finally:
            self._sizes.pop(lane, None)
        services.backoffs.pop(key, None)
        if done is not None:
            services.later.wake(services.store)
        return done

    def ended(self) -> None:
        """Drop the state of a conversation that has ended."""
        for lane in Lane:
            self._services.prompt_tokens.pop((self._info.id, lane), None)
            self._services.backoffs.pop((self._info.id, lane), None)

    def _grown(self, lane: Lane, added: Sequence[Event]) -> None:
        """Compact the window if it may be full. Other processes append too, so the first call reads its size."""
        services, key, limits = self._services, (self._info.id, lane), self._limits(lane)
        backoff = services.backoffs.get(key)
        if backoff is not None and not backoff.due(len(added)):
            return
        count, size = self._sizes.get(lane, (limits.events, 0))
        count, size = count + len(added), size + sum(map(compaction.tokens, added))
        self._sizes[lane] = count, size
        if count < limits.events and size <= limits.tokens(0) // 2:
            return
        with services.store.read() as tx:
            state, window = lanes.window(tx, self._info.id, lane)
        self._sizes[lane] = len(window), sum(map(compaction.tokens, window))
        if not compaction.due(limits, state, window):
            return
        if services.model is None:
            self.compact(lane, requested=False)
        else:
            services.background.run(key, lambda: self.compact(lane, requested=False))

    def _limits(self, lane: Lane) -> WindowLimits:
        """Return the limits of the window beside the last prompt's other texts, or else beside the identity files."""
        tokens = self._services.prompt_tokens.get((self._info.id, lane))
        if tokens is None:
            tokens = self.prompted(lane, self._services.identity(lane).values())
        return replace(self._services.limits, around=tokens)
