"""The commands for channels, scratchpads, reminders, workspaces, figures and health, as their users run them."""

from __future__ import annotations

import inspect
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
import typer
from sources import members
from surfaces.command import Command

import recollect
from recollect import FixedClock
from recollect.access import Tokens
from recollect.cli.app import app_with
from recollect.vault.sync import Vault

REACHED = {
    recollect.Memory: {
        "remember": "remember",
        "recall": "recall",
        "forget": "forget",
        "upsert": "note upsert",
        "apply": "note write",
        "restore": "note restore",
        "supersede": "note supersede",
        "retract": "note retract",
        "get": "note show",
        "list": "note list",
        "history": "note history",
        "links": "note links",
        "changes": "note changes",
        "trash": "note trash",
        "accesses": "note fading",
        "provenance": "note provenance",
        "empty_trash": "note empty-trash",
        "context": "context",
        "orient": "context",
        "recover": "conversation recover",
        "project": "project",
        "set_project": "project",
    },
    recollect.Channels: {"create": "channel create", "list": "channel list", "default": "channel list"},
    recollect.Conversations: {
        "start": "conversation start",
        "get": "conversation show",
        "list": "conversation list",
        "search": "conversation search",
        "detail": "conversation show",
        "scratchpad": "scratchpad list",
        "end_stale": "conversation end-stale",
        "erase": "conversation erase",
    },
    recollect.Conversation: {
        "user": "conversation say",
        "assistant": "conversation say",
        "extend": "conversation extend",
        "events": "conversation show",
        "find": "conversation find",
        "erase": "conversation erase",
        "messages": "conversation messages",
        "replay": "conversation messages",
        "summary": "conversation summary",
        "compact": "conversation compact",
        "checkpoint": "conversation checkpoint",
        "idle": "conversation idle",
        "archive": "conversation archive",
        "end": "conversation end",
        "info": "conversation show",
        "status": "conversation show",
        "id": "conversation show",
        "ref_code": "conversation show",
        "scratchpad": "scratchpad list",
    },
    recollect.Reminders: {
        "add": "reminder add",
        "due": "reminder due",
        "claim": "reminder claim",
        "deliver": "reminder deliver",
        "list": "reminder list",
        "cancel": "reminder cancel",
    },
    recollect.Jobs: {
        "run": "jobs run",
        "run_due": "jobs run",
        "status": "jobs list",
        "runs": "jobs runs",
        "undo": "jobs undo",
        "start": "jobs watch",
        "stop": "jobs watch",
    },
    recollect.Scratchpad: {"clear": "scratchpad clear"},
    Tokens: {"create": "token create", "list": "token list", "revoke": "token revoke"},
    Vault: {
        "folder": "vault sync",
        "layout": "vault status",
        "status": "vault status",
        "convert": "vault convert",
        "migrate": "vault migrate",
        "sync": "vault sync",
        "watch": "vault watch",
        "checkpoint": "vault checkpoint",
        "history": "vault history",
        "instructions": "vault instructions",
        "project": "project",
    },
    recollect.Home: {
        "agents": "workspace list",
        "counts": "workspace list",
        "workspaces": "workspace list",
        "delete_workspace": "workspace delete",
        "check": "check",
        "backup": "backup",
        "export": "export",
        "import_": "import",
        "move_to": "move",
        "reembed": "reembed",
        "compact": "compact",
        "stats": "stats",
        "vault": "vault sync",
        "agent": "note list",
    },
}
NOT_REACHED = {
    "remember_many": "`import` takes many entries",
    "query": "the shape of a model's tool; recall and conversation search ask the same",
    "numbers": "the ids that the dashboard has; `note list` lists notes",
    "last_change": "for programs that watch; `note changes` shows it",
    "journal": "for programs that watch; `conversation show` shows it",
    "last_event": "for programs that watch",
    "payloads": "for the adapters of frameworks",
    "payload_rows": "for the adapters of frameworks",
    "overview": "the start of the page shows it; `stats` and `doctor` count",
    "timeline": "a picture of the page; `note list` and `conversation list` have the times",
    "graph": "a picture of the page; `note links` lists the links of a note",
    "changed_since": "the start of the page shows it; `note changes` lists operations",
    "last_saved": "for pages that hold a talk themselves",
    "save": "for pages that hold a talk themselves",
    "load": "for pages that hold a talk themselves",
    "append": "raw events are written by programs",
    "tool": "a tool's result comes with its call, by `conversation extend`",
    "instruct": "written by programs",
    "job": "written by programs",
    "event": "found by `conversation show` and `conversation find`",
    "window": "`conversation messages` shows it as a model gets it",
    "apply_delta": "written by models",
    "saved": "`conversation recover` shows the newest of all; the page shows each",
    "release": "`reminder claim` delivers at once",
    "backfill": "the job `embed` does it",
    "on_reminder": "a function of a program",
    "last_compaction": "the same as the last line of `compact`, kept for the server",
    "any": "asked by the server",
    "written": "done with every write",
    "entries_changed": "done with every write",
    "record": "done by what writes; `vault checkpoint` does it by hand",
    "show": "done with every write",
    "refresh": "done before every read",
    "refresh_all": "done before every job",
    "make": "done with the first write",
    "remove_leftovers": "done with `vault sync` and `compact`",
    "commit": "done by what writes; `vault checkpoint` does it by hand",
    "remove": "done by `workspace delete`",
    "uses_git": "a setting; `doctor` says whether git can be used",
    "flush": "done when a command ends",
    "close": "done when a command ends",
}
SPELT = {
    "include_archived": "all",
    "include_delivered": "all",
    "include_revoked": "all",
    "include_diff": "diff",
    "include_vectors": "vectors",
    "meaning": "no-meaning",
    "descending": "reverse",
    "replace": "keep",
    "Jobs.runs.name": "job",
    "Tokens.create.agents": "agent",
}
"""Parameters whose option has another name, which fits a command line better."""
NO_OPTION = {
    "if_version": "for programs that change what they read before",
    "record": "who asks by hand uses what is found",
    "progress": "shown by itself",
    "internal": "written by programs",
    "transcripts": "a fold of the page's lists; --kind chooses",
    "recalled": "a list of the page's overview",
    "embedded": "a list of the page's overview",
    "tool_calls": "written by programs",
    "instructions": "given by the program that asks the model",
    "skills": "given by the program that asks the model",
    "identity": "given by the program that asks the model",
    "Conversation.messages.context": "given by the program that asks the model",
    "Conversation.events.after": "`conversation show` has the last ones, with --limit as many as there are",
    "Conversation.events.before": "`conversation show` has the last ones, with --limit as many as there are",
    "Conversations.detail.after": "`conversation show` has the last ones, with --limit as many as there are",
    "Conversations.detail.target_agent": "`conversation search` reads another agent's past",
    "Reminders.list.after": "--limit shows them all",
    "Jobs.run.workspace": "a job by name runs everywhere",
    "Jobs.start.after": "who watches wants them now",
    "Jobs.stop.seconds": "--seconds of `jobs watch` is something else",
    "Vault.instructions.folder": "--host-project names it",
    "Home.agents.workspace": "`workspace list` shows all",
    "Home.stats.workspace": "`stats` shows all",
}
OTHER_DEFAULTS = {
    "Conversations.detail.limit": "the end of a conversation fits a screen",
    "Conversation.events.limit": "the end of a conversation fits a screen",
}


def _commands() -> dict[str, Any]:
    def walk(command: Any, path: tuple[str, ...]) -> dict[str, Any]:
        inner = getattr(command, "commands", {})
        return {w: c for n, one in inner.items() for w, c in walk(one, (*path, n)).items()} or {" ".join(path): command}

    return walk(typer.main.get_command(app_with(None)), ())


@pytest.mark.parametrize("kind", REACHED, ids=lambda kind: kind.__name__)
def test_every_method_has_a_command_or_a_reason_why_not(kind: type) -> None:
    methods = {
        name for name, value in members(kind).items() if inspect.isfunction(value) or isinstance(value, property)
    } - ({"check"} if kind is Tokens else set())  # which only a server has secrets to ask
    assert methods - REACHED[kind].keys() - NOT_REACHED.keys() == set()
    assert REACHED[kind].keys() - methods == set()
    assert set(REACHED[kind].values()) <= _commands().keys()


def test_every_parameter_has_an_option_or_a_reason_why_not_and_limits_are_the_same() -> None:
    missing, different, used = [], [], set[str]()
    for kind, reached in REACHED.items():
        for method, command in reached.items():
            function = members(kind)[method]
            options = {word.lstrip("-"): one for one in _commands()[command].params for word in one.opts}
            optional = [] if isinstance(function, property) else inspect.signature(function).parameters.values()
            for parameter in optional:
                name = f"{kind.__name__}.{method}.{parameter.name}"
                if parameter.default is inspect.Parameter.empty:
                    continue
                keys = [key for key in (name, parameter.name) if key in SPELT or key in NO_OPTION]
                used |= set(keys[:1])
                word = SPELT.get(keys[0], "") if keys else parameter.name.replace("_", "-")
                option = options.get(word) or options.get(word.removesuffix("s")) or options.get(parameter.name)
                if option is None and not (keys and keys[0] in NO_OPTION):
                    missing.append(f"{name}: `{command}` has no --{word}")
                if option is not None and parameter.name == "limit" and name not in OTHER_DEFAULTS:
                    different += [] if option.default == parameter.default else [f"{name}: {option.default}"]
    assert missing == []
    assert different == []
    assert (SPELT.keys() | NO_OPTION.keys()) - used == set()


def test_a_list_of_notes_is_narrowed_down_and_ordered(cli: Command) -> None:
    def names(*args: str) -> list[str]:
        return [one["name"] for one in cli("note", "list", "--json", *args).json]

    with recollect.open(cli.folder / ".recollect") as home:
        mem = home.agent("default")
        mem.channels.create("releases")
        mem.remember("b", name="beta", at="2026-01-10", importance=0.9, lifetime="short_term")
        mem.remember("a", name="alpha", at="2026-02-10", scope="channel", channel="releases")
        mem.remember("c", name="gamma", at="2026-03-10", importance=0.1)
    assert names() == ["gamma", "alpha", "beta"]
    assert names("--since", "2026-02-01", "--until", "2026-03-01") == ["alpha"]
    assert names("--channel", "releases") == ["alpha"]
    assert names("--lifetime", "short_term") == ["beta"]
    assert names("--sort", "name") == ["alpha", "beta", "gamma"]
    assert names("--sort", "name", "--reverse") == ["gamma", "beta", "alpha"]
    assert names("--sort", "importance") == ["beta", "alpha", "gamma"]
    page = cli("note", "list", "--reverse", "--limit", "2")
    assert page.err.startswith("there may be more; next page: --after ")
    assert names("--reverse", "--after", page.err.split()[-1]) == names("--reverse", "--after", "alpha") == ["gamma"]
    assert "no entries match" in cli("note", "list", "--since", "2027-01-01").err
    assert "pass the last entry as --after" in cli("note", "list", "--sort", "name", "--before", "beta", code=2).err


def test_the_past_is_searched_in_a_channel_and_a_time_and_the_trash_has_pages(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        mem = home.agent("default")
        mem.channels.create("releases")
        mem.conversations.start("releases", "chat-7").user("When do we deploy?", at="2026-01-10")
        mem.conversations.start(chat_id="chat-8").user("Do we deploy at ten?", at="2026-02-10")
        for name in ("one", "two", "three"):
            mem.remember("something", name=name)
            mem.forget(name)

    def said(*args: str) -> list[str]:
        return [one["event"]["content"] for one in cli("conversation", "search", "deploy", "--json", *args).json]

    assert len(said()) == len(said("--no-meaning")) == 2
    assert said("--channel", "releases") == said("--until", "2026-02-01") == ["When do we deploy?"]
    assert said("--since", "2026-02-01") == ["Do we deploy at ten?"]
    assert [one["chat_id"] for one in cli("conversation", "list", "--chat-id", "chat-7", "--json").json] == ["chat-7"]
    first = cli("note", "trash", "--limit", "2")
    assert first.err.startswith("there may be more; next page: --before ")
    rest = cli("note", "trash", "--before", first.err.split()[-1], "--json").json
    assert [one["entry"]["name"] for one in rest] == ["one"]
    assert cli("note", "changes", "--account", "--json").json == []
    assert "add --yes" in cli("note", "empty-trash", code=2).err
    assert cli("note", "empty-trash", "--yes").text == "removed the text of 3 entries in the trash\n"
    assert cli("note", "empty-trash", "--yes", "--json").json == {"emptied": 0}
    assert cli("note", "trash", "--json").json == []


def test_channels_are_made_and_shown(cli: Command) -> None:
    assert cli("channel", "create", "releases", "--description", "what we ship").text == "created releases\n"
    assert [one["name"] for one in cli("channel", "list", "--json").json] == ["general", "releases"]
    assert "what we ship" in cli("channel", "list").text
    cli("channel", "create", "releases", code=4)


def test_a_scratchpad_holds_json_and_text(cli: Command) -> None:
    cli("conversation", "start")
    cli("scratchpad", "write", "last", "plan", '{"step": [1, 2]}')
    cli("scratchpad", "write", "last", "mood", "in a hurry")
    assert cli("scratchpad", "list", "last", "--json").json == {"plan": {"step": [1, 2]}, "mood": "in a hurry"}
    assert cli("scratchpad", "read", "last", "mood").text == "in a hurry\n"
    cli("scratchpad", "read", "last", "nothing", code=3)
    assert cli("scratchpad", "clear", "last", "mood").text == "removed 1\n"
    assert cli("scratchpad", "clear", "last", "--json").json == {"removed": 1}


def test_a_participant_uses_the_scratchpad_of_the_owner(cli: Command) -> None:
    started = cli("conversation", "start", "--participant", "ben", "--participant", "zoe", "--json").json
    assert started["participants"] == ["ben", "zoe"]
    ref = started["ref_code"]
    cli("scratchpad", "write", ref, "plan", "7", "--owner", "default", "--agent", "ben")
    assert cli("scratchpad", "list", "last", "--json").json == {"plan": 7}
    assert cli("scratchpad", "read", ref, "plan", "--owner", "default", "--agent", "zoe").text == "7\n"
    assert cli("scratchpad", "clear", ref, "--owner", "default", "--agent", "zoe", "--json").json == {"removed": 1}
    assert "not a participant" in cli("scratchpad", "list", ref, "--owner", "default", "--agent", "eve", code=5).err


def test_files_of_an_older_layout_are_taken_in_and_a_history_shows_what_changed(cli: Command) -> None:
    folder = cli.folder / ".recollect/workspaces/default/vault"
    folder.mkdir(parents=True)
    (folder / "ana.md").write_text("# ana\n\nThe gate is blue since 2024.\n")
    assert cli("vault", "migrate").lines[0].split() == ["agent", "added"]
    assert cli("vault", "migrate").lines[-1] == "nothing new"
    assert "The gate is blue" in cli("note", "list", "--agent", "ana").text
    git = {"RECOLLECT_GIT_REPOSITORY": "agent"}
    for text in ("one", "two"):
        cli("remember", text, "--category", "lessons", **git)
        cli("vault", "sync", **git)
        cli("vault", "checkpoint", **git)
    assert "+two" in cli("vault", "history", "--diff", **git).lines
    assert "+two" not in cli("vault", "history", **git).text


def test_a_reminder_is_added_claimed_once_and_cancelled(cli: Command) -> None:
    due = cli("reminder", "add", "2020-01-01", "long ago", "--recipient", "Bob", "--json").json
    later = cli("reminder", "add", "2h", "later", "--json").json
    assert [one["message"] for one in cli("reminder", "due", "--json").json] == ["long ago"]
    assert [one["id"] for one in cli("reminder", "claim", "--json").json] == [due["id"]]
    assert cli("reminder", "claim", "--json").json == []
    assert [one["id"] for one in cli("reminder", "list", "--json").json] == [later["id"]]
    assert len(cli("reminder", "list", "--all", "--json").json) == 2
    cli("reminder", "cancel", later["id"])
    cli("reminder", "cancel", later["id"], code=3)
    cli("reminder", "deliver", due["id"], code=4)


def test_a_workspace_is_deleted_only_when_that_is_meant(cli: Command) -> None:
    cli("remember", "kept")
    cli("remember", "gone", "--workspace", "trial", "--agent", "bob")
    listed = cli("workspace", "list", "--json").json
    assert {name: [*agents] for name, agents in listed.items()} == {"default": ["default"], "trial": ["bob"]}
    assert listed["trial"]["bob"]["entries"] == 1
    assert cli("workspace", "list").out.splitlines()[1].split()[:4] == [
        b"trial",
        b"bob",
        b"1",
        b"0",
    ]  # the last changed
    assert "--yes" in cli("workspace", "delete", "trial", code=2).err
    cli("workspace", "delete", "trial", "--yes")
    assert [*cli("workspace", "list", "--json").json] == ["default"]
    cli("workspace", "delete", "trial", "--yes", code=3)


@pytest.mark.parametrize(("keys", "code", "left"), [(b"y\n", 0, False), (b"n\n", 1, True)])
def test_deleting_the_workspace_of_a_single_file_reports_what_goes_with_it(
    cli: Command, keys: bytes, code: int, left: bool
) -> None:
    cli("--home", "m.db", "remember", "kept")
    ended, sent = cli.on_terminal("--home", "m.db", "workspace", "delete", "default", keys=keys, columns=400)
    file = cli.folder / "m.db"
    assert f"and the file {file} with the entries of the account? [y/N]" in sent
    assert (ended, file.exists()) == (code, left)


def test_the_trash_links_and_changes_of_notes_are_shown(cli: Command) -> None:
    cli("remember", "see [[deploy day]] and [[nowhere]]", "--name", "plan")
    cli("remember", "Tuesdays", "--name", "deploy day")
    links = cli("note", "links", "plan", "--json").json
    assert ([one["name"] for one in links["out"]], links["broken"]) == (["deploy day"], ["nowhere"])
    assert "linked from  plan" in cli("note", "links", "deploy day").text
    cli("forget", "deploy day")
    assert [one["entry"]["name"] for one in cli("note", "trash", "--json").json] == ["deploy day"]
    assert [one["operation"] for one in cli("note", "changes", "--json").json] == ["add", "add", "remove"]
    assert [one["operation"] for one in cli("note", "changes", "--after", "2", "--json").json] == ["remove"]
    assert len(cli("note", "fading", "plan", "--json").json["curve"]) >= 2
    cli("note", "fading", "nothing", code=3)


def test_messages_of_a_chat_are_taken_over_once(cli: Command) -> None:
    cli("conversation", "start")
    talk = b'[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]'
    assert len(cli("conversation", "extend", "last", "-", "--json", stdin=talk).json) == 2
    assert cli("conversation", "extend", "last", "-", "--json", stdin=talk).json == []
    assert [one["content"] for one in cli("conversation", "messages", "last", "--json").json][-2:] == ["Hello", "Hi"]
    assert cli("conversation", "find", "last", "hello", "--json").json[0]["event"]["content"] == "Hello"
    assert "not JSON" in cli("conversation", "extend", "last", "[", code=2).err
    assert cli("conversation", "idle", "last", "--json").json["status"] == "idle"
    cli("conversation", "idle", "last", code=4)


def test_the_doctor_says_what_is_wrong_and_what_would_help(cli: Command, tmp_path: Path) -> None:
    folder, cli = cli.folder, partial(cli, HOME=str(tmp_path))  # type: ignore[assignment]
    (empty,) = [one for one in cli("doctor", "--json").json if one["about"] == "memory"]
    assert empty["do"] == "recollect remember 'We deploy on Tuesdays'"
    assert f"nothing is stored in {tmp_path / 'folder/.recollect'} yet" == empty["says"]
    cli("remember", "something")
    states = {one["about"]: one["state"] for one in cli("doctor", "--deep", "--json").json}
    assert (states["memory"], states["check"], states["meaning"], states["upkeep"]) == (
        "good",
        "good",
        "better",
        "better",
    )
    cli("jobs", "run")
    assert {one["about"]: one["state"] for one in cli("doctor", "--json").json}["upkeep"] == "good"
    next(folder.glob(".recollect/**/default/*.db")).write_bytes(b"not a database at all" * 100)
    broken = cli("doctor", "--json", code=7).json
    assert [one["state"] for one in broken if one["about"] == "memory"] == ["bad"]


def test_files_that_are_not_taken_in_are_named_by_the_doctor_and_by_vault_status(cli: Command, tmp_path: Path) -> None:
    home = tmp_path / "shop"
    cli("--home", str(home), "remember", "The gate is blue", "--category", "decisions")
    vault = home / "workspaces/default/vault"
    assert "layout: categories, 1 file, 1 note\n" in cli("--home", str(home), "vault", "status").text
    received = [one for one in cli("--home", str(home), "doctor", "--json").json if one["about"] == "vault"]
    assert [one["state"] for one in received] == ["good"]
    (vault / "default/mine.md").write_text("my own")
    reason = 'default/mine.md: it is not read; [vault] layout = "notes" reads every file'
    assert reason in cli("--home", str(home), "vault", "status").err
    assert cli("--home", str(home), "vault", "status", "--json").json["problems"][0]["path"] == "default/mine.md"
    received = [one for one in cli("--home", str(home), "doctor", "--json").json if one["about"] == "vault"]
    assert [(one["state"], one["says"]) for one in received] == [("better", f"not read: {reason}")]


def test_many_files_and_equal_problems_are_counted(cli: Command, tmp_path: Path) -> None:
    folder = tmp_path / "notes/default"
    folder.mkdir(parents=True)
    for number in range(25):
        (folder / f"{number:02}.md").write_text(f"---\nimportance: high\n---\nnote {number}\n")
    given = {"RECOLLECT_VAULT_LAYOUT": "notes", "RECOLLECT_VAULT_FOLDER": str(folder.parent)}
    done = cli("vault", "sync", **given)
    assert done.lines[20:22] == ["wrote 5 more files", "from the files: added 25"]
    reason = "line 2: the value of importance is not valid and is ignored"
    assert [line for line in done.err.splitlines() if reason in line] == [
        *(f"default/{number:02}.md: {reason}" for number in range(3)),
        f"22 more files: {reason}",
    ]


def test_only_commands_of_the_vault_and_the_doctor_name_files_that_are_not_taken_in(
    cli: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "notes/default"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"{number}.md").write_text("")
    given = {"RECOLLECT_VAULT_LAYOUT": "notes", "RECOLLECT_VAULT_FOLDER": str(folder.parent)}
    assert cli("remember", "We deploy on Tuesdays", **given).err == ""
    assert cli("recall", "deploy", **given).err == ""
    assert cli("jobs", "run", **given).err == ""
    reason = "it is not read: the content is empty; there is nothing to remember"
    (named,) = [line for line in cli("vault", "sync", **given).err.splitlines() if "default/0.md" in line]
    assert named == f"default/0.md: {reason}"
    assert cli("vault", "convert", **given).err.count(reason) == 5


def test_vault_status_lists_every_file_that_is_not_taken_in(cli: Command, tmp_path: Path) -> None:
    home = tmp_path / "shop"
    cli("--home", str(home), "remember", "The gate is blue", "--category", "decisions")
    for number in range(6):
        (home / f"workspaces/default/vault/default/mine{number}.md").write_text("my own")
    named = cli("--home", str(home), "vault", "status").err.splitlines()
    assert [line.split(":")[0] for line in named] == [f"default/mine{number}.md" for number in range(6)]


def test_the_doctor_advises_what_is_about_the_same_memory(cli: Command, tmp_path: Path) -> None:
    def advice(about: str, *args: str, code: int = 0) -> list[str]:
        findings = cli("--home", str(place), "doctor", *args, "--json", code=code, HOME=str(tmp_path)).json
        return [one["do"] for one in findings if one["about"] == about]

    place = tmp_path / "my memory"
    received = f"recollect --home '{place}'"
    assert advice("memory") == [f"{received} remember 'We deploy on Tuesdays'"]
    cli("--home", str(place), "remember", "We deploy on Tuesdays", "--name", "deploy day")
    assert advice("upkeep") == [
        f"`recollect serve` and `recollect mcp` run due jobs; to run them now: {received} jobs run"
    ]
    with apsw.Connection(str(place / "workspaces/default/memory.db")) as connection:
        connection.execute("DELETE FROM names")
    assert set(advice("check", "--deep", code=7)) == {f"{received} check --repair"}
    assert [path.name for path in cli.folder.iterdir()] == []


def test_the_doctor_looks_at_the_disk_of_a_home_in_the_users_folder(cli: Command, tmp_path: Path) -> None:
    (cli.folder / "recollect.toml").write_text('home = "~/memory"\n')
    cli("remember", "something", HOME=str(tmp_path))
    findings = cli("doctor", "--json", HOME=str(tmp_path)).json
    assert [one["says"].endswith("GB free") for one in findings if one["about"] == "disk"] == [True]


def test_the_doctor_advises_no_backup_where_a_setting_is_wrong(cli: Command, tmp_path: Path) -> None:
    def bad(*args: str) -> dict[str, str]:
        findings = cli("doctor", *args, "--json", code=7, RECOLLECT_EMBEDDER_KIND="", HOME=str(tmp_path)).json
        (wrong,) = [one for one in findings if one["state"] == "bad"]
        assert "backup" not in wrong["do"]
        return dict(wrong)

    (cli.folder / "recollect.toml").write_text('[embedder]\nkind = "loca"\n')
    wrong = bad()
    assert (wrong["about"], wrong["do"]) == ("settings", "see docs/settings.md")
    assert "recollect.toml, [embedder]: 'kind'" in wrong["says"]
    assert "auto, local, onnx, openai, none" in wrong["says"]
    (cli.folder / "recollect.toml").unlink()
    (cli.folder / "notes").write_text("a file")
    wrong = bad("--home", "notes")
    assert wrong["about"] == "memory"
    assert "--home" in wrong["do"]


def test_the_doctor_looks_at_the_programs_that_are_connected(cli: Command, tmp_path: Path) -> None:
    user = {"HOME": str(tmp_path), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "", "XDG_CONFIG_HOME": ""}

    def connected() -> list[tuple[str, str, str]]:
        findings = json.loads(cli("doctor", "--json", code=code, **user).out)
        return [(one["state"], one["says"], one["do"]) for one in findings if one["about"] == "connected"]

    code = 0
    cli("connect", "codex", **user)
    cli("connect", "cursor", "--project", **user)
    theirs = tmp_path / ".recollect"
    assert connected() == [
        ("good", f"Codex uses the memory in {theirs}", f"recollect --home {theirs} doctor"),
        ("good", "Cursor uses this memory", ""),
    ]
    code = 7
    (tmp_path / ".codex/config.toml").write_text('[mcp_servers.recollect]\ncommand = "/gone/recollect"\n')
    (cli.folder / ".cursor/mcp.json").write_text("broken")
    assert connected() == [("bad", "Codex starts /gone/recollect, which does not exist", "recollect connect codex")]
    cli("connect", "codex", "--undo", **user)
    cli("connect", "claude-code", **user)
    settings = tmp_path / ".claude/settings.json"
    settings.write_text(re.sub(r'"command": "\S+', '"command": "/gone/recollect', settings.read_text()))
    (stale,) = connected()
    assert stale[1:] == ("Claude Code starts /gone/recollect, which does not exist", "recollect connect claude-code")


def test_figures_show_what_is_there(cli: Command) -> None:
    assert "no notes yet" in cli("stats").err
    assert cli("note", "changes").text == ""
    cli("remember", "one", "--category", "lessons")
    assert cli("stats").lines[0].startswith("1 entry  ")
    cli("remember", "two")
    shown = cli("stats").text
    assert "2 entries" in shown
    assert "lessons  1  █" in shown
    assert "new entries per day" in shown
    assert cli("stats", "--json").json["agents"][0]["entries"] == 2


def test_a_shell_completes_commands(cli: Command) -> None:
    asked = {"_RECOLLECT_COMPLETE": "complete_bash", "COMP_WORDS": "recollect chan", "COMP_CWORD": "1"}
    assert cli(**asked).text.split() == ["channel"]
    for words, found in [("connect claude", ["claude-code", "claude-desktop"]), ("hook s", ["session-start", "stop"])]:
        asked |= {"COMP_WORDS": f"recollect {words}", "COMP_CWORD": "2"}
        assert set(found) <= set(cli(**asked).text.split())


def test_the_last_run_that_is_undone_is_one_that_did_anything(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect", clock=FixedClock(0)) as home:
        home.agent("default").remember("We deploy on Tuesdays", lifetime="short_term", importance=0)
    (did,) = cli("jobs", "run", "consolidate", "--json").json
    assert len(did["changes"]) == 1
    cli("jobs", "run", "retain")
    assert "We deploy" in cli("jobs", "undo", "last").text
    assert len(cli("note", "list", "--json").json) == 1
    cli("jobs", "undo", "last")  # nothing else did anything, so it is the newest


def test_no_list_of_commands_is_cut(cli: Command) -> None:
    for words in ((), ("conversation",), ("note",), ("vault",)):
        assert "..." not in cli(*words, "--help", COLUMNS="80").text.partition("Commands:")[2]
    assert "--json" not in cli("mcp", "--help").text
    assert "--home" not in cli("move", "--help").text
    assert "~/.recollect" in " ".join(cli("connect", "--help").text.split())
