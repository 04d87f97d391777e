"""`recollect context`, `recollect evaluate` and `recollect vault checkpoint`, seen from outside."""

from __future__ import annotations

import pytest
from surfaces.command import Command


def test_a_context_is_shown_as_text_as_markdown_and_as_json(cli: Command, location: str) -> None:
    where = ("--home", location)
    empty = cli(*where, "context", "deploy")
    assert (empty.text, empty.err) == ("", "no context for 'deploy' yet\n")
    cli(*where, "remember", "We deploy on Tuesdays", "--category", "decisions", "--at", "2026-03-02")
    cli(*where, "remember", "Never deploy on a Friday", "--category", "lessons", "--at", "2026-03-03")
    assert cli(*where, "context", "deploy").text == (
        "## MEMORY CONTEXT\nRelevant Decisions:\n- We deploy on Tuesdays (2026-03-02, agent)\n"
        "Relevant Lessons:\n- Never deploy on a Friday (2026-03-03, agent)\n---\n"
    )
    assert cli(*where, "context", "deploy", "--orient", "--budget", "32").lines == [
        "# Orientation",
        "",
        "## Relevant Decisions",
        "",
        "- We deploy on Tuesdays (2026-03-02, agent)",
    ]
    received = cli(*where, "context", "deploy", "--budget", "0", "--json").json
    assert (received["text"], received["dropped"]) == ("", 2)
    assert cli(*where, "context", "deploy", "--orient", "--json").json["markdown"].startswith("# Orientation\n")


def test_invalid_options_are_reported_in_one_line(cli: Command) -> None:
    received = cli("context", "deploy", "--profile", "nonsense", code=3).err
    assert received == "recollect: there is no profile 'nonsense'; there are brief, coding, default, prompt\n"
    assert "0 or more" in cli("context", "deploy", "--budget", "-1", code=2).err


def test_a_checkpoint_is_made_once(cli: Command) -> None:
    pytest.importorskip("pygit2", reason="pygit2 is not installed; it comes with recollect[git]")
    cli("--home", "shop", "remember", "The gate is blue", "--category", "decisions")
    off = cli("--home", "shop", "vault", "checkpoint")
    assert off.err.startswith("nothing was committed: git is off")
    made = cli("--home", "shop", "vault", "checkpoint", "--note", "the gate", RECOLLECT_GIT_REPOSITORY="agent")
    assert made.text.endswith(": checkpoint: the gate\n")
    again = cli("--home", "shop", "vault", "checkpoint", RECOLLECT_GIT_REPOSITORY="agent")
    assert again.err == "nothing was committed: nothing changed since the last commit\n"
    assert cli("--home", "shop", "vault", "history", "--json").json == {"commits": [], "diff": None}


def test_what_the_project_is_about_is_said_and_shown(cli: Command) -> None:
    assert "no project description yet" in cli("project").err
    assert cli("project", "-", stdin=b"Boats and ropes.").text == "project description saved\n"
    assert cli("project", "Something else.", "--keep").text == "unchanged: the project already has a description\n"
    assert cli("project").text == "Boats and ropes.\n"
    assert cli("project", "Boats.", "--json").json == {"content": "Boats.", "written": True}
    assert "Boats." in cli("context", "anything").text


def test_several_categories_pages_and_chats_from_the_command_line(cli: Command) -> None:
    for category in ("decisions", "lessons", "tasks"):
        cli("remember", f"the gate of {category}", "--category", category)
    assert len(cli("recall", "gate", "--category", "lessons", "--category", "tasks", "--json").json) == 2
    refs = [cli("conversation", "start", "--chat-id", f"chat-{n}", "--json").json["ref_code"] for n in range(3)]
    assert cli("conversation", "start", "--chat-id", "chat-1", "--resume", "--json").json["ref_code"] == refs[1]
    older = cli("conversation", "list", "--before", refs[1], "--json").json
    assert [one["ref_code"] for one in older] == [refs[0]]


def test_a_context_of_which_nothing_could_be_read_is_a_failure(cli: Command) -> None:
    cli("--home", "m.db", "remember", "x" * 9000)
    file = cli.folder / "m.db"
    file.write_bytes(file.read_bytes()[:8192])
    assert "damaged" in cli("--home", "m.db", "context", "x", code=6).err
    assert cli("--home", "m.db", "context", "x", "--json", code=6).json["failed"]
    assert "damaged" in cli("--home", "m.db", "hook", "session-start", stdin=b"{}").err
