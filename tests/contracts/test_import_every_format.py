"""Every format as it comes: as a zip and as a folder, with files that belong to no format, twice, and damaged."""

import json
import os
import struct
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contracts.test_import_exports import CHATGPT, CLAUDE, chat, laid_out, node, packed, said
from contracts.test_import_note_apps import BASIC_MEMORY, LOGSEQ, NOTION
from contracts.test_import_other_systems import ACTIVITY, LETTA
from surfaces.test_imports_are_found import CHATS, ENTITY

import recollect
from recollect.clock import FixedClock
from recollect.errors import Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Format

IN_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what has nothing to do with the database."""
WRITTEN = 1_462_363_200
"""When the files were modified: on 4 May 2016."""
OBSIDIAN = {
    "Boat/Mast.md": "---\ntags: [boat]\naliases: spar\nstatus: draft\n---\nOf spruce, see [[Winch]] ![[mast.png]]\n",
    "Boat/Winch.md": "#boat/gear The pawl is worn. ^pawl\n",
    "Daily/2016-05-04.md": "- [ ] grease the [[Winch#pawl]]\n",
    "Map.canvas": "{}",
    "empty.md": "\n",
}
EXPORTS: Mapping[Format, tuple[Mapping[str, object], dict[str, int], set[str]]] = {
    Format.CHATGPT: (CHATGPT, {"conversations": 3, "messages": 7, "entries": 3}, {"Chat harbour", "Chat photo"}),
    Format.CLAUDE: (CLAUDE, {"conversations": 2, "messages": 3, "entries": 4}, {"Knots", "Claude memory"}),
    Format.CLAUDE_CODE: (CHATS[Format.CLAUDE_CODE], {"conversations": 1, "messages": 2}, set()),
    Format.CODEX: (CHATS[Format.CODEX], {"conversations": 1, "messages": 2}, set()),
    Format.GEMINI: (
        {"Takeout/My Activity/Gemini Apps/MyActivity.json": ACTIVITY},
        {"conversations": 2, "messages": 5},
        set(),
    ),
    Format.LETTA: ({"sam.af": LETTA}, {"conversations": 1, "messages": 4, "entries": 2}, {"Sam", "Sam/human"}),
    Format.MEM0: (
        {"mem0.json": {"results": [{"id": "1", "memory": "Ana sails", "created_at": "2016-05-04T10:00:00Z"}]}},
        {"entries": 1},
        set(),
    ),
    Format.MCP_MEMORY: ({"memory.jsonl": f"{json.dumps(ENTITY)}\n"}, {"entries": 1}, {"key"}),
    Format.OPENCLAW: (
        {"MEMORY.md": "Ana sails.\n", "memory/2016-05-03.md": "Rain.\n", "SOUL.md": "Be kind.\n"},
        {"entries": 2},
        {"OpenClaw MEMORY"},
    ),
    Format.NOTION: (NOTION, {"entries": 5}, {"Boat trip", "Dune"}),
    Format.LOGSEQ: (LOGSEQ, {"entries": 3}, {"Ada Lovelace", "2024-03-05"}),
    Format.BASIC_MEMORY: (BASIC_MEMORY, {"entries": 2}, {"Grinding"}),
    Format.OBSIDIAN: (OBSIDIAN, {"entries": 3}, {"Mast", "Winch", "2016-05-04"}),
    Format.MEMORY_FOLDER: (
        {"_project.md": "The boat", "ana/lessons.md": "<!-- id:1 -->\n## 2016-05-04T10:00 · #winch\n\nGrease it.\n"},
        {"entries": 1},
        set(),
    ),
}


def state(mem: Memory) -> tuple[list[Any], list[Any]]:
    """Everything of an import that a person sees: notes and conversations."""
    notes = [
        (one.name, one.content, one.tags, one.aliases, one.category, one.context, one.created_at, one.origin)
        for one in mem.list(limit=500, include_past=True)
    ]
    talks = [
        (
            info.chat_id,
            info.title,
            info.model_id,
            info.started_at,
            info.ended_at,
            [
                (one.type, one.content, one.speaker, one.internal, one.created_at)
                for one in mem.conversations.get(info.id).events()
            ],
        )
        for info in mem.conversations.list(limit=500)
    ]
    return sorted(notes, key=repr), sorted(talks, key=repr)


def zipped(path: Path, folder: Path) -> Path:
    """Pack a folder with the times of its files in UTC, a link, and a path that leads out of it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_symlink():
                info = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                info.external_attr = 0o120777 << 16
                archive.writestr(info, "/etc/passwd")
            elif file.is_file():
                info = zipfile.ZipInfo(file.relative_to(folder).as_posix(), (1999, 1, 1, 0, 0, 0))
                info.extra = struct.pack("<HH2x", 1, 2) + struct.pack("<HHBi", 0x5455, 5, 1, WRITTEN)
                archive.writestr(info, file.read_bytes())
        archive.writestr("../outside.md", "no")
    return path


def test_every_format_is_walked() -> None:
    # An export of recollect and a single conversation are files.
    assert {*EXPORTS} == {*Format} - {Format.RECOLLECT, Format.CONVERSATION}


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_zip_and_a_folder_are_read_alike_once_and_what_is_left_out_is_reported(
    kind: Format, home: Home, mem: Memory, clock: FixedClock, tmp_path: Path
) -> None:
    files, expected, titles = EXPORTS[kind]
    folder = laid_out(tmp_path / "export", {**files, "pictures/pier.png": b"PNG"})
    for file in folder.rglob("*"):
        os.utime(file, (WRITTEN, WRITTEN))
    (folder / "pictures" / "linked.md").symlink_to(tmp_path)
    path = zipped(tmp_path / "export.zip", folder)

    dry = home.import_(path, agent="ana", dry_run=True)
    assert state(mem) == ([], [])
    done = home.import_(path, agent="ana")
    assert (dry.format, done.format, dry.parts) == (kind, kind, done.parts)
    assert next(dict(part.added) for part in done.parts if part.where == "default/ana") == expected
    notes, talks = state(mem)
    assert titles <= {one[0] for one in notes} | {one[1] for one in talks}
    assert any(".png" in one for one in done.remarks)
    assert any(one.startswith("1 file was left out, because their path") for one in done.remarks)
    assert any(one.startswith("1 link was left out") for one in done.remarks)
    assert not home.import_(path, agent="ana").changed
    assert not home.import_(folder, agent="ana").changed
    assert state(mem) == (notes, talks)

    with recollect.open(tmp_path / "other.db", clock=clock) as other:
        again = other.import_(folder, agent="ana")
        assert state(other.agent("ana")) == (notes, talks)
    assert again.parts == done.parts
    assert any(".png" in one or "pier" in one for one in again.remarks)
    assert any("linked.md" in one for one in again.remarks)

    cut = tmp_path / "cut.zip"
    cut.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(Invalid, match=r"cut\.zip is damaged"):
        home.import_(cut, agent="ana")
    assert state(mem) == (notes, talks)
    assert home.check().findings == ()


@IN_A_FILE
def test_a_time_without_a_zone_in_a_zip_is_local(home: Home, mem: Memory, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "vault.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("Mast.md", (2016, 5, 4, 12, 0, 0)), "Of spruce.")
        archive.writestr(zipfile.ZipInfo("2015-03-02 at sea.md", (2016, 5, 4, 12, 0, 0)), "Fog.")
        archive.writestr(zipfile.ZipInfo("Odd.md", (1980, 0, 0, 0, 0, 0)), "No such day.")
    home.import_(tmp_path / "vault.zip", agent="ana")
    assert mem.get("Mast").created_at == round(time.mktime((2016, 5, 4, 12, 0, 0, 0, 0, -1))) * 1000
    assert mem.get("2015-03-02 at sea").created_at == 1_425_254_400_000
    assert mem.get("Odd").content == "No such day."


@IN_A_FILE
def test_an_export_in_several_zips_is_imported_as_their_folder(home: Home, mem: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    (folder / "manifest-1.json").write_text('{"data_files": []}')
    packed(folder / "conversations-000.zip", {"conversations.json": CLAUDE["conversations.json"]})
    files = [{"path": "/people.md", "content": "Ada builds engines."}, {"path": "/empty.md", "content": ""}]
    packed(folder / "memories-000.zip", {"memories/x.json": {"account_uuid": "x", "memory_files": files}})
    design = {
        "uuid": "d-1",
        "title": "A pennant",
        "created_at": "2026-04-01T10:00:00Z",
        "messages": [
            {"uuid": "m1", "role": "user", "content": {"content": "Draw it.", "attachments": [{"name": "old.svg"}]}},
            {
                "uuid": "m2",
                "role": "assistant",
                "created_at": "2026-04-01T10:00:09Z",
                "content": {"contentBlocks": [{"type": "thinking", "text": "red"}, {"type": "text", "text": "Done."}]},
            },
        ],
    }
    packed(folder / "design_chats-000.zip", {"design_chats/d.json": design})
    done = home.import_(folder, agent="ana")
    assert done.format is Format.CLAUDE
    assert dict(done.parts[0].added) == {"conversations": 3, "messages": 5, "entries": 1}
    assert mem.get("Claude memory /people.md").content == "Ada builds engines."
    (talk,) = [one for one in mem.conversations.list() if one.chat_id == "d-1"]
    said_there = [one.content for one in mem.conversations.get(talk.id).events()]
    assert (talk.title, said_there) == ("A pennant", ["Draw it.\n\n[old.svg]", "Done."])
    assert "left out of messages: 2 thinking, 1 tool_use" in done.remarks
    assert not home.import_(folder, agent="ana").changed


@IN_A_FILE
def test_a_zip_among_notes_is_an_attachment(home: Home, mem: Memory, tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "vault", OBSIDIAN)
    packed(folder / "Boat" / "plans.zip", {"Secret.md": "not a note of this folder"})
    done = home.import_(folder, agent="ana")
    assert {one.name for one in mem.list()} == {"Mast", "Winch", "2016-05-04"}
    assert "files that were not read: 1 .canvas, 1 .zip; links to them are kept" in done.remarks


@IN_A_FILE
def test_documents_that_claude_wrote_are_part_of_the_message(home: Home, mem: Memory, tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "Here it is."},
        {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "title": "Log", "content": "Day 1"}},
        {"type": "tool_use", "name": "artifacts", "input": {"command": "update", "old_str": "1", "new_str": "2"}},
        {"type": "tool_use", "name": "create_file", "input": {"path": "plan.md", "file_text": "# Sail"}},
    ]
    talk = {"uuid": "c", "name": "Log", "chat_messages": [{"uuid": "m", "sender": "assistant", "content": parts}]}
    done = home.import_(laid_out(tmp_path / "x", {"conversations.json": [talk]}), agent="ana")
    (info,) = mem.conversations.list()
    (event,) = mem.conversations.get(info.id).events()
    assert event.content == "Here it is.\n\n[Log]\nDay 1\n\n[plan.md]\n# Sail"
    assert "left out of messages: 1 tool_use" in done.remarks


@IN_A_FILE
def test_the_newest_list_of_memories_of_chatgpt_becomes_notes(home: Home, mem: Memory, tmp_path: Path) -> None:
    def listed(day: int, text: str) -> dict[str, Any]:
        content = {"content_type": "model_editable_context", "model_set_context": text}
        context = said("assistant", "", 1_700_000_000 + day * 86_400, content=content)
        return chat(f"chat {day}", [node("a", None, context)], "a")

    chats = [
        listed(2, "1. [2023-05-01]. Sails a Laser.\n2. Lives in Lisbon.\n"),
        listed(1, "1. Lives in Porto."),
        listed(3, ""),
    ]
    home.import_(laid_out(tmp_path / "x", {"conversations.json": chats}), agent="ana")
    notes = {one.content: (one.tags, one.created_at) for one in mem.list()}
    assert notes == {
        "Sails a Laser.": (("memory",), 1_682_899_200_000),
        "Lives in Lisbon.": (("memory",), 1_700_172_800_000),
    }


@IN_A_FILE
def test_marks_of_sources_and_thoughts_of_chatgpt_are_left_out(home: Home, mem: Memory, tmp_path: Path) -> None:
    recap = {"content_type": "reasoning_recap", "content": "Thought for 3 seconds"}
    nodes = [
        node("u", None, said("user", "Which port?", 1_700_000_000)),
        node("t", "u", said("assistant", "", 1_700_000_001, content=recap)),
        node(
            "a",
            "t",
            said("assistant", "Sines \ue200cite\ue202turn0search1\ue201, south【4:2†map.pdf】.", 1_700_000_002),
        ),
    ]
    done = home.import_(laid_out(tmp_path / "x", {"conversations.json": [chat("c", nodes, "a")]}), agent="ana")
    (info,) = mem.conversations.list()
    assert [one.content for one in mem.conversations.get(info.id).events()] == ["Which port?", "Sines, south."]
    assert "left out of messages: 1 reasoning_recap" in done.remarks


@IN_A_FILE
def test_conversations_of_gemini_in_a_workspace_account_are_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    talk = {
        "title": "Reefing",
        "creation_time": "2026-03-01T10:00:00Z",
        "conversation_turns": [
            {"user_turn": {"prompt": "How?", "turn_index": 0, "turn_last_modified": "2026-03-01T10:00:01Z"}},
            {
                "system_turn": {
                    "text": [{"data": "Lower the halyard."}, {"cards": [{"content": "Then tie."}]}],
                    "images": ["conversation_1_turn_1_images_0"],
                    "model_thoughts": [{"headline": "knots"}],
                    "turn_last_modified": "2026-03-01T10:00:09Z",
                }
            },
            {"user_turn": {"prompt": "No.", "turn_deleted_time": "2026-03-01T11:00:00Z"}},
        ],
    }
    history = "Takeout/Gemini/Conversation History"
    path = packed(
        tmp_path / "takeout.zip",
        {f"{history}/conversation_1.txt": talk, f"{history}/conversation_2.txt": talk, "Takeout/readme.txt": "Hello"},
    )
    done = home.import_(path, agent="ana")
    assert (done.format, dict(done.parts[0].added)) == (Format.GEMINI, {"conversations": 2, "messages": 4})
    info = mem.conversations.list()[0]
    events = list(mem.conversations.get(info.id).events())
    answer = "Lower the halyard.\nThen tie.\n[conversation_1_turn_1_images_0]"
    assert (info.title, [one.content for one in events]) == ("Reefing", ["How?", answer])
    assert events[1].created_at == 1_772_359_209_000
    assert "left out of messages: 2 deleted turn, 2 thought" in done.remarks
    assert "1 other file was not read: Takeout/readme.txt" in done.remarks
    assert not home.import_(path, agent="ana").changed
