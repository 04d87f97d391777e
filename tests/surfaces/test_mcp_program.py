"""`recollect mcp`: the MCP server as a process on its standard streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from postgres import wait_for
from surfaces.command import Command, environment
from surfaces.mcp_client import HELLO, JOBS, MODES, Agent, run_story

import recollect


def parameters(folder: Path, *options: str, **changes: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "recollect", "mcp", *options], env=environment(**changes), cwd=folder
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_program_serves_on_its_streams(tmp_path: Path, mode: str) -> None:
    async def story(agent: Agent) -> None:
        assert agent.client.protocol_version == MODES[mode]
        await agent("memory", action="remember", content="We deploy on Tuesdays")
        assert (await agent("scratchpad", action="write", key="a", value=1))["conversation"]

    run_story(parameters(tmp_path, "--home", "team.db", "--agent", "ana"), story, mode)
    with recollect.open(tmp_path / "team.db") as home:
        assert [entry.content for entry in home.agent("ana").list()] == ["We deploy on Tuesdays"]
        assert home.agent("default").list() == []


def test_the_program_continues_the_conversation_it_is_given(tmp_path: Path) -> None:
    with recollect.open(tmp_path / ".recollect") as home:
        ref = home.agent("default").conversations.start().ref_code

    async def story(agent: Agent) -> None:
        assert (await agent("scratchpad", action="list"))["conversation"] == ref

    run_story(parameters(tmp_path, RECOLLECT_CONVERSATION=ref), story)


def test_the_program_ends_when_its_input_does_and_says_nothing_but_the_protocol(cli: Command) -> None:
    ended = cli("mcp", stdin=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\nnonsense\n')
    assert ended.code == 0
    for line in ended.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"


def test_half_a_character_is_answered_and_a_whole_one_of_two_halves_stays(tmp_path: Path) -> None:
    contents = [r"half \ud83d", r"whole \ud83d\ude00", r"written \\ud83d", r"turned \ude00\ud83d"]
    contents.append(r"long \uD83D!" + "x" * 20_000)
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    ) as process:
        assert process.stdin
        assert process.stdout
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for number, content in enumerate(contents, 2):
            params = f'{{"name": "memory", "arguments": {{"action": "remember", "content": "{content}"}}}}'
            request = f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}\n'
            process.stdin.write(request.encode())
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n')
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(7)]
        process.stdin.close()
        assert process.wait(30) == 0
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3, 4, 5, 6, 7]
    assert not any(answer["result"].get("isError") for answer in answers)
    with recollect.open(tmp_path / ".recollect") as home:
        kept = {entry.content for entry in home.agent("default").list()}
    assert kept == {"half �", "whole \U0001f600", r"written \ud83d", "turned ��", "long �!" + "x" * 20_000}


def test_upkeep_that_is_due_is_done_while_a_session_continues(tmp_path: Path) -> None:
    with recollect.open(tmp_path / ".recollect") as home:
        mem = home.agent("default")
        for _ in range(2):
            mem.remember("The harbour opens at eight", lifetime="short_term")
        with subprocess.Popen(
            [sys.executable, "-m", "recollect", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(),
        ) as process:
            assert process.stdin
            wait_for("the notes to be merged", lambda: len(mem.list()) == 1)
            wait_for(
                "all jobs to have run", lambda: {job.name for job in home.jobs.status() if job.last_run_at} >= JOBS
            )
            process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            answer, log = process.communicate()
    assert process.returncode == 0
    assert [json.loads(line)["id"] for line in answer.splitlines()] == [1]
    assert log == b""


def test_the_program_refuses_a_conversation_that_is_not_there(cli: Command) -> None:
    ended = cli("mcp", "--conversation", "nope", code=3)
    assert ended.out == b""
    assert "no conversation 'nope'" in ended.err


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_ends_cleanly_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    ) as process:
        assert process.stdin
        assert process.stdout
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "recollect"
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stderr
        assert process.stderr.read() == b""
