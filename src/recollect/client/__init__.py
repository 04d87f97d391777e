"""HTTP client: a memory on a server, with the same methods as a memory in this process.

To begin with:

    from recollect.client import connect

    with connect("http://127.0.0.1:8377") as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day")
        mem.recall("when do we deploy?")[0].entry.content

Raises the same errors as the library; `Unavailable` if the server cannot be reached or is busy.
"""

from recollect.client.conversations import RemoteConversation, RemoteConversations, RemoteScratchpad
from recollect.client.remote import (
    RemoteChannels,
    RemoteHome,
    RemoteJobs,
    RemoteMemory,
    RemoteReminders,
    RemoteReview,
    connect,
)

__all__ = [
    "RemoteChannels",
    "RemoteConversation",
    "RemoteConversations",
    "RemoteHome",
    "RemoteJobs",
    "RemoteMemory",
    "RemoteReminders",
    "RemoteReview",
    "RemoteScratchpad",
    "connect",
]
