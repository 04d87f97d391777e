"""`recollect export`, `import` and `move`, seen from outside."""

from __future__ import annotations

import gzip
import json

from surfaces.command import Command

import recollect


def test_a_memory_is_exported_imported_and_moved(cli: Command, location: str) -> None:
    cli("--home", location, "--agent", "ana", "remember", "We deploy on Tuesdays", "--name", "deploy day")
    assert cli("--home", location, "export", "one.jsonl").text == "exported 4 rows of 1 agent to one.jsonl\n"
    done = cli("--home", "copy", "import", "one.jsonl")
    assert done.lines == ["agent        added", "default/ana  1 entry, 1 operation"]
    assert done.err == "one.jsonl: format recollect\n"
    moved = cli("move", "copy", "moved.db")
    assert moved.lines[-1] == "copied to moved.db; copy is unchanged"
    with recollect.open(cli.folder / "moved.db") as home:
        assert home.agent("ana").get("deploy day").content == "We deploy on Tuesdays"
    assert cli("move", "copy", "moved.db").lines == ["copied to moved.db; copy is unchanged"]
    cli("--home", "moved.db", "remember", "something of its own")
    assert "the target is not empty" in cli("move", "copy", "moved.db", code=4).err


def test_a_dash_is_the_standard_output_and_the_standard_input(cli: Command, location: str) -> None:
    cli("--home", location, "--agent", "ana", "remember", "We deploy on Tuesdays", "--name", "deploy day")
    received = cli("--home", location, "export", "-")
    assert received.err == "exported 4 rows of 1 agent\n"
    cli("--home", location, "export", "one.jsonl")
    lines = received.lines
    assert lines[1:] == (cli.folder / "one.jsonl").read_text().splitlines()[1:]  # the first one tells the moment
    as_json = cli("--home", location, "export", "-", "--json")
    assert as_json.lines[1:] == lines[1:]
    assert json.loads(as_json.err)["path"] == "-"
    done = cli("--home", "copy", "import", "-", stdin=received.out)
    assert done.lines == ["agent        added", "default/ana  1 entry, 1 operation"]
    assert done.err == "the input: format recollect\n"
    assert cli("--home", "copy", "import", "-", stdin=gzip.compress(received.out)).lines[-1] == "nothing new"
    assert not (cli.folder / "-").exists()


def test_what_comes_from_the_standard_input_and_cannot_be_imported_is_called_that(cli: Command) -> None:
    assert cli("import", "-", stdin=b"[]", code=2).err.startswith("recollect: the input is none of the formats")
    assert "'a/b'" in cli("import", "-", "--agent", "a/b", stdin=b"[]", code=2).err


def test_no_password_is_shown_when_a_memory_is_moved_or_filled(cli: Command, postgres_url: str) -> None:
    location = postgres_url.replace("postgres@", "postgres:pa55word@")
    cli("--home", "a.db", "remember", "x")
    received = [
        cli("move", "a.db", location),
        cli("move", location, "b.db"),
        cli("--home", location, "demo", "--fill", code=4),
    ]
    assert "postgres:…@" in received[0].text
    assert not [one for one in received if "pa55word" in one.text + one.err]


def test_a_packed_file_that_unpacks_to_far_too_much_is_refused(cli: Command) -> None:
    long = b'[{"memory": "' + b"x" * 60_000_000 + b'"}]'
    (cli.folder / "mem0.json.gz").write_bytes(gzip.compress(long))
    done = cli("--home", "a.db", "import", "mem0.json.gz", code=2)
    assert "unpacks to more than" in done.err
    assert not (cli.folder / "a.db").exists()
    lines = [{"memory": f"note {number} of some length, as notes are"} for number in range(2_000)]
    (cli.folder / "mem0.json.gz").write_bytes(gzip.compress(json.dumps(lines).encode()))
    assert "2,000 entries" in cli("--home", "a.db", "import", "mem0.json.gz").text


def test_where_nothing_is_stored_nothing_is_exported_or_moved(cli: Command) -> None:
    (cli.folder / "empty").mkdir()
    cli("--home", "empty", "export", "all.jsonl", code=3)
    cli("move", "empty", "copy", code=3)
    assert [path.name for path in cli.folder.iterdir()] == ["empty"]
    cli("--home", "guarded", "token", "create", "laptop")  # an account alone is something
    cli("move", "guarded", "copy.db")


def test_a_dry_run_says_what_it_would_do_and_a_second_import_that_nothing_is_new(cli: Command) -> None:
    (cli.folder / "mem0.json").write_text(json.dumps([{"memory": "Lives in Porto"}, {"memory": ""}]))
    dry = cli("--home", "a.db", "import", "mem0.json", "--agent", "zoe", "--dry-run")
    assert dry.lines == ["agent        added", "default/zoe  1 entry", "dry run: nothing was changed"]
    assert "memory 2 of the file is empty, and was left out" in dry.err
    assert not (cli.folder / "a.db").exists()
    assert cli("--home", "a.db", "--json", "import", "mem0.json", "--agent", "zoe").json["parts"] == [
        {"where": "default/zoe", "added": {"entries": 1}, "changed": {}, "known": {}}
    ]
    assert cli("--home", "a.db", "import", "mem0.json", "--agent", "zoe").lines[-1] == "nothing new"


def test_a_failed_import_is_reported_in_one_line(cli: Command) -> None:
    (cli.folder / "export.zip").write_bytes(b"PK\x03\x04 and so on")
    (cli.folder / "notes.json").write_text("[]")
    assert "export.zip is damaged" in cli("import", "export.zip", code=2).err
    assert "is none of the formats" in cli("import", "notes.json", code=2).err
    assert "there is no file nowhere" in cli("import", "nowhere", code=8).err
    assert "'word' is not one of" in cli("import", "notes.json", "--format", "word", code=2).err


def test_an_import_shows_a_progress_bar_on_a_terminal(cli: Command) -> None:
    (cli.folder / "mem0.json").write_text(json.dumps([{"memory": "Lives in Porto"}]))
    code, shown = cli.on_terminal("--home", "a.db", "import", "mem0.json")
    assert code == 0
    assert "100%" in shown
    assert "default/default" in shown
