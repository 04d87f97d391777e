"""What reaches the terminal: the text as it is, and nothing that a text can do to a terminal."""

from __future__ import annotations

import re

import pytest
from surfaces.command import Command

import recollect
from recollect import Alias, Remove, Rename, Write

HOSTILE = "[red]red[/red] :smile: \x1b[31mred\x1b[0m \x9b31m \x07 😀👩‍👩‍👧 שלום مرحبا \u202etxt.exe\u2066 \\[x]"
SHOWN = "[red]red[/red] :smile: \\x1b[31mred\\x1b[0m \\x9b31m \\x07 😀👩‍👩‍👧 שלום مرحبا \\u202etxt.exe\\u2066 \\[x]"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STYLE = re.compile("\x1b\\[[0-9;]*m")


def keep(cli: Command, name: str, content: str) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        home.agent("default").remember(content, name=name)


@pytest.fixture
def hostile(cli: Command) -> Command:
    """A memory that holds a hostile text in every field that takes one."""
    with recollect.open(cli.folder / ".recollect") as home:
        mem = home.agent("default")
        mem.remember(HOSTILE, name="[bold]x[/bold]", tags=["[blink]"], context=HOSTILE, source="[dim]s")
        mem.apply(Alias("[bold]x[/bold]", "[/]"))
    return cli


@pytest.mark.parametrize(
    "args",
    [
        ["recall", "red"],
        ["note", "list"],
        ["note", "show", "[/]"],
        ["note", "history", "[/]"],
        ["forget", "[/]"],
        ["note", "show", "\x1b[31mnobody"],
        ["recall", "\x1b[31mnothing"],
        ["recall", "red", "--json"],
    ],
)
def test_no_content_reaches_a_terminal_as_a_command(hostile: Command, args: list[str]) -> None:
    _, sent = hostile.on_terminal(*args, columns=400)
    assert sent.strip()
    assert not HARMFUL.search(STYLE.sub("", sent))
    assert not set(STYLE.findall(sent)) - {"\x1b[1m", "\x1b[2m", "\x1b[0m"}


def test_markup_and_letters_of_all_scripts_are_shown_as_they_are(hostile: Command) -> None:
    assert hostile("recall", "red").lines[1] == f"  {SHOWN}"
    assert hostile("note", "list").lines[1].endswith(f"  [bold]x[/bold]  #[blink] {SHOWN[:52]}…")
    assert hostile("note", "show", "[/]").lines[-1] == SHOWN
    assert hostile("note", "show", "[/]").lines[1:3] == ["  aliases     [/]", "  tags        [blink]"]


def test_json_holds_the_text_exactly(hostile: Command) -> None:
    shown = hostile("note", "show", "[/]", "--json")
    assert shown.json["content"] == HOSTILE
    assert "😀👩‍👩‍👧 שלום مرحبا".encode() in shown.out
    assert b"\x1b" not in shown.out
    assert "\x9b".encode() not in shown.out


def test_line_breaks_stay_where_a_note_is_shown_whole(cli: Command) -> None:
    cli("note", "add", "n", "-", stdin=b"one\r\n\ttwo\n\nthree\n")
    assert cli("note", "show", "n").text.endswith("\n\none\n\ttwo\n\nthree\n")
    assert cli("note", "list").lines[1].endswith("  n     one two three")


def test_styles_are_for_terminals_only(cli: Command) -> None:
    keep(cli, "n", "text")
    assert "\x1b[2mid" in cli.on_terminal("note", "list")[1]
    assert "\x1b" not in cli("note", "list").text
    assert "\x1b" not in cli.on_terminal("note", "list", NO_COLOR="1")[1]
    assert "\x1b" not in cli.on_terminal("note", "list", TERM="dumb")[1]
    assert "\x1b" not in cli("recall", "text").text
    assert cli("recall", "text", FORCE_COLOR="1").text.startswith("\x1b[1mn\x1b[0m")


def test_a_line_ends_where_the_terminal_ends(cli: Command) -> None:
    keep(cli, "n", "word " * 50)
    _, sent = cli.on_terminal("note", "list", columns=40)
    assert [row[22:] for row in STYLE.sub("", sent).splitlines()[1:]] == ["n     word word w…"]
    _, sent = cli.on_terminal("recall", "word", columns=40)
    rows = STYLE.sub("", sent).splitlines()[1:]
    assert rows[:2] == ["  word word word word word word word"] * 2
    assert max(len(row) for row in rows) <= 40


def test_a_list_of_notes_keeps_to_80_columns(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        mem = home.agent("default")
        mem.remember("no name", tags=[f"a-long-tag-{number}" for number in range(12)])
        mem.remember("a name", name="a very long name " * 8)
    _, sent = cli.on_terminal("note", "list", "--limit", "2", columns=80)
    rows = STYLE.sub("", sent).splitlines()
    assert max(len(row) for row in rows) <= 80
    assert [row[22:] for row in rows[1:3]] == [
        "a very long name a …  a name",
        "                      #a-long-tag-0 #a-long-tag-1 no name",
    ]
    assert "--before " in rows[3]


def test_a_history_tells_what_changed(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        mem = home.agent("default")
        mem.remember(
            "We deploy on Tuesdays, after the standup and the backup, and then ask Ana", name="n", importance=0
        )
        mem.apply(Write("n", "We deploy on Wednesdays, after the standup and the backup, and then ask Ana"))
        mem.apply(Write("n", importance=0.9, tags=["ops"]))
        mem.apply(Write("n", "Something else"))
        mem.apply(Write("n", "\x1b[31m" + "red " * 3_000))
        mem.apply(Rename("n", "m"))
        mem.apply(Remove("m"))
    _, sent = cli.on_terminal("note", "history", "m", columns=80)
    rows = [" ".join(row.split()) for row in STYLE.sub("", sent).splitlines()]
    received = " ".join(rows)
    assert "content We deploy on [-Tuesdays,-] {+Wednesdays,+} after the standup and … write" in received
    assert "importance 0 -> 0.9" in received or "importance 0.0 -> 0.9" in received
    assert "tags nothing -> ops" in rows
    assert "-> Something else write" in received
    assert "n -> m" in rows
    assert "\x1b[31m" not in sent
    assert max(len(row) for row in STYLE.sub("", sent).splitlines()) <= 80
    assert len(rows) < 40
    whole = cli("note", "history", "m").text
    assert whole.count("red") == 2 * 3_000


@pytest.mark.parametrize("args", [("note", "list"), ("note", "trash"), ("recall", "text"), ("jobs", "runs")])
def test_a_limit_of_0_is_not_reported_as_nothing_found(cli: Command, args: tuple[str, ...]) -> None:
    keep(cli, "n", "text")
    assert cli(*args, "--limit", "0").err == "--limit 0 returns nothing; pass 1 or more\n"


def test_figures_are_shown_in_words_with_their_location(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        for workspace in ("north", "south"):
            talk = home.agent("default", workspace).conversations.start()
            for number in range(25):
                talk.user(f"question {number}")
                talk.assistant(f"We decided on answer {number}.")
    ran = cli("jobs", "run").text
    for workspace in ("north", "south"):
        assert f"extract  in {workspace}  " in ran
    assert "conversations trimmed 1" in ran
    compacted = cli("compact").text
    assert "  checkpoints cleaned    0\n" in compacted
    assert "  index rebuilt          yes\n" in compacted
    for text in (ran, compacted, cli("jobs", "list").text, cli("jobs", "runs").text):
        assert re.search("Trimmed|Cleaned|Merged|Rebuilt", text) is None
    assert "conversationsTrimmed" in cli("compact", "--json").json


def test_a_misspelt_variable_is_refused_before_anything_is_written(cli: Command) -> None:
    refused = cli("remember", "for bob", code=8, RECOLLECT_AGNET="bob")
    assert refused.err == "recollect: the variable RECOLLECT_AGNET is unknown; did you mean RECOLLECT_AGENT?\n"
    assert not (cli.folder / ".recollect").exists()


def test_a_long_value_is_wrapped_beside_its_name(cli: Command) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        home.agent("default").remember("text", name="n", context="because " * 6)
    _, sent = cli.on_terminal("note", "show", "n", columns=40)
    rows = STYLE.sub("", sent).splitlines()
    assert rows[1:4] == [
        "  context     because because because",
        "              because because because",
        "  importance  0.5",
    ]


def test_a_narrow_terminal_shows_rows_below_each_other(cli: Command) -> None:
    added = cli("reminder", "add", "2099-01-01", "look at it", "--recipient", "Bob", "--json").json
    _, sent = cli.on_terminal("reminder", "list", columns=50)
    assert STYLE.sub("", sent).splitlines() == [
        "2099-01-01T00:00:00Z",
        "  for      Bob",
        f"  id       {added['id']}",
        "  message  look at it",
    ]
    _, sent = cli.on_terminal("reminder", "list", columns=120)
    assert [row.split()[0] for row in STYLE.sub("", sent).splitlines()] == ["due", "2099-01-01T00:00:00Z"]
    cli("jobs", "run")
    keep(cli, "n", "text")
    _, sent = cli.on_terminal("jobs", "list", columns=50)
    assert "  next " in STYLE.sub("", sent)
    _, sent = cli.on_terminal("stats", columns=40)
    assert max(len(row) for row in STYLE.sub("", sent).splitlines()) <= 40


def test_wide_letters_take_two_cells(cli: Command) -> None:
    cli("conversation", "start")
    cli("conversation", "say", "last", "eins", "--speaker", "日本")
    cli("conversation", "say", "last", "zwei", "--speaker", "Anna")
    assert cli("conversation", "show", "last").lines[1:] == ["  1 日本  eins", "  2 Anna  zwei"]


def test_a_pipe_gets_whole_texts_and_short_lists(cli: Command) -> None:
    keep(cli, "n", "word " * 50)
    assert cli("note", "changes").lines[1].endswith("n: " + " ".join(["word"] * 50))
    assert max(len(row) for row in cli("note", "list").lines) == 100
    assert len(cli("note", "list", "--json").json[0]["content"]) == 250


def test_what_is_cut_off_is_marked(cli: Command) -> None:
    keep(cli, "n", f"{'a' * 100} needle {'b' * 200}")
    shown = cli("recall", "needle").lines[1]
    assert shown.startswith("  … aaa")
    assert shown.endswith("bbb …")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_letters_shows_marks(cli: Command, encoding: str) -> None:
    keep(cli, "日本", "caf\u00e9 日本 …")
    shown = cli("note", "list", PYTHONIOENCODING=encoding)
    assert shown.out.splitlines()[1].endswith("  café ?? ?".encode(encoding, errors="replace"))
    assert "nobody ??" in cli("note", "show", "nobody 日本", code=3, PYTHONIOENCODING=encoding).err
    assert cli("note", "show", "日本", "--json", PYTHONIOENCODING=encoding).json["name"] == "日本"
    assert cli("--help", PYTHONIOENCODING=encoding).out.startswith(b"Usage: recollect")
    assert cli("demo", PYTHONIOENCODING=encoding).out


def test_the_plain_locale_works(cli: Command) -> None:
    cli("note", "add", "日本", "caf\u00e9", LC_ALL="C", LANG="C")
    assert "日本" in cli("note", "list", LC_ALL="C", LANG="C").text


@pytest.mark.parametrize(("keys", "code", "left"), [(b"y\n", 0, 0), (b"n\n", 1, 1), (b"\n", 1, 1), (b"\x04", 1, 1)])
def test_erasing_asks_on_a_terminal(cli: Command, keys: bytes, code: int, left: int) -> None:
    keep(cli, "secret", "x")
    ended, sent = cli.on_terminal("forget", "secret", "--erase", keys=keys)
    assert "Permanently erase 'secret' and its history? [y/N]" in sent
    assert ended == code
    assert len(cli("note", "list", "--json").json) == left


def test_erasing_does_not_ask_with_yes(cli: Command) -> None:
    keep(cli, "secret", "x")
    ended, sent = cli.on_terminal("forget", "secret", "--erase", "--yes")
    assert ended == 0
    assert "[y/N]" not in sent
    assert cli("note", "list", "--json").json == []


def test_an_interrupted_question_changes_nothing(cli: Command) -> None:
    keep(cli, "secret", "x")
    ended, sent = cli.on_terminal("forget", "secret", "--erase", interrupt_at=b"[y/N]")
    assert ended == 130
    assert "Traceback" not in sent
    assert len(cli("note", "list", "--json").json) == 1


@pytest.mark.parametrize("text", ["- [ ] call Anna", "-5", "---", "--> there", "-h is help"])
def test_text_may_begin_with_a_dash(cli: Command, text: str) -> None:
    cli("remember", text, "--name", "dashed", "--tag", "ops")
    shown = cli("note", "show", "dashed", "--json").json
    assert (shown["content"], shown["tags"]) == (text, ["ops"])
    cli("note", "write", "dashed", f"- {text}")
    assert cli("note", "show", "dashed", "--json").json["content"] == f"- {text}"
    cli("recall", text)


def test_the_end_of_an_id_stands_for_the_id(cli: Command) -> None:
    whole = cli("remember", "We deploy on Tuesdays", "--json").json["id"]
    short = cli("note", "list").lines[1].split()[0]
    assert whole.endswith(short)
    assert cli("note", "show", short, "--json").json["id"] == whole
    cli("note", "write", short, "We deploy on Fridays")
    assert cli("forget", short).text == f"forgot {whole}\n"
    assert cli("note", "trash").lines[1].split()[0] == short
    assert cli("note", "restore", short).text == f"restored {whole}\n"
    cli("remember", "A name goes first", "--name", short)
    assert cli("note", "show", short, "--json").json["content"] == "A name goes first"
    assert "nothing is remembered under '00000000'" in cli("note", "show", "00000000", code=3).err


def test_a_vault_file_that_cannot_be_read_is_reported_in_words(cli: Command) -> None:
    home = cli.folder / "home"
    with recollect.open(home) as opened:
        opened.agent("default").remember("We deploy on Tuesdays.", category="decisions")
        opened.vault().sync()
        folder = opened.vault().folder
    file = folder / "default" / "decisions.md"
    file.rename(folder / "elsewhere.md")
    file.symlink_to(folder / "elsewhere.md")
    received = cli("--home", str(home), "remember", "We deploy at noon.", "--category", "decisions").err
    assert received.startswith("the vault: default/decisions.md: ")
    assert "Problem(" not in received
