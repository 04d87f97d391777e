"""Read the payloads of a chat's events, for programs that store data of their own in them."""

from collections.abc import Iterator
from typing import Any

from recollect.engine.agent_store import Store
from recollect.model.history import PayloadRow
from recollect.storage import history
from recollect.storage.history import payloads_back

__all__ = ["payloads", "rows"]


def payloads(store: Store, chat_id: str, before: int, page: int) -> Iterator[tuple[PayloadRow, dict[str, Any]]]:
    """Yield the events of a chat's conversations with their payloads, newest first, without compaction markers."""
    for found in rows(store, chat_id, before, page):
        yield from zip(found, history.payloads(found), strict=True)


def rows(store: Store, chat_id: str, before: int, page: int) -> Iterator[list[PayloadRow]]:
    """Yield the same events page by page, with their payloads as JSON texts.

    The first query reads up to `page` events, each further one ten times as many, up to history.PAGE.
    """
    with store.read() as tx:
        conversations = [identity for (identity,) in tx.all("history.chat_conversations", chat_id=chat_id)]
        found = payloads_back(tx, conversations[0], before, page) if conversations else []
    for number, conversation in enumerate(conversations):
        if number:
            with store.read() as tx:
                found = payloads_back(tx, conversation, before, page)
        while found:
            yield found
            if len(found) < page:
                break
            page = min(page * 10, history.PAGE)
            with store.read() as tx:
                found = payloads_back(tx, conversation, found[-1][0], page)
