"""Services that all memories of a home share: the clock, the settings, and the queue of background work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recollect.clock import Clock
from recollect.config import ConversationSettings
from recollect.engine.background import Background
from recollect.engine.compaction import WindowLimits
from recollect.engine.embedding import EmbeddingQueue
from recollect.engine.signals import Signals
from recollect.model.context import Profile
from recollect.model.entry import Lifetime
from recollect.providers.base import LanguageModel, Reranker
from recollect.search.ranking import DecayConfig

__all__ = ["HomeServices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeServices:
    """Services that all memories of a home share."""

    clock: Clock
    decay: DecayConfig
    signals: Signals
    later: EmbeddingQueue
    background: Background
    model: LanguageModel | None
    reranker: Reranker | None
    limits: WindowLimits
    conversation: ConversationSettings
    profiles: Mapping[str, Profile]
    forget_answers: Callable[[], tuple[int, Sequence[str]]]
    """Deletes the stored responses of requests with an idempotency key; see `Requests.forget_answers`."""
    duplicates: str = "words"
    """Which hits a recall leaves out; see `RecallSettings`."""
    lifetime: Lifetime = Lifetime.LONG_TERM
    """Default lifetime of notes without a name, if the caller chooses none."""
