"""Our tests of the memory for AutoGen, with the real package."""

from pathlib import Path

import pytest
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import SystemMessage, UserMessage
from page_program import run_twice

import recollect
from recollect.adapters.autogen import RecollectMemory

PORT = MemoryContent(
    content="Staging listens on port 8080.", mime_type=MemoryMimeType.TEXT, metadata={"source": "handbook"}
)


async def test_what_is_added_is_an_entry_and_a_query_returns_it_as_it_was(location: str) -> None:
    memory = RecollectMemory(location)
    data = {"service": "billing", "port": 9090}
    await memory.add(PORT)
    await memory.add(MemoryContent(content=data, mime_type=MemoryMimeType.JSON))
    (found, *_) = (await memory.query("which port has staging?")).results
    assert (found.content, found.metadata) == (PORT.content, PORT.metadata)
    (found, *_) = (await memory.query(MemoryContent(content="billing service", mime_type="text/plain"))).results
    assert (found.content, found.mime_type) == (data, "application/json")
    with recollect.open(location) as home:
        assert home.agent("default").recall("port of staging")[0].entry.content == PORT.content
        assert "8080" in home.agent("default").context("which port has staging?").text
    await memory.close()


async def test_the_context_of_a_model_gets_what_the_memory_has_about_its_last_message(location: str) -> None:
    with recollect.open(location) as home:
        home.agent("default").remember("The staging API listens on port 8080.", name="staging-port")
    memory, context = RecollectMemory(location), BufferedChatCompletionContext(buffer_size=5)
    assert (await memory.update_context(context)).memories.results == []
    await context.add_message(UserMessage(content="Which port does staging listen on?", source="user"))
    await memory.update_context(context)
    added = (await context.get_messages())[-1]
    assert isinstance(added, SystemMessage)
    assert "1. The staging API listens on port 8080." in added.content
    await memory.close()


async def test_clear_moves_to_the_trash_only_what_the_framework_added(location: str) -> None:
    memory = RecollectMemory(location)
    with recollect.open(location) as home:
        mem = home.agent("default")
        mem.remember("a note of the user", name="note")
        await memory.add(PORT)
        await memory.clear()
        assert [entry.name for entry in mem.list()] == ["note"]
        assert len(mem.trash()) == 1
    await memory.close()


async def test_a_component_is_dumped_and_loaded(tmp_path: Path) -> None:
    memory = RecollectMemory(tmp_path / "memory.db", limit=3)
    await memory.add(PORT)
    again = Memory.load_component(memory.dump_component())
    assert isinstance(again, RecollectMemory)
    assert len((await again.query("which port has staging?")).results) == 1
    await memory.close(), await again.close()


@pytest.mark.parametrize(
    "bad",
    [
        MemoryContent(content=b"\0\xff", mime_type=MemoryMimeType.BINARY),
        MemoryContent(content={"odd": float("nan")}, mime_type=MemoryMimeType.JSON),
        MemoryContent(content={"odd": object()}, mime_type=MemoryMimeType.JSON),
        MemoryContent(content="text", mime_type=MemoryMimeType.TEXT, metadata={"odd": object()}),
        MemoryContent(content=" ", mime_type=MemoryMimeType.TEXT),
        MemoryContent(content="\ud800", mime_type=MemoryMimeType.TEXT),
    ],
)
async def test_a_content_that_cannot_be_stored_is_refused(location: str, bad: MemoryContent) -> None:
    memory = RecollectMemory(location)
    with pytest.raises(recollect.Invalid):
        await memory.add(bad)
    with recollect.open(location) as home:
        assert home.agent("default").list() == []
    await memory.close()


@pytest.mark.parametrize("bad", ["x" * 10_000, "../ana", "", "a\nb"])
def test_the_name_of_an_agent_is_never_a_path(tmp_path: Path, bad: str) -> None:
    if bad:
        with pytest.raises(recollect.Invalid):
            RecollectMemory(tmp_path / "memory.db", agent=bad)
    assert all(path.name.startswith("memory.db") for path in tmp_path.iterdir())


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(tmp_path: Path) -> None:
    first, second = run_twice("autogen.md", tmp_path)
    assert first == ["nothing stored yet"]
    assert second == ["Stored memories, most relevant first:", "1. Staging listens on port 8080."]
