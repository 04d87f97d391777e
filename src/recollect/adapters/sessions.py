"""The sessions of an adapter by chat id, and the chat ids of sessions."""

import json
from functools import lru_cache

from recollect import Invalid, Memory
from recollect.adapters.homes import Opened
from recollect.adapters.session_log import SessionLog

__all__ = ["SessionLogs", "chat_id_of", "chat_ids"]

CHAT_ID_LENGTH = 256
LOGS = 64
"""Maximum number of sessions that an adapter keeps open."""
PAGE = 1_000


class SessionLogs:
    """The sessions of an adapter by chat id.

    The most recently used ones stay open, so that an append need not look up its conversation.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._log = lru_cache(LOGS)(lambda chat_id: SessionLog(opened.memory, chat_id))

    def __getitem__(self, chat_id: str) -> SessionLog:
        """Return a session. Raises AlreadyClosed if the adapter is closed."""
        self._opened.ensure_open()
        return self._log(chat_id)


def chat_id_of(*parts: str, prefix: str = "") -> str:
    """Return the chat id of a session, made of one or more parts that the framework gives.

    The prefix separates sessions of frameworks that could not read each other's items. Raises Invalid if a part is not
    text, is blank, or has a control character, and if the id is too long.
    """
    for part in parts:
        if not isinstance(part, str):
            raise Invalid(f"a session id must be text, not {type(part).__name__}")
    found = parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False)
    if prefix and found.strip():
        found = f"{prefix}:{found}"
    if len(found) > CHAT_ID_LENGTH:
        raise Invalid(f"the session id has {len(found):,} characters; at most {CHAT_ID_LENGTH} are allowed")
    return found


def chat_ids(memory: Memory) -> list[str]:
    """Return the chat ids of all conversations of an agent, those of the newest ones first."""
    found: dict[str, None] = {}
    before = None
    while page := memory.conversations.list(True, limit=PAGE, before=before):
        found.update({info.chat_id: None for info in page if info.chat_id is not None})
        before = page[-1]
    return list(found)
