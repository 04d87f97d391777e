"""Transcripts of coding agents: read from where the last import stopped, each message once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import RecollectError
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Format, Imported
from recollect.transfer import formats
from recollect.transfer.importers import transcripts

IN_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what has nothing to do with the database."""
SESSION = "0b6f9a0e-5e0f-4d5e-9a40-0c1f5b2f8f11"


def claude(role: str, text: Any, minute: int, **more: Any) -> str:
    return json.dumps(
        {
            "type": role,
            "sessionId": SESSION,
            "uuid": f"u{minute}",
            "timestamp": f"2026-03-01T10:{minute:02}:00.000Z",
            "message": {"role": role, "content": text},
            **more,
        }
    )


def codex(kind: str, payload: dict[str, Any], minute: int = 0) -> str:
    return json.dumps({"timestamp": f"2026-03-01T10:{minute:02}:00.000Z", "type": kind, "payload": payload})


def append(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def contents(mem: Memory) -> list[list[str]]:
    talks = [mem.conversations.get(info.id) for info in reversed(mem.conversations.list())]
    return [[event.content for event in talk.events()] for talk in talks]


def added(done: Imported) -> dict[str, int]:
    return dict(done.parts[0].added) if done.parts else {}


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """The folder in which Claude Code keeps its transcripts."""
    folder = tmp_path / "projects"
    append(
        folder / "-work-boat" / f"{SESSION}.jsonl",
        json.dumps({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}),
        claude("user", "Why does the winch jam?", 1),
        claude(
            "assistant",
            [
                {"type": "thinking", "thinking": "the pawl"},
                {"type": "text", "text": "The pawl is worn."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
            ],
            2,
        ),
        claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": "winch.py"}], 3),
        claude("user", "a subagent's task", 4, isSidechain=True),
        json.dumps({"type": "ai-title", "aiTitle": "The jammed winch", "sessionId": SESSION}),
        "{broken",
    )
    return folder


def test_a_folder_of_claude_code_becomes_conversations(home: Home, mem: Memory, projects: Path) -> None:
    dry = home.import_(projects, agent="ana", dry_run=True)
    done = home.import_(projects, agent="ana")
    assert done.format is Format.CLAUDE_CODE
    assert added(dry) == added(done) == {"conversations": 1, "messages": 2}
    (info,) = mem.conversations.list()
    assert (info.chat_id, info.title) == (SESSION, "The jammed winch")
    assert info.started_at == 1_772_359_260_000
    assert contents(mem) == [["Why does the winch jam?", "The pawl is worn."]]
    assert "left out of messages: 1 sidechain, 1 thinking, 1 tool_result, 1 tool_use" in done.remarks
    assert f"-work-boat/{SESSION}.jsonl: 1 line is not JSON, and left out" in done.remarks
    assert mem.conversations.search("pawl")[0].event.content == "The pawl is worn."
    assert not home.import_(projects, agent="ana").changed


def test_a_grown_transcript_is_read_from_where_the_import_stopped(
    home: Home, mem: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = projects / "-work-boat" / f"{SESSION}.jsonl"
    home.import_(projects, agent="ana")
    starts: list[int] = []
    records_from: Callable[..., Any] = transcripts.records_from

    def recorded(file: Any, start: int = 0) -> Any:
        starts.append(start)
        return records_from(file, start)

    monkeypatch.setattr(transcripts, "records_from", recorded)
    append(path, claude("user", "Which grease?", 5))
    half = claude("assistant", "Lithium.", 6)
    with path.open("a") as file:
        file.write(half[:30])
    assert added(home.import_(path, agent="ana")) == {"messages": 1}
    assert starts[0] == 0 < starts[1]  # the first lines tell the session
    with path.open("a") as file:
        file.write(half[30:] + "\n")
    assert added(home.import_(path, agent="ana")) == {"messages": 1}
    assert contents(mem) == [["Why does the winch jam?", "The pawl is worn.", "Which grease?", "Lithium."]]
    assert not home.import_(path, agent="ana").changed
    assert home.check().findings == ()


@IN_A_FILE
def test_a_transcript_that_was_replaced_is_compared_as_a_whole(home: Home, mem: Memory, projects: Path) -> None:
    path = projects / "-work-boat" / f"{SESSION}.jsonl"
    home.import_(projects, agent="ana")
    path.write_text("\n".join([claude("user", "Why does the winch jam?", 1), claude("user", "Well?", 7)]) + "\n")
    assert added(home.import_(path, agent="ana")) == {"messages": 1}
    assert contents(mem) == [["Why does the winch jam?", "The pawl is worn.", "Well?"]]


def test_two_imports_of_the_same_lines_at_once_store_them_once(
    home: Home, mem: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = projects / "-work-boat" / f"{SESSION}.jsonl"
    home.import_(path, agent="ana")
    append(path, claude("user", "Which grease?", 5))
    read = transcripts.read

    def together(*args: Any, **options: Any) -> Any:
        items = [*read(*args, **options)]
        monkeypatch.setattr(transcripts, "read", read)
        assert added(home.import_(path, agent="ana")) == {"messages": 1}
        return iter(items)

    monkeypatch.setattr(transcripts, "read", together)
    assert not home.import_(path, agent="ana").changed
    assert contents(mem)[0].count("Which grease?") == 1


@IN_A_FILE
def test_what_a_hook_has_stored_is_not_imported_again(home: Home, mem: Memory, projects: Path) -> None:
    talk = mem.conversations.start(chat_id=SESSION)
    talk.user("Why does the winch jam?")
    talk.assistant("The pawl is worn.")
    path = append(projects / "-work-boat" / f"{SESSION}.jsonl", claude("user", "Which grease?", 5))
    assert added(home.import_(path, agent="ana")) == {"messages": 1}
    assert contents(mem) == [["Why does the winch jam?", "The pawl is worn.", "Which grease?"]]


@IN_A_FILE
def test_an_erased_message_does_not_come_back(home: Home, mem: Memory, projects: Path) -> None:
    path = projects / "-work-boat" / f"{SESSION}.jsonl"
    home.import_(path, agent="ana")
    (info,) = mem.conversations.list()
    talk = mem.conversations.get(info.id)
    talk.erase([*talk.events()][-1].hash)
    append(path, claude("user", "Which grease?", 5))
    assert added(home.import_(path, agent="ana")) == {"messages": 1}
    assert not mem.conversations.search("pawl")


def test_rollouts_of_codex_become_conversations(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = append(
        tmp_path / "sessions" / "2026" / "03" / "01" / "rollout-2026-03-01T10-00-00-019a.jsonl",
        codex("session_meta", {"id": "019a", "cwd": "/work", "cli_version": "0.65.0"}),
        codex("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        codex("event_msg", {"type": "user_message", "message": "Rig the jib"}, 1),
        codex("turn_context", {"model": "gpt-5-codex"}, 1),
        codex("response_item", {"type": "function_call", "name": "shell", "arguments": "{}"}, 2),
        codex("event_msg", {"type": "agent_message", "message": "The jib is rigged."}, 3),
    )
    done = home.import_(tmp_path / "sessions", agent="ana")
    assert done.format is Format.CODEX
    assert added(done) == {"conversations": 1, "messages": 2}
    (info,) = mem.conversations.list()
    assert (info.chat_id, info.model_id) == ("019a", "gpt-5-codex")
    assert contents(mem) == [["Rig the jib", "The jib is rigged."]]
    assert "left out of messages: 1 function_call" in done.remarks
    append(path, codex("event_msg", {"type": "user_message", "message": "Now the spinnaker"}, 4))
    assert added(home.import_(tmp_path / "sessions", agent="ana")) == {"messages": 1}
    assert len(mem.conversations.list()) == 1


@IN_A_FILE
def test_rollouts_of_older_versions_of_codex_are_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = append(
        tmp_path / "rollout-old.jsonl",
        json.dumps({"id": "old", "timestamp": "2025-05-01T10:00:00.000Z", "instructions": None}),
        json.dumps({"record_type": "state"}),
        json.dumps(
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}],
            }
        ),
        json.dumps({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rig the jib"}]}),
        json.dumps({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rigged."}]}),
    )
    assert formats.recognise(path) is Format.CODEX
    home.import_(path, agent="ana")
    assert contents(mem) == [["Rig the jib", "Rigged."]]
    assert mem.conversations.list()[0].chat_id == "old"


def test_a_transcript_reaches_its_agent_only_and_makes_no_hand_off(home: Home, mem: Memory, projects: Path) -> None:
    home.import_(projects, agent="ana")
    assert home.jobs.run("extract").error is None
    assert mem.list(category="handoffs") == []
    assert mem.recover() is None
    bob = home.agent("bob")
    assert bob.conversations.list() == []
    assert bob.conversations.search("pawl") == []


@IN_A_FILE
def test_a_folder_without_transcripts_can_be_named_as_one(home: Home, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert not home.import_(tmp_path / "empty", agent="ana", format="claude-code").changed
    with pytest.raises(RecollectError, match="none of the formats"):
        home.import_(tmp_path / "empty", agent="ana")
