"""A memory on a server, with the methods of the one in this process.

To begin with:

    from recollect.client import connect

    with connect("http://127.0.0.1:8377") as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day")
        mem.recall("when do we deploy?")[0].entry.content

What was asked for wrongly raises the same errors as the library does; what the server cannot do now is `Unavailable`.
"""

from recollect.client.remote import (
    RemoteChannels,
    RemoteConversation,
    RemoteConversations,
    RemoteHome,
    RemoteJobs,
    RemoteMemory,
    RemoteReminders,
    RemoteScratchpad,
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
    "RemoteScratchpad",
    "connect",
]
