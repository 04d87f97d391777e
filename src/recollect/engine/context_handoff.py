"""The hand-off in a context: the newest one, without what entries state, and its end if the budget is short."""

from collections.abc import Sequence
from dataclasses import replace

from recollect import text
from recollect.engine import context_filling
from recollect.engine.agent_store import Store
from recollect.engine.context_items import items_of
from recollect.model.context import HANDOFF, RECOVERY, Item, Section
from recollect.model.entry import Origin

__all__ = ["newest_handoff", "quoted_messages", "with_shorter_handoff", "without_stated"]

TOLD_LENGTH = 20_000
"""Number of leading characters of an item that later items are compared with."""


def newest_handoff(store: Store, origins: Sequence[Origin]) -> list[Item]:
    """Return the newest hand-off; one that upkeep compacted from older ones only if there is no other."""
    with store.read() as tx:
        return items_of(tx, tx.all("context.handoffs", origins=[str(origin) for origin in origins]))


def with_shorter_handoff(section: Section, tokens: float) -> Section:
    """Return the section of the hand-off with the end that fits."""
    return replace(section, items=tuple(replace(item, text=_ending(item.text, tokens)) for item in section.items))


def without_stated(section: Section, stated: str) -> Section:
    """Return the section of the hand-off without what entries state; `stated` is their wording."""
    left = (replace(item, text=context_filling.without_shown(item.text, stated)) for item in section.items)
    return replace(section, items=tuple(item for item in left if item.text))


def quoted_messages(fixed: Sequence[Section]) -> list[str]:
    """Return the messages that the hand-off and the recovery quote, without their labels."""
    quoting = (section for section in fixed if section.name in (HANDOFF, RECOVERY))
    texts = [item.text[:TOLD_LENGTH] for section in quoting for item in section.items]
    return [context_filling.split_label(line)[1] for one in texts for line in one.splitlines()]


def _ending(content: str, tokens: float) -> str:
    """Return the last lines of a text that fit, at least one; `…` stands for the others."""
    lines = content.strip().splitlines()
    kept: list[str] = []
    for line in reversed(lines):
        tokens -= text.token_weight(line) + 2
        if kept and tokens < 0:
            break
        kept.append(line)
    return "\n".join([*(["…"] if len(kept) < len(lines) else []), *reversed(kept)])
