"""One line on stderr and one exit code per kind of error; never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.command import Command, environment

import recollect
from recollect import errors
from recollect.cli.exit_codes import EXIT_CODES, exit_code
from recollect.errors import RecollectError


def test_every_kind_of_error_has_an_exit_code_of_its_own() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RecollectError)}
    assert kinds - {RecollectError} == set(EXIT_CODES)
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert not {0, 1, 130} & set(EXIT_CODES.values())


def test_the_code_of_an_error_is_that_of_its_nearest_kind() -> None:
    class Special(next(iter(EXIT_CODES))):  # type: ignore[misc]
        pass

    assert exit_code(Special("x")) == next(iter(EXIT_CODES.values()))
    assert exit_code(RecollectError("x")) == 1


@pytest.mark.parametrize(
    ("code", "args", "message"),
    [
        (2, ["remember", " "], "the content is empty"),
        (2, ["remember", "x", "--importance", "nan"], "importance must be a number from 0 to 1"),
        (2, ["remember", "x", "--scope", "channel"], "needs the channel"),
        (2, ["recall", "x", "--since", "soon"], "'soon' is not a time"),
        (2, ["recall", "x", "--limit", "-1"], "the limit must be a number of hits"),
        (2, ["recall", "x", "--mode", "magic"], "unknown recall mode"),
        (2, ["note", "write", "taken"], "a write needs something to write"),
        (2, ["--agent", "../x", "note", "list"], "'../x' cannot be the name of an agent"),
        (2, ["--home", "m.db", "--workspace", "w", "note", "list"], "a single file holds the workspace 'default' only"),
        (2, ["forget", "taken", "--erase"], "add --yes"),
        (2, ["--json", "demo"], "has no JSON output"),
        (2, ["jobs", "watch", "--pause", "0"], "not in the range"),
        (2, ["vault", "watch", "--pause", "-1"], "not in the range"),
        (3, ["--home", "nosuch", "export", "all.jsonl"], "nosuch; check the location"),
        (3, ["move", "nosuch.db", "elsewhere"], "nosuch.db; check the location"),
        (3, ["workspace", "delete", "nosuch"], "there is no workspace 'nosuch'"),
        (2, ["demo", "--keep", "demo.txt"], "ends in .db"),
        (3, ["note", "show", "nobody"], "nothing is remembered under 'nobody'"),
        (3, ["note", "history", "nobody"], "nothing is or was remembered under 'nobody'"),
        (3, ["note", "restore", "nobody"], "nothing in the trash under 'nobody'"),
        (3, ["forget", "nobody"], "nothing is remembered under 'nobody'"),
        (3, ["forget", "nobody", "--erase"], "nothing is or was remembered under 'nobody'"),
        (4, ["remember", "x", "--name", "taken"], "'taken' is already the name"),
        (4, ["note", "add", "taken", "x"], "'taken' is already the name"),
        (4, ["note", "rename", "other", "taken"], "'taken' is already the name"),
        (4, ["backup", "full"], "already exists"),
        (5, ["recall", "x", "--target-agent", "ben", "--scope", "channel"], "only the workspace scope of 'ben'"),
        (6, ["--home", "postgresql://127.0.0.1:1/nobody", "note", "list"], "cannot reach postgresql://127.0.0.1:1"),
        (7, ["--home", "broken.db", "note", "list"], "it was truncated"),
        (8, ["--home", "redis://x", "note", "list"], "redis:// is not a supported location"),
        (8, ["--home", "", "note", "list"], "the location is empty"),
        (8, ["recall", "x", "--mode", "vector"], "no embedder is configured"),
        (8, ["backup", "copy.db"], "a name without .db"),
    ],
)
def test_an_error_is_one_line_and_one_code(cli: Command, code: int, args: list[str], message: str) -> None:
    with recollect.open(cli.folder / ".recollect") as home:
        home.agent("default").remember("a", name="taken")
        home.agent("default").remember("b", name="other")
    (cli.folder / "broken.db").write_bytes(b"")
    (cli.folder / "full").mkdir()
    (cli.folder / "full" / "file").touch()
    failed = cli(*args, code=code)
    assert failed.out == b""
    assert failed.err.startswith("recollect: ")
    assert message in failed.err
    assert failed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["recal"], "No such command 'recal'. Did you mean 'recall'? See recollect --help"),
        (["recall"], "Missing argument 'QUERY'; see recollect recall --help"),
        (["note", "show", "a", "b"], "Got unexpected extra argument(s) (b); see recollect note show --help"),
        (["check", "--agent", "x"], "No such option: --agent; see recollect check --help"),
        (
            ["recall", "-deploy"],
            "No such option: -d; put -- before text that begins with a dash; see recollect recall --help",
        ),
        (
            ["recall", "x", "--kind", "memo"],
            "Invalid value for '--kind': 'memo' is not one of 'note', 'archive', 'chunk'; see recollect recall --help",
        ),
    ],
)
def test_a_misspelt_command_is_one_line_that_says_where_to_look(cli: Command, args: list[str], message: str) -> None:
    failed = cli(*args, code=2)
    assert failed.err == f"recollect: {message}\n"
    assert failed.out == b""


def test_input_that_is_not_text_is_refused(cli: Command) -> None:
    assert "not UTF-8" in cli("remember", "-", stdin=b"\xff\xfe", code=2).err
    assert "NUL" in cli("remember", "-", stdin=b"a\0b", code=2).err
    assert "not UTF-8; give it as UTF-8, in a locale such as" in cli("remember", b"\xff", code=2).err
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert "a locale such as C.UTF-8" in cli("remember", "caf\u00e9".encode(), code=2, **plain).err
    assert "10,000,000 bytes" in cli("remember", "-", stdin=b"a" * 10_000_000, code=2).err
    assert cli("note", "list", "--json").json == []


def test_a_failed_check_says_so_for_a_broken_file(cli: Command) -> None:
    cli("--home", "m.db", "remember", "x" * 9000)
    file = cli.folder / "m.db"
    file.write_bytes(file.read_bytes()[:8192])
    report = cli("--home", "m.db", "check", "--json", code=7).json
    assert [finding["part"] for finding in report["findings"]] == ["file"]
    assert "Restore it from a backup" in cli("--home", "m.db", "recall", "x", code=7).err


@pytest.fixture
def long_output(cli: Command) -> list[str]:
    """The arguments of a command whose output is far longer than a pipe holds."""
    with recollect.open(cli.folder / "m.db") as home:
        home.agent("default").remember("word " * 190_000)
    return ["--home", "m.db", "note", "changes"]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_has_seen_enough_is_no_error(cli: Command, long_output: list[str], more: list[str]) -> None:
    with cli.start(*long_output, *more) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("args", [["--help"], ["check"], ["check", "--json"], ["demo"]])
def test_a_reader_that_is_gone_before_the_first_line_is_no_error(cli: Command, args: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "recollect", *args],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cli.folder,
        env=environment(),
        check=False,
    )
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 1


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["as usual", "ignored"])
def interrupts(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the caller does about SIGINT, which a command inherits: a script ignores it for its background jobs."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupted_command_is_quiet(cli: Command, long_output: list[str]) -> None:
    with cli.start(*long_output) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)  # it is writing now, and cannot end before we read on
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.stderr.read() == b""
    assert process.returncode == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is a thing of Linux")
def test_an_output_that_cannot_be_written_is_one_line(cli: Command) -> None:
    with open("/dev/full", "w") as full:
        failed = subprocess.run(
            [sys.executable, "-m", "recollect", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cli.folder,
            env=environment(),
            check=False,
        )
    assert failed.stderr == "recollect: input or output failed: No space left on device\n"
    assert failed.returncode == 1


def test_an_input_without_an_end_is_refused(cli: Command) -> None:
    assert "the input exceeds" in cli("remember", "-", stdin=b"a" * 100_000_001, code=2).err
