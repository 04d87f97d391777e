"""Exports as they are downloaded: a zip, or the folder in it, of ChatGPT and Claude."""

import io
import json
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recollect.clock import FixedClock
from recollect.errors import Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Imported
from recollect.transfer import formats, unpacking

IN_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what has nothing to do with the database."""


def packed(path: Path, files: Mapping[str, object]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def laid_out(folder: Path, files: Mapping[str, object]) -> Path:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(
            content
            if isinstance(content, bytes)
            else (content if isinstance(content, str) else json.dumps(content)).encode()
        )
    return folder


def added(done: Imported) -> dict[str, int]:
    return dict(done.parts[0].added) if done.parts else {}


def node(identity: str, parent: str | None, message: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"id": identity, "parent": parent, "children": [], "message": message}


def said(role: str, text: str, at: float, **more: Any) -> dict[str, Any]:
    return {
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "metadata": {},
        **more,
    }


def chat(identity: str, nodes: list[dict[str, Any]], current: str, **more: Any) -> dict[str, Any]:
    return {
        "conversation_id": identity,
        "title": f"Chat {identity}",
        "create_time": 1_700_000_000,
        "current_node": current,
        "mapping": {one["id"]: one for one in nodes},
        **more,
    }


def instructions(about: str, how: str) -> dict[str, Any]:
    content = {"content_type": "user_editable_context", "user_profile": about, "user_instructions": how}
    return said("user", "", 1_700_000_000, content=content, metadata={"is_visually_hidden_from_conversation": True})


HARBOUR = chat(
    "harbour",
    [
        node("root", None),
        node("u1", "root", said("user", "Which harbour has a crane?", 1_700_000_001)),
        node("a1", "u1", said("assistant", "The northern harbour.", 1_700_000_002)),
        node("a2", "u1", said("assistant", "The southern harbour has one.", 1_700_000_003)),
        node("u2", "a1", said("user", "And a lighthouse?", 1_700_000_004)),
    ],
    "a2",
    gizmo_id="g-p-0123456789abcdef",
)
PHOTO = chat(
    "photo",
    [
        node("u1", None, instructions("I am a sailor.", "Answer briefly.")),
        node(
            "u2",
            "u1",
            said(
                "user",
                "What is in these?",
                1_700_100_000,
                metadata={"attachments": [{"id": "file-1", "name": "pier at dawn.jpg"}, {"name": "log.pdf"}]},
            ),
        ),
        node("a1", "u2", said("assistant", "Sails on a Laser dinghy.", 1_700_100_001, recipient="bio")),
        node("a2", "a1", said("assistant", "A pier.", 1_700_100_002)),
    ],
    "a2",
)
CHATGPT = {
    "conversations-000.json": [HARBOUR],
    "conversations-001.json": [PHOTO],
    "user.json": {"id": "user-1", "email": "ana@example.com"},
    "chat.html": "<html></html>",
    "dalle-generations/file-7.webp": b"RIFF",
}


def test_a_chat_without_a_title_and_its_branches_are_called_after_what_the_user_said_first(
    home: Home, mem: Memory, tmp_path: Path
) -> None:
    content = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer"}, "What is this rope?"],
    }
    nodes = [
        node("u1", None, said("user", "", 1_700_100_000, content=content)),
        node("a1", "u1", said("assistant", "A halyard.", 1_700_100_001)),
        node("a2", "u1", said("assistant", "A sheet.", 1_700_100_002)),
    ]
    spoken = {"type": "voice_note", "title": "Voice", "text": "Which knot holds best?"}
    claude = {
        "uuid": "c1",
        "name": "",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "", "content": [spoken], "parent_message_uuid": None},
            {"uuid": "m2", "sender": "assistant", "text": "A bowline.", "parent_message_uuid": "m1"},
            {"uuid": "m3", "sender": "assistant", "text": "A hitch.", "parent_message_uuid": "m1"},
        ],
    }
    home.import_(
        packed(tmp_path / "chatgpt.zip", {"conversations.json": [chat("rope", nodes, "a2", title=None)]}), agent="ana"
    )
    home.import_(packed(tmp_path / "claude.zip", {"conversations.json": [claude]}), agent="ana")
    titles = {info.chat_id: info.title for info in mem.conversations.list()}
    assert titles == {
        "rope": "What is this rope?",
        "rope/a1": "What is this rope? (another branch)",
        "c1": "Which knot holds best?",
        "c1/m2": "Which knot holds best? (another branch)",
    }


def test_a_zip_of_chatgpt_is_read_as_it_comes(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = packed(tmp_path / "chatgpt.zip", CHATGPT)
    dry = home.import_(path, agent="ana", dry_run=True)
    assert mem.conversations.list() == []
    done = home.import_(path, agent="ana")
    assert str(done.format) == "chatgpt"
    assert added(dry) == added(done) == {"conversations": 3, "messages": 7, "entries": 3}
    titles = {info.chat_id: info.closing_summary for info in mem.conversations.list()}
    assert titles == {"harbour": "Chat harbour", "harbour/a1": "Chat harbour (another branch)", "photo": "Chat photo"}
    assert any("1 .webp" in remark for remark in done.remarks)
    assert any("user.json" in remark for remark in done.remarks)
    assert all(str(tmp_path) not in remark and "/tmp" not in remark for remark in done.remarks)
    again = home.import_(path, agent="ana")
    assert not again.changed
    assert home.check().findings == ()


def test_what_was_said_is_found_at_once(home: Home, mem: Memory, tmp_path: Path) -> None:
    home.import_(packed(tmp_path / "chatgpt.zip", CHATGPT), agent="ana")
    assert mem.conversations.search("southern")[0].event.content == "The southern harbour has one."
    assert mem.conversations.search("pier at dawn")[0].event.content.endswith("[pier at dawn.jpg]\n[log.pdf]")
    assert "southern harbour" in mem.context("which harbour has a crane?").text
    assert mem.recall("dinghy")[0].entry.content == "Sails on a Laser dinghy."


@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)
def test_another_agent_and_workspace_see_nothing_of_an_import(home: Home, tmp_path: Path) -> None:
    path = packed(tmp_path / "chatgpt.zip", CHATGPT)
    home.import_(path, agent="ana", workspace="default")
    for other in (home.agent("bob"), home.agent("ana", "elsewhere")):
        assert other.conversations.list() == []
        assert other.conversations.search("southern crane") == []
        assert other.recall("dinghy") == []
        assert "harbour" not in other.context("which harbour has a crane?").text


def test_an_import_makes_no_hand_off_and_replaces_none(
    home: Home, mem: Memory, clock: FixedClock, tmp_path: Path
) -> None:
    conv = mem.conversations.start()
    conv.user("The gate is next.")
    conv.end()
    before = [entry.id for entry in mem.list(category="handoffs")]
    home.import_(packed(tmp_path / "chatgpt.zip", CHATGPT), agent="ana")
    home.import_(packed(tmp_path / "claude.zip", CLAUDE), agent="ana")
    assert home.jobs.run("extract").error is None
    assert [entry.id for entry in mem.list(category="handoffs")] == before
    assert "The gate is next." in mem.context("").section("Last Session")[0].text


@IN_A_FILE
def test_instructions_memories_and_projects_of_chatgpt_become_notes(home: Home, mem: Memory, tmp_path: Path) -> None:
    older = chat("older", [node("u0", None, instructions("I am a sailor.", "Answer at length."))], "u0")
    home.import_(laid_out(tmp_path / "export", {**CHATGPT, "conversations-002.json": [older]}), agent="ana")
    note = mem.get("ChatGPT custom instructions")
    assert "Answer briefly." in note.content or "Answer at length." in note.content
    assert mem.get("ChatGPT project g-p-0123456789abcdef").content == "Chats of this project:\n- Chat harbour"
    assert mem.recall("Laser")[0].entry.tags == ("memory",)


@IN_A_FILE
def test_instructions_that_changed_are_kept_with_their_dates(home: Home, mem: Memory, tmp_path: Path) -> None:
    def at(day: int, how: str) -> dict[str, Any]:
        return chat(
            f"chat {day}", [node("u", None, instructions("", how))], "u", create_time=1_700_000_000 + day * 86_400
        )

    home.import_(laid_out(tmp_path / "x", {"conversations.json": [at(2, "Be brief."), at(1, "Be long.")]}), agent="ana")
    assert mem.get("ChatGPT custom instructions").content == "Be brief."
    (former,) = [entry for entry in mem.list(include_past=True) if entry.content == "Be long."]
    assert former.valid_until == 1_700_172_800_000
    more = [at(3, "Be kind."), at(2, "Be brief."), at(1, "Be long.")]
    home.import_(laid_out(tmp_path / "y", {"conversations.json": more}), agent="ana")
    assert mem.get("ChatGPT custom instructions").content == "Be kind."
    assert not home.import_(tmp_path / "y", agent="ana").changed


def test_a_newer_export_adds_what_is_new_to_the_same_conversation(home: Home, mem: Memory, tmp_path: Path) -> None:
    home.import_(packed(tmp_path / "first.zip", CHATGPT), agent="ana")
    grown = json.loads(json.dumps(HARBOUR))
    grown["mapping"]["u3"] = node("u3", "a2", said("user", "How tall is the mast?", 1_700_000_009))
    grown["mapping"]["a3"] = node("a3", "u2", said("assistant", "On the cape.", 1_700_000_010))
    grown["current_node"] = "u3"
    done = home.import_(packed(tmp_path / "next.zip", {"conversations.json": [grown]}), agent="ana")
    assert (added(done), dict(done.parts[0].changed)) == ({"messages": 2}, {"conversations": 2})
    talks = {info.chat_id: mem.conversations.get(info.id) for info in mem.conversations.list()}
    assert [event.content for event in talks["harbour"].events()][-1] == "How tall is the mast?"
    assert [event.content for event in talks["harbour/a1"].events()][-1] == "On the cape."
    assert talks["harbour"].info.ended_at == 1_700_000_009_000
    assert mem.conversations.search("mast")[0].event.content == "How tall is the mast?"
    assert home.check().findings == ()


def test_a_chat_whose_current_branch_changes_is_never_there_twice(home: Home, mem: Memory, tmp_path: Path) -> None:
    first, second = json.loads(json.dumps(HARBOUR)), json.loads(json.dumps(HARBOUR))
    second["current_node"] = "u2"
    third = json.loads(json.dumps(second))
    third["mapping"]["a4"] = node("a4", "u2", said("assistant", "Yes, a white one.", 1_700_000_020))
    third["current_node"] = "a4"
    for number, export in enumerate([first, second, third, first, third, second]):
        home.import_(packed(tmp_path / f"{number}.zip", {"conversations.json": [export]}), agent="ana")
    contents = [event.content for info in mem.conversations.list() for event in mem.conversations.get(info.id).events()]
    assert sorted(contents) == [
        "And a lighthouse?",
        "The northern harbour.",
        "The southern harbour has one.",
        "Which harbour has a crane?",
        "Yes, a white one.",
    ]


CLAUDE = {
    "conversations.json": [
        {
            "uuid": "c-1",
            "name": "Knots",
            "created_at": "2026-03-01T10:00:00Z",
            "chat_messages": [
                {
                    "uuid": "m1",
                    "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
                    "sender": "human",
                    "text": "Which knot for a mooring?",
                    "created_at": "2026-03-01T10:00:01Z",
                    "files_v2": [{"file_name": "mooring.png", "file_kind": "image"}],
                },
                {
                    "uuid": "m2",
                    "parent_message_uuid": "m1",
                    "sender": "assistant",
                    "created_at": "2026-03-01T10:00:02Z",
                    "content": [
                        {"type": "thinking", "thinking": "bowline or hitch"},
                        {"type": "text", "text": "A bowline."},
                        {"type": "tool_use", "name": "web_search", "input": {}},
                    ],
                },
                {"uuid": "m3", "parent_message_uuid": "m1", "sender": "assistant", "text": "A cleat hitch."},
            ],
        }
    ],
    "memories.json": [
        {
            "conversations_memory": "**Work**\n\nAna repairs boats.",
            "project_memories": {"p-1": "The hull is of oak."},
            "account_uuid": "x",
        }
    ],
    "projects.json": [
        {
            "uuid": "p-1",
            "name": "Restoration",
            "description": "The old cutter",
            "prompt_template": "Speak like a shipwright.",
            "created_at": "2026-01-02T00:00:00Z",
            "docs": [{"uuid": "d-1", "filename": "timber.md", "content": "Larch for the planks."}],
        },
        {"uuid": "p-2", "name": "How to use Claude", "is_starter_project": True, "docs": []},
    ],
    "users.json": [{"uuid": "x", "full_name": "Ana"}],
}


def test_a_zip_of_claude_is_read_as_it_comes(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = packed(tmp_path / "claude.zip", CLAUDE)
    done = home.import_(path, agent="ana")
    assert str(done.format) == "claude"
    assert added(done) == {"conversations": 2, "messages": 3, "entries": 4}
    assert mem.get("Claude memory").content == "**Work**\n\nAna repairs boats."
    assert mem.get("Claude memory of Restoration").content == "The hull is of oak."
    assert mem.get("Claude project Restoration").content == "The old cutter\n\nSpeak like a shipwright."
    assert mem.get("Restoration/timber.md").content == "Larch for the planks."
    talks = {info.chat_id: mem.conversations.get(info.id) for info in mem.conversations.list()}
    assert [event.content for event in talks["c-1"].events()] == [
        "Which knot for a mooring?\n\n[mooring.png]",
        "A cleat hitch.",
    ]
    assert [event.content for event in talks["c-1/m2"].events()] == ["A bowline."]
    assert "left out of messages: 1 thinking, 1 tool_use" in done.remarks
    assert any("users.json" in remark for remark in done.remarks)
    assert not home.import_(path, agent="ana").changed


@IN_A_FILE
def test_projects_and_memories_in_folders_of_their_own_are_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    folder = laid_out(
        tmp_path / "claude",
        {"projects/p-1.json": CLAUDE["projects.json"][0], "memories/x.json": CLAUDE["memories.json"][0]},
    )
    assert added(home.import_(folder, agent="ana")) == {"entries": 4}


# Zips that mean harm


@IN_A_FILE
def test_a_zip_writes_nothing_outside_its_folder(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "harm.zip"
    link = zipfile.ZipInfo("conversations-001.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([HARBOUR]))
        for name in ("../up.json", "/absolute.json", "a/../../up.json", "C:\\drive.json", "..\\up.json"):
            archive.writestr(name, "[]")
        archive.writestr(link, "/etc/passwd")
    done = home.import_(path, agent="ana")
    assert added(done)["conversations"] == 2
    assert "5 files were left out, because their paths lead out of the zip: '../up.json', …" in done.remarks
    assert "1 link was left out: 'conversations-001.json'" in done.remarks
    assert [one.name for one in tmp_path.rglob("*.json")] == []


@IN_A_FILE
def test_a_zip_that_unpacks_to_far_more_than_it_holds_is_refused(
    home: Home, mem: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "UNPACKED", 100_000)
    bomb = packed(tmp_path / "bomb.zip", {"conversations.json": "[" + " " * 60_000_000 + "]"})
    with pytest.raises(Invalid, match=r"bomb.zip unpacks to more than .* nothing was imported"):
        home.import_(bomb, agent="ana")
    nested = packed(tmp_path / "nested.zip", {"part.zip": bomb.read_bytes()})
    with pytest.raises(Invalid, match=r"nested.zip unpacks to more than"):
        home.import_(nested, agent="ana")
    monkeypatch.setattr(unpacking, "FILES", 3)
    with pytest.raises(Invalid, match="contains more than 3 files"):
        home.import_(packed(tmp_path / "many.zip", {f"{n}.md": "x" for n in range(4)}), agent="ana")
    assert mem.conversations.list() == []


@IN_A_FILE
def test_zips_in_a_zip_are_unpacked_only_so_deep(home: Home, tmp_path: Path) -> None:
    path = packed(tmp_path / "0.zip", {"conversations.json": [HARBOUR]})
    for depth in (1, 2, 3):
        path = packed(tmp_path / f"{depth}.zip", {"part.zip": path.read_bytes()})
    assert added(home.import_(tmp_path / "2.zip", agent="ana"))["conversations"] == 2
    with pytest.raises(Invalid, match="none of the formats"):
        home.import_(tmp_path / "3.zip", agent="bob")


@IN_A_FILE
@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_of_any_compression_is_refused(home: Home, tmp_path: Path, compression: int) -> None:
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("note.md", "Ana runs the harbour. " * 1_000)
    raw = bytearray(path.read_bytes())
    raw[60:80] = b"\xff" * 20
    path.write_bytes(raw)
    with pytest.raises(Invalid, match="is damaged"):
        home.import_(path, agent="ana")
    assert home.agent("ana").list() == []


@IN_A_FILE
def test_a_file_in_a_zip_that_is_also_a_folder_is_left_out_alone(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("harbour.md", "harbour.md/quay.md", "pier.md"):
            archive.writestr(name, f"Ana owns {name}.")
    done = home.import_(path, agent="ana")
    assert [entry.name for entry in mem.list()] == ["pier", "harbour"]
    assert "1 file was left out, because the zip has another of the same path: 'harbour.md/quay.md'" in done.remarks


@IN_A_FILE
def test_a_damaged_zip_is_refused_and_nothing_is_imported(home: Home, mem: Memory, tmp_path: Path) -> None:
    whole = packed(tmp_path / "whole.zip", {"conversations.json": [HARBOUR, PHOTO]}).read_bytes()
    cut, flipped = tmp_path / "cut.zip", tmp_path / "flipped.zip"
    cut.write_bytes(whole[:-40])
    flipped.write_bytes(whole[:200] + bytes([whole[200] ^ 0xFF]) + whole[201:])
    for path in (cut, flipped):
        with pytest.raises(Invalid, match="is damaged"):
            home.import_(path, agent="ana")
    assert mem.conversations.list() == []


@IN_A_FILE
def test_an_encrypted_zip_says_so(home: Home, tmp_path: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("conversations.json", "[]")
    data = bytearray(raw.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    with pytest.raises(Invalid, match="is encrypted"):
        home.import_(tmp_path / "locked.zip", agent="ana")


@IN_A_FILE
def test_links_in_a_folder_are_not_followed(home: Home, mem: Memory, tmp_path: Path) -> None:
    outside = laid_out(
        tmp_path / "outside", {"conversations-001.json": [PHOTO], "deep/conversations-002.json": [PHOTO]}
    )
    folder = laid_out(tmp_path / "export", {"conversations-000.json": [HARBOUR]})
    (folder / "conversations-001.json").symlink_to(outside / "conversations-001.json")
    (folder / "deep").symlink_to(outside / "deep")
    done = home.import_(folder, agent="ana")
    assert {info.chat_id for info in mem.conversations.list()} == {"harbour", "harbour/a1"}
    assert "2 links were not followed: conversations-001.json, deep" in done.remarks


@IN_A_FILE
def test_attachments_of_an_unknown_form_are_left_out(home: Home, mem: Memory, tmp_path: Path) -> None:
    forms: list[object] = [5, "x", {"name": "x"}, [None, {"name": 7}, {"name": "map.png"}]]
    nodes = [
        node(
            str(place),
            str(place - 1) if place else None,
            said("user", f"turn {place}", place, metadata={"attachments": form}),
        )
        for place, form in enumerate(forms)
    ]
    home.import_(packed(tmp_path / "chats.zip", {"conversations.json": [chat("odd", nodes, "3")]}), agent="ana")
    (info,) = mem.conversations.list()
    turns = [event.content for event in mem.conversations.get(info.id).events()]
    assert turns[0] == "turn 0"
    assert turns[3].splitlines()[-1] == "[map.png]"


def test_an_import_that_was_killed_is_run_again_and_nothing_is_there_twice(
    home: Home, mem: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = [
        chat(f"n{n}", [node("u", None, said("user", f"number {n}", 1_700_000_000 + n))], "u", create_time=n)
        for n in range(40)
    ]
    path = packed(tmp_path / "big.zip", {"conversations-000.json": chats[:20], "conversations-001.json": chats[20:]})
    monkeypatch.setattr("recollect.transfer.importers.writing.MESSAGES", 5)
    begin, calls = formats.ImportWriter._write_chats, iter(range(5))

    def killed(writer: Any, one: Any) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        begin(writer, one)

    monkeypatch.setattr(formats.ImportWriter, "_write_chats", killed)
    with pytest.raises(KeyboardInterrupt):
        home.import_(path, agent="ana")
    monkeypatch.undo()
    there = len(mem.conversations.list(limit=100))
    assert 0 < there < 40
    assert added(home.import_(path, agent="ana"))["conversations"] == 40 - there
    assert len(mem.conversations.list(limit=100)) == 40
