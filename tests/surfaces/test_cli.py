"""Every command of the command line, for people and for programs, on every kind of location."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import apsw
import pytest
from surfaces.command import Command

import recollect

DAY = r"20\d\d-\d\d-\d\d"


def test_the_version_is_that_of_the_package(cli: Command) -> None:
    assert cli("--version").text == f"recollect {recollect.__version__}\n"


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",), ("note",), ("note", "--help"), ("recall", "--help")])
def test_help_goes_to_stdout(cli: Command, args: tuple[str, ...]) -> None:
    shown = cli(*args)
    assert shown.text.startswith("Usage: recollect")
    assert shown.err == ""


def test_a_recall_says_when_its_hits_answer_nothing(cli: Command) -> None:
    cli("remember", "Olaf is allergic to walnuts", "--name", "allergy")
    known, doubted = (
        cli("recall", "what is Olaf allergic to"),
        cli("recall", "the telephone number of Olaf the plumber"),
    )
    assert (known.err, known.lines[1]) == ("", "  Olaf is allergic to walnuts")
    assert (doubted.err, doubted.lines) == ("nothing that answers this; nearest:\n", known.lines)


def test_nothing_of_enough_confidence_is_not_reported_as_nothing_found(cli: Command) -> None:
    cli("remember", "Olaf is allergic to walnuts")
    refused = cli("recall", "the telephone number of Olaf", "--min-confidence", "0.6")
    assert (refused.lines, refused.err) == (
        [],
        "nothing found for 'the telephone number of Olaf' with a confidence of 0.6 or more\n",
    )
    assert cli("recall", "what is Olaf allergic to", "--min-confidence", "0.6").lines
    talked = cli("conversation", "search", "walnuts", "--min-confidence", "0.6")
    assert talked.err == "nothing found for 'walnuts' with a confidence of 0.6 or more\n"


def test_the_whole_story_in_words(cli: Command) -> None:
    def run(*args: str) -> list[str]:
        done = cli(*args)
        return done.lines + done.err.splitlines()

    assert run("note", "list") == ["no notes yet; add one with: recollect remember 'We deploy on Tuesdays'"]
    assert run("check") == ["no errors: nothing is stored here yet"]
    assert run("remember", "We deploy on Tuesdays", "--name", "deploy day", "--tag", "ops") == ["remembered deploy day"]
    assert run("note", "add", "port", "It is 8080", "--category", "decisions") == ["added port"]
    head, text = run("recall", "deploying?")
    assert re.fullmatch(rf"deploy day  #ops  {DAY}  agent", head)
    assert text == "  We deploy on Tuesdays"
    assert run("recall", "zebra") == ["nothing found for 'zebra'"]
    assert run("note", "rename", "deploy day", "release day") == ["renamed release day  also: deploy day"]
    assert run("note", "alias", "port", "api port") == ["aliased port  also: api port"]
    assert run("note", "write", "deploy day", "On Wednesdays") == ["wrote release day  also: deploy day"]
    listed = [re.sub(rf"^[0-9a-f]{{8}}  {DAY}", "ID        DAY       ", line) for line in run("note", "list")]
    assert listed == [
        "id        date        category   name         text",
        "ID        DAY         decisions  port         It is 8080",
        "ID        DAY                    release day  #ops On Wednesdays",
    ]
    shown = run("note", "show", "deploy day")
    assert shown[0].startswith("release day  ")
    assert shown[1:3] == ["  aliases     deploy day", "  tags        ops"]
    assert shown[-2:] == ["", "On Wednesdays"]
    assert run("note", "remove", "port") == ["removed port  also: api port"]
    assert run("note", "restore", "port", "--name", "gate") == ["restored gate  also: api port"]
    assert run("forget", "release day") == ["forgot release day  also: deploy day"]
    history = [re.split(r"  +", line)[2:] for line in run("note", "history", "release day")]
    assert history == [
        ["what", "change"],
        ["add", "deploy day: We deploy on Tuesdays"],
        ["rename", "deploy day -> release day"],
        ["write", "content: On Wednesdays"],
        ["remove", "release day: On Wednesdays"],
    ]
    assert run("check") == ["no errors: 1 entry, 8 operations"]


def test_the_whole_story_in_json(cli: Command, location: str) -> None:
    def run(*args: str) -> object:
        done = cli("--home", location, *args, "--json")
        assert done.err == ""
        return done.json

    assert run("recall", "anything") == []
    assert run("note", "list") == []
    entry = run("remember", "We deploy on Tuesdays", "--name", "deploy day", "--tag", "ops", "--importance", "0.9")
    assert isinstance(entry, dict)
    assert list(entry) == list(recollect.Entry.__dataclass_fields__)
    assert (entry["name"], entry["tags"], entry["importance"]) == ("deploy day", ["ops"], 0.9)
    assert isinstance(entry["created_at"], int)
    assert run("note", "show", "deploy day") == entry
    assert run("note", "list") == [entry]
    hits = run("recall", "deploy")
    assert isinstance(hits, list)
    assert [list(hit) for hit in hits] == [
        ["entry", "score", "snippet", "agent", "similar", "state", "confidence", "why"]
    ]
    assert hits[0]["entry"] == entry
    renamed = run("note", "rename", "deploy day", "release day")
    assert isinstance(renamed, dict)
    changed = {name: renamed[name] for name in ("updated_at", "accessed_at")}
    assert renamed == {**entry, "name": "release day", "aliases": ["deploy day"], "access_count": 1, **changed}
    assert run("note", "alias", "release day", "d")["aliases"] == ["d", "deploy day"]  # type: ignore[index]
    assert run("note", "write", "d", "On Fridays")["content"] == "On Fridays"  # type: ignore[index]
    assert run("note", "add", "port", "8080")["lifetime"] == "long_term"  # type: ignore[index]
    assert run("note", "remove", "port")["content"] == "8080"  # type: ignore[index]
    assert run("note", "restore", "port")["name"] == "port"  # type: ignore[index]
    assert run("forget", "d")["content"] == "On Fridays"  # type: ignore[index]
    history = run("note", "history", "release day")
    assert isinstance(history, list)
    assert [revision["operation"] for revision in history] == ["add", "rename", "alias", "write", "remove"]
    assert history[1]["before"] == {"name": "deploy day"}
    receipt = run("forget", "release day", "--erase", "--yes")
    assert list(receipt) == list(recollect.Receipt.__dataclass_fields__)  # type: ignore[call-overload]
    assert receipt["entry_id"] == entry["id"]  # type: ignore[index]
    assert run("check") == {"entries": 1, "operations": 8, "events": 0, "erased": 0, "findings": []}


@pytest.mark.parametrize("command", [["remember", "x", "--name", "n"], ["note", "add", "n", "x"]])
def test_every_option_of_a_new_note_reaches_the_entry(cli: Command, command: list[str]) -> None:
    entry = cli(
        *command,
        "--tag",
        "a",
        "--tag",
        "b",
        "--category",
        "lessons",
        "--context",
        "said by Ana",
        "--importance",
        "1",
        "--scope",
        "channel",
        "--channel",
        "dev",
        "--source",
        "mail",
        "--lifetime",
        "mid_term",
        "--at",
        "2026-03-16T14:32:00Z",
        "--origin",
        "tool",
        "--evidence",
        "file:log.txt",
        "--evidence",
        "import:csv:log",
        "--json",
    ).json
    given = {
        "content": "x",
        "name": "n",
        "tags": ["a", "b"],
        "category": "lessons",
        "context": "said by Ana",
        "importance": 1.0,
        "scope": "channel",
        "channel_id": "dev",
        "source": "mail",
        "lifetime": "mid_term",
        "created_at": 1_773_671_520_000,
        "origin": "tool",
        "evidence": ["file:log.txt", "import:csv:log"],
    }
    assert {name: entry[name] for name in given} == given
    command[-1 if command[0] == "remember" else 2] = "spoken"
    spoken = cli(*command, "--scope", "conversation", "--conversation", "c1", "--json").json
    assert (spoken["name"], spoken["scope"], spoken["conversation_id"]) == ("spoken", "conversation", "c1")


def test_every_option_of_note_write_reaches_the_entry(cli: Command) -> None:
    cli("note", "add", "n", "text", "--tag", "old")
    written = cli(
        "note", "write", "n", "--tag", "new", "--category", "tasks", "--context", "why", "--importance", "0", "--json"
    ).json
    assert written["content"] == "text"
    assert [written[name] for name in ("tags", "category", "context", "importance")] == [["new"], "tasks", "why", 0.0]
    bare = cli("note", "write", "n", "--no-category", "--no-context", "--json").json
    assert [bare[name] for name in ("content", "tags", "category", "context")] == ["text", ["new"], None, None]


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Six notes about the sea that differ in one field each."""
    folder = tmp_path_factory.mktemp("sea")
    with recollect.open(folder / ".recollect") as home:
        mem = home.agent("default")
        mem.remember("the sea", at="2026-01-01")
        mem.remember("the sea of tags", tags=["blue", "salt"], at="2026-01-02")
        mem.remember("the decided sea", category="decisions", at="2026-01-03")
        mem.remember("the sea of all", scope="account", at="2026-01-04")
        mem.remember("the sea from a letter", source="letter", at="2026-01-05")
        mem.remember("the sea here", scope="channel", channel="dev", at="2026-01-06")
    return Command(folder)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), {"the sea", "the sea of tags", "the decided sea", "the sea of all", "the sea from a letter"}),
        (("--tag", "blue", "--tag", "salt"), {"the sea of tags"}),
        (("--tag", "blue", "--tag", "red"), set()),
        (("--category", "decisions"), {"the decided sea"}),
        (("--scope", "account"), {"the sea of all"}),
        (("--scope", "account", "--scope", "channel", "--channel", "dev"), {"the sea of all", "the sea here"}),
        (("--source", "letter"), {"the sea from a letter"}),
        (("--kind", "archive"), set()),
        (("--kind", "archive", "--kind", "note", "--until", "2026-01-02"), {"the sea"}),
        (("--since", "2026-01-04", "--until", "2026-01-05"), {"the sea of all"}),
        (("--mode", "keyword", "--limit", "0"), set()),
    ],
)
def test_the_filters_of_recall(sea: Command, options: tuple[str, ...], found: set[str]) -> None:
    hits = sea("recall", "sea", "--limit", "10", *options, "--json").json
    assert {hit["entry"]["content"] for hit in hits} == found


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--limit", "2"), ["the sea here", "the sea from a letter"]),
        (("--tag", "salt"), ["the sea of tags"]),
        (("--category", "decisions"), ["the decided sea"]),
        (("--scope", "account"), ["the sea of all"]),
        (("--source", "letter"), ["the sea from a letter"]),
        (("--kind", "chunk"), []),
    ],
)
def test_the_filters_of_note_list(sea: Command, options: tuple[str, ...], found: list[str]) -> None:
    assert [entry["content"] for entry in sea("note", "list", *options, "--json").json] == found
    if not found:
        assert sea("note", "list", *options).err == "no entries match\n"


def test_the_pages_of_note_list_follow_each_other(cli: Command) -> None:
    for name in ("a", "b", "c"):
        cli("note", "add", name, f"note {name}")
    first = cli("note", "list", "--limit", "2")
    assert first.err.startswith("there may be more; next page: --before ")
    assert [line.split(maxsplit=2)[2] for line in first.lines[1:]] == ["c     note c", "b     note b"]
    short = first.lines[-1].split()[0]
    for place in ("b", first.err.split()[-1], short):
        assert cli("note", "list", "--limit", "2", "--before", place).lines[1].endswith("  a     note a")


def test_text_comes_from_stdin(cli: Command) -> None:
    assert cli("remember", "-", "--json", stdin="olá\nmundo\n".encode()).json["content"] == "olá\nmundo"
    assert cli("note", "add", "n", "-", "--json", stdin=b"one\r\n").json["content"] == "one"
    assert cli("note", "write", "n", "-", "--json", stdin=b"two\n\n").json["content"] == "two\n"
    assert cli("note", "write", "n", "-", "--json", stdin=b"\xef\xbb\xbfthree").json["content"] == "three"


def test_text_that_begins_with_a_dash_follows_two_dashes(cli: Command) -> None:
    assert cli("remember", "--json", "--", "--5 degrees").json["content"] == "--5 degrees"


def test_the_home_is_an_option_or_a_variable_or_a_folder_here(cli: Command, tmp_path: Path) -> None:
    cli("remember", "in the folder")
    assert (cli.folder / ".recollect" / "workspaces" / "default" / "memory.db").is_file()
    cli("remember", "by variable", RECOLLECT_HOME="variable.db")
    assert (cli.folder / "variable.db").is_file()
    cli("--home", "before.db", "remember", "by option", RECOLLECT_HOME="variable.db")
    assert cli("note", "list", "--home", "before.db", "--json").json[0]["content"] == "by option"
    cli("--home", "before.db", "remember", "the later one wins", "--home", str(tmp_path / "after.db"))
    assert [e["content"] for e in cli("note", "list", "--json", RECOLLECT_HOME=str(tmp_path / "after.db")).json] == [
        "the later one wins"
    ]


def test_json_may_stand_before_the_command(cli: Command) -> None:
    assert cli("--json", "note", "list").json == []


def test_agents_do_not_see_each_other(cli: Command, location: str) -> None:
    cli("--home", location, "--agent", "ana", "remember", "the secret is blue", "--name", "secret")
    ben = {"RECOLLECT_HOME": location, "RECOLLECT_AGENT": "ben"}
    assert cli("recall", "secret", "--json", **ben).json == []
    assert cli("note", "list", "--json", **ben).json == []
    assert cli("note", "show", "secret", code=3, **ben).out == b""
    assert cli("forget", "secret", code=3, **ben).out == b""
    assert (
        cli("recall", "secret", "--json", "--agent", "ana", **ben).json[0]["entry"]["content"] == "the secret is blue"
    )


def test_another_agents_knowledge_is_read_by_naming_the_agent(cli: Command) -> None:
    cli("--agent", "ana", "remember", "the secret is blue", "--name", "secret")
    assert cli("--agent", "ben", "recall", "secret", "--target-agent", "ana").lines[1] == "  the secret is blue"


def test_workspaces_are_separate(cli: Command) -> None:
    cli("--workspace", "one", "remember", "only in one")
    assert cli("note", "list", "--workspace", "two", "--json").json == []
    assert len(cli("note", "list", "--json", RECOLLECT_WORKSPACE="one").json) == 1


def test_a_backup_is_a_home(cli: Command, location: str) -> None:
    cli("--home", location, "remember", "worth keeping")
    copy = "copy.db" if location.endswith(".db") else "copy"
    assert cli("--home", location, "backup", copy).text == f"backed up to {copy}\n"
    assert cli("--home", copy, "recall", "keeping").lines[1] == "  worth keeping"
    assert cli("--home", location, "backup", f"again-{copy}", "--json").json is None


def test_check_finds_a_damaged_index_and_repairs_it(cli: Command) -> None:
    cli("--home", "m.db", "remember", "We deploy on Tuesdays")
    with apsw.Connection(str(cli.folder / "m.db")) as file:
        file.execute("DELETE FROM tail")
    file.close()
    found = cli("--home", "m.db", "check", code=7)
    assert found.lines[0] == "part   where            finding"
    assert found.lines[1].startswith("index  default/default  document 1 is not ")
    assert found.lines[2:] == ["1 entry, 1 operation; 1 of 1 finding not repaired"]
    assert cli("--home", "m.db", "check", "--json", code=7).json["findings"][0]["repaired"] is False
    assert "repaired" in cli("--home", "m.db", "check", "--repair").lines[1]
    assert cli("--home", "m.db", "check").text == "no errors: 1 entry, 1 operation\n"
    assert cli("--home", "m.db", "recall", "deploy").lines[1] == "  We deploy on Tuesdays"


def test_an_erasure_shows_its_receipt(cli: Command) -> None:
    cli("--home", "m.db", "remember", "the password is hunter2", "--name", "password")
    shown = cli("--home", "m.db", "forget", "password", "--erase", "--yes").lines
    assert re.fullmatch("erased [0-9a-f-]{36}", shown[0])
    assert [line.split()[0] for line in shown[1:]] == ["removed", "verified", "remaining"]
    assert b"hunter2" not in (cli.folder / "m.db").read_bytes()
    assert cli("--home", "m.db", "note", "history", shown[0][7:]).lines[1].endswith("(erased)")


def test_the_demo_tells_a_story_and_leaves_nothing_behind(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    story = cli("demo", TMPDIR=str(tmp_path / "tmp"))
    assert "$ recollect recall 'when are we deploying?'" in story.lines
    assert "restored release day  also: deploy day" in story.lines
    assert "no errors: 3 entries, 7 operations" in story.lines
    assert re.search(r"^operations  +7$", story.text, re.MULTILINE)
    assert story.err == "nothing found for 'deploy'\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list(cli.folder.iterdir()) == []


def test_the_demo_ends_with_commands_that_can_be_typed(cli: Command) -> None:
    program = cli.folder / "recollect"
    program.touch(mode=0o755)
    assert cli("demo", PATH=str(cli.folder)).lines[-1] == "  recollect note --help"


def test_the_demo_keeps_its_file_when_asked(cli: Command) -> None:
    story = cli("demo", "--keep", "demo.db", PATH="")
    assert story.lines[-1] == f"  {sys.executable} -m recollect --home demo.db note --help"
    assert cli("--home", "demo.db", "--agent", "demo", "recall", "deploy").lines[1] == "  We deploy on Wednesdays."
    assert f"{(cli.folder / 'demo.db').stat().st_size:,} bytes" in story.text
    assert cli("demo", "--keep", "demo.db", code=4).out == b""


def test_a_recall_names_the_search_in_conversations_if_a_running_one_answers(cli: Command) -> None:
    cli("remember", "The bakery opens at seven")
    ref = cli("conversation", "start", "--json").json["ref_code"]
    cli("conversation", "say", ref, "The lighthouse keeper is called Tomas.")
    asked = "who is the lighthouse keeper?"
    line = f"conversations have more: recollect conversation search '{asked}'"
    assert line in cli("recall", asked).err.splitlines()
    assert "Tomas" in cli("conversation", "search", asked).text
    assert line not in cli("recall", asked, "--category", "decisions").err
    assert line not in cli("recall", "when does the bakery open?").err
    assert "conversations have more" not in cli("--agent", "ben", "recall", asked).err
