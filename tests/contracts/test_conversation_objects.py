"""A conversation is passed as an object, its id or its ref code, wherever the Python interface takes one."""

import asyncio

import pytest

from recollect import Memory, NotFound, aio
from recollect.home import Home


def test_a_conversation_object_is_accepted_where_an_id_is(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("The gate of the harbour is blue")
    (info,) = mem.conversations.list()
    for given in (conv, info, conv.id, conv.ref_code):
        note = mem.remember("only in this talk: the tide is low", scope="conversation", conversation=given)
        assert note.conversation_id == conv.id
        assert mem.recall("tide", conversation=given)[0].entry.content == note.content
        assert "tide is low" in mem.context("tide", conversation=given).text
        assert "tide is low" in mem.orient("tide", conversation=given).markdown
        found = mem.query("working", "keyword", "gate", conversation=given)["results"]
        assert [one["content"] for one in found] == ["The gate of the harbour is blue"]
        assert mem.conversations.get(given).id == conv.id
        assert [event.content for event in mem.conversations.detail(given)] == ["The gate of the harbour is blue"]
        mem.conversations.scratchpad(given)["plan"] = 1
    assert not mem.recall("tide")
    assert mem.conversations.erase(conv, dry_run=True).conversation_id == conv.id


def test_the_conversation_of_another_agent_opens_nothing(home: Home, mem: Memory) -> None:
    for other in (home.agent("ben"),):
        theirs = other.conversations.start()
        theirs.user("a secret of the harbour")
        other.remember("a secret tide", scope="conversation", conversation=theirs)
        assert not mem.recall("secret tide", conversation=theirs)
        assert "secret" not in mem.context("secret tide", conversation=theirs).text
        for call in (
            lambda given=theirs: mem.conversations.get(given),
            lambda given=theirs: mem.conversations.detail(given),
            lambda given=theirs: mem.conversations.scratchpad(given),
            lambda given=theirs: mem.query("working", "keyword", "secret", conversation=given),
        ):
            with pytest.raises(NotFound):
                call()


def test_an_awaitable_conversation_is_accepted_as_well(location: str) -> None:
    async def story() -> None:
        home = await aio.open(location)
        mem = await home.agent("ana")
        conv = await mem.conversations.start()
        await conv.user("The gate is blue")
        await mem.remember("the tide is low", scope="conversation", conversation=conv)
        assert (await mem.recall("tide", conversation=conv))[0].entry.conversation_id == conv.id
        assert "tide is low" in (await mem.context("tide", conversation=conv)).text
        assert (await mem.query("working", "keyword", "gate", conversation=conv))["results"]
        assert (await mem.conversations.get(conv)).id == conv.id
        await home.close()

    asyncio.run(story())
