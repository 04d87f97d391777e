"""Hooks that a running process handles, and transcripts that grow."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from surfaces.command import Ended, environment

import recollect
from recollect.cli import hook_call, hook_client, main
from recollect.cli.hook_server import handle_until_idle, handling_hooks
from recollect.home import Home
from recollect.model.history import EventType
from recollect.transcripts import messages_from

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets")


class Session:
    """A session of a coding agent in a project: its hooks, and its transcript."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]) -> None:
        self.folder, self._monkeypatch, self._captured = folder, monkeypatch, captured
        self.transcript = folder / "transcript.jsonl"
        self.transcript.touch()

    def say(self, role: str, text: str, **more: object) -> None:
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": role, "message": {"role": role, "content": text}, **more}) + "\n")

    def hook(self, event: str, *options: str, home: str | None = None, **received: object) -> Ended:
        said = {"session_id": "s-1", "cwd": str(self.folder), "transcript_path": str(self.transcript), **received}
        words = ["hook", event, "--home", home or str(self.folder / "home"), *options]
        self._monkeypatch.setattr(sys, "argv", ["recollect", *words])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(said).encode())))
        assert main() == 0
        captured = self._captured.readouterr()
        return Ended(0, captured.out, captured.err.decode())

    def stored(self, workspace: str = "default", agent: str = "default") -> list[list[str]]:
        """The messages of each conversation, oldest first."""
        with recollect.open(self.folder / "home") as home:
            talks = home.agent(agent, workspace).conversations
            found = [[*talks.get(one.id).events()] for one in reversed(talks.list(True))]
        said = (EventType.USER, EventType.MODEL)
        return [[event.content for event in events if event.type in said] for events in found]


@pytest.fixture
def session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Session]:
    for name in [name for name in os.environ if name.startswith("RECOLLECT_") or name == "CLAUDE_PROJECT_DIR"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RECOLLECT_EMBEDDER_KIND", "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    runtime = tempfile.mkdtemp(prefix="r", dir="/tmp")  # the path of a socket is limited to about 100 bytes
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    yield Session(tmp_path, monkeypatch, capsysbinary)
    shutil.rmtree(runtime)


@pytest.fixture
def served(session: Session) -> Iterator[list[Home]]:
    """A process that serves the home of the session; lists the home once per handled hook."""
    asked: list[Home] = []
    with recollect.open(session.folder / "home") as home:

        def opened() -> Home:
            asked.append(home)
            return home

        with handling_hooks(str(session.folder / "home"), opened):
            yield asked


def test_a_running_process_handles_the_hooks_of_a_session(session: Session, served: list[Home]) -> None:
    served[:] = []
    with recollect.open(session.folder / "home") as home:
        home.agent("default").remember("We use pnpm, never npm")
    assert "the conversation" in session.hook("session-start").json["hookSpecificOutput"]["additionalContext"]
    session.say("user", "Install lodash")
    received = session.hook("user-prompt", prompt="install lodash").json["hookSpecificOutput"]
    assert "We use pnpm, never npm" in received["additionalContext"]
    assert received["hookEventName"] == "UserPromptSubmit"
    session.say("assistant", "Done with pnpm.")
    for event in ("stop", "pre-compact", "session-end"):
        assert session.hook(event).out == b""
    assert len(served) == 5
    assert session.stored() == [["Install lodash", "Done with pnpm."]]


def test_the_output_is_the_same_with_and_without_a_running_process(session: Session) -> None:
    with recollect.open(session.folder / "home") as home:
        home.agent("default").remember("We deploy on Tuesdays", category="decisions")
        alone = session.hook("user-prompt", prompt="when do we deploy?")
        with handling_hooks(str(session.folder / "home"), lambda: home):
            served = session.hook("user-prompt", prompt="when do we deploy?")
    assert served == alone
    assert b"We deploy on Tuesdays" in served.out


def test_without_a_process_or_when_it_has_gone_a_hook_does_its_work_itself(session: Session) -> None:
    session.say("user", "Is anybody there?")
    session.hook("stop")
    with recollect.open(session.folder / "home") as home, handling_hooks(str(session.folder / "home"), lambda: home):
        folder = Path(os.environ["XDG_RUNTIME_DIR"], "recollect/hooks")
        (path,) = folder.iterdir()
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))  # of a process that was killed
    session.say("assistant", "Yes.")
    session.hook("stop")
    assert session.stored() == [["Is anybody there?", "Yes."]]
    with recollect.open(session.folder / "home") as home, handling_hooks(str(session.folder / "home"), lambda: home):
        assert [one.name for one in folder.iterdir()] == [path.name]
    assert [*folder.iterdir()] == []


def test_a_process_that_fails_in_the_middle_of_a_hook_loses_nothing(session: Session) -> None:
    def failing() -> Home:
        raise KeyError

    session.say("user", "Is anybody there?")
    with handling_hooks(str(session.folder / "home"), failing):
        assert session.hook("stop").err == ""
    assert session.stored() == [["Is anybody there?"]]


def test_a_request_gets_the_workspace_and_the_agent_that_it_names(session: Session, served: list[Home]) -> None:
    with recollect.open(session.folder / "home") as home:
        for agent, workspace in (("ana", "shop"), ("ben", "shop"), ("ana", "boats")):
            home.agent(agent, workspace).remember(f"We deploy with {agent} of {workspace}", category="decisions")
    ask = {"prompt": "how do we deploy?"}
    for agent, workspace in (("ana", "shop"), ("ben", "shop"), ("ana", "boats")):
        received = session.hook("user-prompt", "--agent", agent, "--workspace", workspace, **ask).out
        assert received.count(b"We deploy with") == 1
        assert f"We deploy with {agent} of {workspace}".encode() in received
    assert session.hook("user-prompt", **ask).out == b""
    assert len(served) == 4


@pytest.mark.parametrize("change", ["home", "setting"])
def test_a_process_with_another_home_or_other_settings_is_not_used(
    session: Session, served: list[Home], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    home = None
    if change == "home":
        home = str(session.folder / "other")
        monkeypatch.setattr(hook_client, "socket_prefix", lambda home: "")
    else:
        monkeypatch.setattr(hook_client, "variables", lambda: {"RECOLLECT_WINDOW_EVENTS": "20"})
    session.say("user", "Whose is this?")
    session.hook("stop", home=home)
    assert served == []
    where = home or str(session.folder / "home")
    with recollect.open(where) as opened:
        assert len(opened.agent("default").conversations.list()) == 1


def test_sockets_are_for_this_user_only(session: Session, served: list[Home]) -> None:
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "recollect/hooks")
    (path,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    folder.chmod(0o755)  # others could have put a socket there
    session.hook("stop")
    assert served == []
    with handling_hooks(str(session.folder / "elsewhere"), lambda: served[0]):
        assert [*folder.iterdir()] == [path]


@pytest.mark.parametrize("sent", [b"", b"not json", b"[]", b"{}", b'{"version": 1}'])
def test_a_request_that_makes_no_sense_is_not_answered(session: Session, served: list[Home], sent: bytes) -> None:
    (path,) = Path(os.environ["XDG_RUNTIME_DIR"], "recollect/hooks").iterdir()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) in (b"", b"{}")
    assert "the conversation" in session.hook("session-start").text


@pytest.mark.parametrize("command", ["mcp", "serve"])
def test_the_servers_handle_hooks(session: Session, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    given = {name: os.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR")}
    words = [sys.executable, "-m", "recollect", command, "--home", str(session.folder / "home")]
    words += ["--port", "0"] if command == "serve" else []
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(**given)) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        if command == "mcp":
            ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            server.stdin.write(json.dumps(ask).encode() + b"\n")
            server.stdin.flush()
        assert server.stdout.readline()  # it runs
        session.say("user", "Is anybody there?")
        given_hook = json.dumps({"session_id": "s-1", "transcript_path": str(session.transcript)}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given_hook)))
        assert hook_client.delegated(["stop", "--home", str(session.folder / "home")])
        server.terminate()
        server.communicate()
    assert session.stored() == [["Is anybody there?"]]


# Processes that hooks start


class Residents:
    """Hooks as a host runs them: in processes of their own, and with pipes whose end it waits for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._folder = Path(os.environ["XDG_RUNTIME_DIR"], "recollect/hooks")

    def hook(self, event: str, *options: str, variable: str = "20", **received: object) -> bytes:
        said = {"session_id": "s-1", "transcript_path": str(self._session.transcript), **received}
        words = ["hook", event, "--home", str(self._session.folder / "home"), *options]
        given = {name: os.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR")}
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *words],
            input=json.dumps(said).encode(),
            env=environment(**given, RECOLLECT_WINDOW_EVENTS=variable),
            check=True,
            capture_output=True,
            timeout=60,
        )
        assert done.stderr == b""
        return done.stdout

    def processes(self) -> set[int]:
        """The processes that wait for hooks."""
        names = [one.name for one in self._folder.iterdir()] if self._folder.exists() else []
        return {int(name.rpartition("-idle")[2].removesuffix(".sock")) for name in names if "-idle" in name}

    def end(self) -> None:
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture
def residents(session: Session) -> Iterator[Residents]:
    found = Residents(session)
    yield found
    found.end()


KEEP = ("--keep-running", "5")


def test_the_first_hook_starts_a_process_that_handles_the_next_ones(session: Session, residents: Residents) -> None:
    with recollect.open(session.folder / "home") as home:
        home.agent("default").remember("We use pnpm, never npm")
    session.say("user", "Install lodash")
    assert b"We use pnpm" in residents.hook("user-prompt", *KEEP, prompt="install lodash")
    (process,) = residents.processes()
    session.say("assistant", "Done with pnpm.")
    residents.hook("stop", *KEEP)
    assert residents.processes() == {process}
    shutil.rmtree(session.folder / "home")  # it holds no file of the memory between hooks
    assert residents.hook("stop", *KEEP) == b""
    assert session.stored() == [["Install lodash", "Done with pnpm."]]


def test_a_hook_continues_when_the_process_was_killed(session: Session, residents: Residents) -> None:
    session.say("user", "Is anybody there?")
    residents.hook("stop", *KEEP)
    (first,) = residents.processes()
    os.kill(first, signal.SIGKILL)
    session.say("assistant", "Yes.")
    residents.hook("stop", *KEEP)
    assert session.stored() == [["Is anybody there?", "Yes."]]
    assert first not in residents.processes()  # another one took its place


def test_no_process_is_started_unless_asked_for_and_the_number_is_limited(
    session: Session, residents: Residents
) -> None:
    residents.hook("stop")
    assert residents.processes() == set()
    for number in range(hook_client.MAX_PROCESSES + 1):
        residents.hook("stop", *KEEP, variable=str(20 + number))  # other settings need another process
    assert len(residents.processes()) == hook_client.MAX_PROCESSES


def test_a_process_ends_when_no_hook_has_come_for_some_time(session: Session, residents: Residents) -> None:
    residents.hook("stop", "--keep-running", "0.001")
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "recollect/hooks")
    handle_until_idle(str(session.folder / "home"), 0.0001, lambda: None)
    assert not [one for one in folder.iterdir() if str(os.getpid()) in one.name]


# Transcripts


def test_what_was_read_of_a_transcript_is_not_read_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []

    def reading(file: Any, start: int = 0) -> Any:
        starts.append(start)
        return messages_from(file, start)

    monkeypatch.setattr(hook_call, "messages_from", reading)
    sizes = []
    for turn in range(30):
        session.say("user", f"question {turn}")
        session.hook("user-prompt", prompt=f"question {turn}")
        sizes.append(session.transcript.stat().st_size)
        session.say("assistant", "Yes.")  # the same answer every time
        session.hook("stop")
        sizes.append(session.transcript.stat().st_size)
    session.hook("session-end")
    assert starts == [0, *sizes[:-1], sizes[-1]]
    assert session.stored() == [[text for turn in range(30) for text in (f"question {turn}", "Yes.")]]


def rewritten(session: Session, *lines: str) -> None:
    session.transcript.unlink()
    for number, text in enumerate(lines):
        session.say("assistant" if number % 2 else "user", text)


@pytest.mark.parametrize(
    ("lines", "stored"),
    [
        (["a", "b", "c"], ["a", "b", "c", "d"]),  # cut
        (["a", "b", "x", "y"], ["a", "b", "c", "d", "x", "y"]),  # edited
        (["c", "d", "e"], ["a", "b", "c", "d", "e"]),  # begins later
        (["x", "y"], ["a", "b", "c", "d", "x", "y"]),  # another file
        ([], ["a", "b", "c", "d"]),
    ],
)
def test_a_transcript_that_was_replaced_or_cut_is_compared_with_what_is_stored(
    session: Session, lines: list[str], stored: list[str]
) -> None:
    for text in "abcd":
        session.say("assistant" if text in "bd" else "user", text)
        session.hook("stop")
    session.transcript.touch()
    rewritten(session, *lines) if lines else session.transcript.write_text("")
    session.hook("stop")
    session.hook("stop")
    assert session.stored() == [stored]


def test_a_message_that_was_erased_does_not_come_back_from_the_transcript(session: Session) -> None:
    session.say("user", "the password is swordfish")
    session.hook("stop")
    with recollect.open(session.folder / "home") as home:
        (info,) = home.agent("default").conversations.list()
        talk = home.agent("default").conversations.get(info.id)
        (event,) = talk.events()
        talk.erase(event)
    session.say("assistant", "Noted.")
    session.hook("stop")
    assert session.stored() == [["", "Noted."]]


def test_a_line_that_is_still_being_written_is_read_when_it_is_complete(session: Session) -> None:
    session.say("user", "a")
    whole = session.transcript.read_text()
    session.say("assistant", "b")
    with_b = session.transcript.read_text()
    session.transcript.write_text(with_b[:-10])
    session.hook("stop")
    assert session.stored() == [["a"]]
    assert with_b.startswith(whole)
    session.transcript.write_text(with_b)
    session.hook("stop")
    assert session.stored() == [["a", "b"]]


def test_a_session_that_continues_after_its_end_stores_only_what_is_new(session: Session) -> None:
    session.say("user", "a")
    session.hook("session-end")
    session.say("assistant", "b")
    session.hook("session-end")
    session.hook("session-end")
    assert session.stored() == [["a"], ["b"]]


def test_a_rule_of_one_session_is_shown_once_in_the_next(session: Session) -> None:
    session.say("user", "From now on use pnpm, never npm")
    session.say("assistant", "Understood: I use pnpm from now on.")
    session.say("user", "Which port has the staging database?")
    session.say("assistant", "It listens on port 5433.")
    session.hook("session-end")
    session.transcript.write_text("")
    start = session.hook("session-start", session_id="s-2").out.decode()
    assert start.count("use pnpm, never npm") == 1
    asked = session.hook("user-prompt", session_id="s-2", prompt="install lodash with the package manager").out.decode()
    assert asked.count("use pnpm, never npm") == 1
    other = session.hook("user-prompt", "--agent", "ben", session_id="s-3", prompt="install lodash").out.decode()
    assert "pnpm" not in other


def write_codex(session: Session) -> None:
    lines = [
        {"type": "session_meta", "payload": {"id": "s-1"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text"}]}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "When do we deploy?"}},
        {"type": "event_msg", "payload": {"type": "agent_reasoning", "text": "hm"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "On Tuesdays."}},
    ]
    session.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_cursor(session: Session) -> None:
    asked = {"type": "text", "text": "<user_query>\nWhen do we deploy?\n</user_query>"}
    lines = [
        {"role": "user", "message": {"content": [asked]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "On Tuesdays."}, {"type": "tool_use"}]}},
    ]
    session.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("write", [write_codex, write_cursor])
def test_transcripts_of_other_programs_are_read(session: Session, write: Callable[[Session], None]) -> None:
    write(session)
    session.hook("stop")
    assert session.stored() == [["When do we deploy?", "On Tuesdays."]]
