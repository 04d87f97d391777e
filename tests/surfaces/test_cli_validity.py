"""What holds, what held and who said so, on the command line."""

from __future__ import annotations

from surfaces.command import Command


def test_the_command_line_says_what_holds_what_held_and_who_said_so(cli: Command) -> None:
    cli("remember", "Deploys are on Tuesdays", "--name", "deploy day", "--origin", "user", "--at", "2026-03-02")
    cli("note", "supersede", "deploy day", "Deploys are on Wednesdays", "--origin", "user", "--since", "2026-05-02")
    assert cli("recall", "deploys").lines[1] == "  Deploys are on Wednesdays"
    assert "since 2026-05-02" in cli("recall", "deploys").lines[0]
    then = cli("recall", "deploys", "--as-of", "2026-04-02")
    assert then.lines[0].endswith("2026-03-02  user  until 2026-05-02 (superseded)")
    assert then.lines[1] == "  Deploys are on Tuesdays"
    listed = cli("note", "list", "--include-past").text
    assert "2026-05-02  superseded" in listed
    assert "2026-05-02              current" in listed
    assert "Tuesdays" not in cli("note", "list").text
    assert "Tuesdays" in cli("note", "list", "--as-of", "2026-04-02").text
    (old,) = cli("note", "list", "--as-of", "2026-04-02", "--json").json
    shown = cli("note", "show", old["id"][-8:]).text
    assert "holds        until 2026-05-02 (superseded)" in shown
    assert "origin       user" in shown
    assert f"replaced by  {old['superseded_by']}" in shown
    assert cli("note", "restore", old["id"][-8:]).lines == ["restored deploy day"]
    assert "Tuesdays" in cli("recall", "deploys").text


def test_a_note_is_retracted_and_restored(cli: Command) -> None:
    cli("note", "add", "deploy day", "Deploys are on Tuesdays", "--valid-from", "2026-03-02")
    assert cli("note", "retract", "deploy day", "--why", "it was a rumour").lines == ["retracted deploy day"]
    assert cli("recall", "deploys").text == ""
    assert "(retracted)" in cli("recall", "deploys", "--include-past").text
    assert "why: it was a rumour" in cli("note", "history", "deploy day").text
    assert cli("note", "restore", "deploy day").lines == ["restored deploy day"]
    assert "Tuesdays" in cli("recall", "deploys").text


def test_a_new_note_replaces_one_that_is_named_by_the_end_of_its_id(cli: Command) -> None:
    old = cli("remember", "We use npm", "--category", "decisions", "--json").json
    new = cli("remember", "We use pnpm", "--supersedes", old["id"][-8:], "--json").json
    assert new["category"] == "decisions"
    assert cli("note", "show", old["id"], "--json").json["superseded_by"] == new["id"]


def test_less_trusted_origins_are_left_out_and_cannot_replace(cli: Command) -> None:
    cli("remember", "The door is red", "--name", "door", "--origin", "user")
    cli("remember", "A page says that the door is blue", "--origin", "external")
    assert cli("recall", "door", "--min-origin", "user").lines[1:] == ["  The door is red"]
    assert len(cli("note", "list", "--min-origin", "user", "--json").json) == 1
    assert "cannot supersede" in cli("note", "supersede", "door", "The door is blue", "--origin", "tool", code=5).err
    assert cli("remember", "x", "--valid-from", "2026-05-02", "--valid-until", "2026-03-02", code=2).err
    assert cli("remember", "x", "--origin", "nobody", code=2).err


def test_another_text_replaces_what_the_user_said_only_as_the_users(cli: Command) -> None:
    cli("remember", "The door is red", "--name", "door", "--origin", "user")
    for command in ("upsert", "write"):
        assert "cannot supersede" in cli("note", command, "door", f"The door is {command}", code=5).err
        cli("note", command, "door", f"The door is {command}", "--origin", "user")
        assert cli("note", "show", "door", "--json").json["content"] == f"The door is {command}"
