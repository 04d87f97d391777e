"""Our tests of Claude's memory tool; the vendor's are in its source release."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from anthropic.lib.tools import ToolError
from page_program import run_twice

import recollect
from recollect.adapters.anthropic_memory import AsyncMemoryTool, MemoryTool

PORTS = "/memories/ports.md"


def create(tool: MemoryTool, path: str, text: str) -> object:
    return tool.call({"command": "create", "path": path, "file_text": text})


def test_a_file_is_an_entry_that_recall_and_context_find(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, PORTS, "The staging API listens on port 8080.\n")
    with recollect.open(location) as home:
        mem = home.agent("default")
        assert mem.get(PORTS).content == "The staging API listens on port 8080.\n"
        assert mem.recall("which port has staging?")[0].entry.name == PORTS
        assert "8080" in mem.context("which port has staging?").text
    tool.close()


def test_an_edit_has_a_history_and_a_deleted_file_can_be_restored(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, PORTS, "port 8080")
    tool.call({"command": "str_replace", "path": PORTS, "old_str": "8080", "new_str": "9090"})
    tool.call({"command": "delete", "path": PORTS})
    with pytest.raises(ToolError, match="does not exist"):
        tool.call({"command": "view", "path": PORTS})
    with recollect.open(location) as home:
        home.agent("default").restore(PORTS)
    assert "9090" in str(tool.call({"command": "view", "path": PORTS}))
    tool.close()


def test_a_renamed_file_leaves_its_path_free(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, "/memories/a/one.md", "first")
    create(tool, "/memories/a/two.md", "second")
    tool.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"})
    create(tool, "/memories/a", "a file now")
    shown = str(tool.call({"command": "view", "path": "/memories"}))
    assert [line.split("\t")[1] for line in shown.splitlines()[1:]] == [
        "/memories",
        "/memories/a",
        "/memories/b/",
        "/memories/b/one.md",
        "/memories/b/two.md",
    ]
    tool.close()


def test_a_path_that_is_taken_is_refused_and_nothing_is_stored(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, "/memories/a/one.md", "first")
    for path, text in (("/memories/a", "text"), ("/memories/a/one.md", "x" * 1_000_001)):
        with pytest.raises(ToolError, match="already exists"):
            create(tool, path, text)
    create(tool, "/memories/a/one", "a path that begins like another one")
    with recollect.open(location) as home:
        assert home.agent("default").trash() == []
    tool.close()


def test_a_file_whose_text_no_longer_holds_is_still_in_its_directory(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, "/memories/a/one.md", "first")
    with recollect.open(location) as home:
        home.agent("default").apply(recollect.Write("/memories/a/one.md", valid_until="2020-01-01"))
    assert "/memories/a/one.md" in str(tool.call({"command": "view", "path": "/memories/a"}))
    with pytest.raises(ToolError, match="already exists"):
        create(tool, "/memories/a", "text")
    tool.close()


def test_the_files_of_another_agent_and_other_entries_are_out_of_reach(location: str) -> None:
    hers, his = MemoryTool(location, agent="ana"), MemoryTool(location, agent="ben")
    create(hers, PORTS, "secret")
    with recollect.open(location) as home:
        home.agent("ben").remember("a note", name="/memories/note")
    with pytest.raises(ToolError, match="does not exist"):
        his.call({"command": "view", "path": PORTS})
    with pytest.raises(ToolError, match="does not exist"):
        his.call({"command": "delete", "path": "/memories/note"})
    his.clear_all_memory()
    assert "secret" in str(hers.call({"command": "view", "path": PORTS}))
    with recollect.open(location) as home:
        assert home.agent("ben").get("/memories/note").content == "a note"
    hers.close(), his.close()


@pytest.mark.parametrize("text", ["", "\n", "  \n\n", "a\0b", "line\r\n"])
def test_any_text_returns_unchanged(location: str, text: str) -> None:
    tool = MemoryTool(location)
    create(tool, PORTS, text)
    assert tool._files.texts() == {PORTS: text}
    tool.close()


@pytest.mark.parametrize("path", ["/memories/" + "x" * 10_000, "/memories/../../etc/passwd", "/memories/a\nb"])
def test_a_path_that_cannot_be_stored_is_refused_in_words_for_the_model(location: str, path: str) -> None:
    tool = MemoryTool(location)
    with pytest.raises(ToolError):
        create(tool, path, "text")
    tool.close()


REPLACES = """
import sys
from recollect.adapters.anthropic_memory import MemoryTool
tool = MemoryTool(sys.argv[1])
for number in range(20):
    line = f"{sys.argv[2]} {number}"
    tool.call({"command": "insert", "path": "/memories/log.md", "insert_line": 0, "insert_text": line})
tool.close()
"""


def test_two_processes_that_edit_one_file_lose_no_line(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, "/memories/log.md", "end")
    started = [subprocess.Popen([sys.executable, "-c", REPLACES, location, name]) for name in ("one", "two")]
    assert [process.wait() for process in started] == [0, 0]
    lines = tool._files.texts()["/memories/log.md"].splitlines()
    assert sorted(lines) == sorted(["end", *(f"{name} {n}" for name in ("one", "two") for n in range(20))])
    tool.close()


async def test_the_asynchronous_tool_does_the_same(location: str) -> None:
    tool = AsyncMemoryTool(location)
    await tool.call({"command": "create", "path": PORTS, "file_text": "port 8080"})
    assert "port 8080" in str(await tool.call({"command": "view", "path": PORTS}))
    await tool.close()


@pytest.mark.parametrize(
    "command",
    [
        {"command": "create", "path": PORTS, "file_text": object()},
        {"command": "create", "path": PORTS, "file_text": "\ud800"},
        {"command": "create", "path": 7, "file_text": "text"},
    ],
)
def test_a_command_that_is_malformed_is_refused_and_nothing_is_stored(location: str, command: object) -> None:
    tool = MemoryTool(location)
    with pytest.raises(ToolError):
        tool.call(command)
    assert tool._files.texts() == {}
    tool.close()


def test_line_endings_of_another_system_are_kept(location: str) -> None:
    tool = MemoryTool(location)
    create(tool, PORTS, "line1\r\nline2\r\nline3\r\n")
    tool.call({"command": "str_replace", "path": PORTS, "old_str": "line2", "new_str": "LINE2"})
    assert tool._files.texts() == {PORTS: "line1\r\nLINE2\r\nline3\r\n"}
    tool.call({"command": "insert", "path": PORTS, "insert_line": 1, "insert_text": "new"})
    assert tool._files.texts() == {PORTS: "line1\r\nnew\nLINE2\r\nline3\r\n"}
    tool.close()


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(tmp_path: Path) -> None:
    first, second = run_twice("anthropic-memory.md", tmp_path)
    assert first == ["File created successfully at: /memories/ports.md"]
    assert second == ["/memories/ports.md: Staging listens on port 8080."]


def test_a_file_larger_than_an_entry_is_edited_renamed_and_deleted_with_all_its_parts(tmp_path: Path) -> None:
    with closing(MemoryTool(tmp_path / "memory.db")) as tool:
        text = "\n".join([*(f"line {number}" for number in range(150_000)), " " * 300_000, "the end"])
        tool.call({"command": "create", "path": "/memories/huge.txt", "file_text": text})
        tool.call({"command": "str_replace", "path": "/memories/huge.txt", "old_str": "the end", "new_str": "done"})
        tool.call({"command": "rename", "old_path": "/memories/huge.txt", "new_path": "/memories/moved.txt"})
        assert tool._files.texts() == {"/memories/moved.txt": text.replace("the end", "done")}
        tool.call({"command": "delete", "path": "/memories/moved.txt"})
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.agent("default").list() == []
