"""Answers of REST, MCP, the command line and exports, compared with recorded ones byte for byte.

A change that is made on purpose is recorded with `RECORD=1 scripts/test tests/surfaces/test_recorded_answers.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx2
from mcp.types import CallToolResult
from surfaces.command import Command, environment
from surfaces.mcp_client import Agent, run_story
from surfaces.mcp_client import server as mcp_server
from surfaces.server import serving
from surfaces.transcript import Transcript

import recollect
from recollect.clock import FixedClock

RECORDED = Path(__file__).with_name("recorded")
NEW_YEAR_2026 = 1_767_225_600_000
HEADERS = ("content-type", "etag", "location", "recollect-conversations-have-more", "cache-control")


def check(transcript: Transcript, name: str) -> None:
    """Compare with the recorded answers."""
    path = RECORDED / name
    if os.environ.get("RECORD"):
        path.write_text(transcript.text, encoding="utf-8")
    assert transcript.text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def request(client: httpx2.Client, transcript: Transcript, method: str, path: str, **options: Any) -> Any:
    """Send a request and write it down with its answer; return the JSON of the answer."""
    answer = client.request(method, path, **options)
    made = answer.json() if answer.content and "json" in answer.headers.get("content-type", "") else None
    if isinstance(made, dict) and "ref_code" in made:
        transcript.stands_for(made["ref_code"], "<ref>")
    body = json.dumps(options["json"], ensure_ascii=False) if "json" in options else ""
    sent = " ".join(f"{name}: {value}" for name, value in options.get("headers", {}).items())
    lines = [
        str(answer.status_code),
        *(f"{name}: {answer.headers[name]}" for name in HEADERS if name in answer.headers),
    ]
    transcript.add(" ".join(filter(None, (method, path, sent, body))), "\n".join([*lines, answer.text]))
    return made


def test_answers_over_rest_are_the_recorded_ones(tmp_path: Path) -> None:
    transcript = Transcript(clock_stands_still=True)
    home = recollect.open(tmp_path / "memory.db", clock=FixedClock(NEW_YEAR_2026))
    with serving(home) as server:
        transcript.stands_for(server.url, "http://server")

        def ask(method: str, path: str, **options: Any) -> Any:
            return request(server.client, transcript, method, path, **options)

        ask("GET", "/v1/entries")
        note = {
            "content": "We deploy on Tuesdays.",
            "name": "deploy day",
            "category": "decisions",
            "tags": ["ops", "ci"],
        }
        made = ask("POST", "/v1/entries", json={**note, "source": "user", "context": "stand-up", "importance": 0.8})
        ask("POST", "/v1/entries", json=note)
        ask("POST", "/v1/entries", json={"content": "", "colour": "red", "importance": 2})
        ask("POST", "/v1/entries", content=b"{", headers={"content-type": "application/json"})
        ask("GET", "/v1/entries/deploy%20day")
        ask("GET", "/v1/entries/none")
        ask("PATCH", f"/v1/entries/{made['id']}", json={"tags": ["ops"]}, headers={"If-Match": '"0"'})
        ask("PATCH", f"/v1/entries/{made['id']}", json={"tags": ["ops"], "context": ""})
        ask("POST", "/v1/entries/deploy%20day/rename", json={"name": "release day"})
        ask("POST", "/v1/entries/release%20day/aliases", json={"name": "shipping day"})
        ask("POST", "/v1/operations", json={"op": "write", "target": "release day", "importance": 0.5})
        ask("POST", "/v1/entries/release%20day/supersede", json={"content": "We deploy on Mondays.", "why": "asked"})
        ask("POST", "/v1/recall", json={"query": "when do we deploy?", "mode": "keyword", "record": False})
        ask("POST", "/v1/recall", json={"query": "deploy", "limit": -1})
        ask("GET", "/v1/entries?include_past=true&sort=name")
        ask("GET", "/v1/entries/release%20day/history")
        ask("GET", "/v1/entries/release%20day/links")
        ask("PUT", "/v1/entries/staging%20port/knowledge", json={"content": "5433"})
        ask("PUT", "/v1/entries/staging%20port/knowledge", json={"content": "5434", "tags": ["db"]})
        ask("POST", "/v1/query", json={"store": "knowledge", "mode": "text", "query": "staging port"})
        ask("POST", "/v1/upsert", json={"op": "delete", "key": "staging port"})
        ask("GET", "/v1/trash")
        talk = ask("POST", "/v1/conversations", json={"chat_id": "c1", "participants": ["ben"]})
        ref = talk["ref_code"]
        ask("POST", f"/v1/conversations/{ref}/messages", json={"role": "user", "content": "Which port has staging?"})
        ask("POST", f"/v1/conversations/{ref}/messages", json={"role": "assistant", "content": "It has 5434."})
        ask("GET", f"/v1/conversations/{ref}/events")
        ask("GET", f"/v1/conversations/{ref}/window")
        ask("POST", "/v1/conversations/search", json={"query": "port of staging"})
        ask("GET", f"/v1/conversations/{ref}/summary")
        ask("POST", f"/v1/conversations/{ref}/end")
        ask("GET", "/v1/conversations")
        ask("POST", "/v1/context", json={"command": "Deploy to staging", "budget": 300})
        due = ask("POST", "/v1/reminders", json={"at": "2026-02-01T09:00:00Z", "message": "Renew the certificate"})
        ask("GET", "/v1/reminders")
        ask("DELETE", f"/v1/reminders/{due['id']}")
        ask("GET", "/v1/changes?limit=3")
        ask("GET", "/v1/review")
        ask("GET", "/v1/none")
    check(transcript, "rest.txt")


def test_answers_over_mcp_are_the_recorded_ones(tmp_path: Path) -> None:
    transcript = Transcript(clock_stands_still=True)
    home = recollect.open(tmp_path / "memory.db", clock=FixedClock(NEW_YEAR_2026))

    async def story(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        for tool in tools:
            transcript.add(f"tool {tool.name}", json.dumps(tool.model_dump(mode="json", by_alias=True), indent=1))

        async def call(tool: str, **arguments: Any) -> Any:
            done = await agent.client.call_tool(tool, arguments)
            assert isinstance(done, CallToolResult)
            text = "\n".join(one.text for one in done.content)  # type: ignore[union-attr]
            shown = "" if done.structured_content is None else json.dumps(done.structured_content, ensure_ascii=False)
            transcript.add(f"{tool} {json.dumps(arguments)}", f"{text}\n{shown}")
            return done.structured_content

        note = {"content": "We deploy on Tuesdays.", "name": "deploy day", "category": "decisions", "tags": ["ops"]}
        await call("memory", action="remember", **note, origin="user", valid_from="2026-01-01")
        await call("memory", action="remember", **note)
        await call("memory", action="recall", query="when do we deploy?", mode="keyword")
        await call("memory", action="recall")
        await call("memory", action="remember", content="x", agent="ben")
        await call("memory_note", action="write", target="deploy day", tags=["ci"], category="lessons")
        await call("memory_note", action="add", content="Plain", context="why", importance=0.9, scope="account")
        await call("memory_note", action="rename", target="deploy day", name="release day")
        await call("memory_note", action="show", target="release day")
        await call("memory_note", action="supersede", target="release day", content="On Mondays.", why="asked")
        await call("memory_note", action="list", include_past=True)
        await call("memory_note", action="history", target="release day")
        await call("memory_note", action="move", target="release day")
        await call("memory_upsert", op="insert", key="staging port", content="5433")
        await call("memory_query", store="knowledge", mode="text", query="staging port")
        await call("memory_read", view="notes")
        await call("memory_context", command="Deploy", budget=300)
        await call("memory", action="forget", id="staging port")
        await call("memory", action="forget", id="none")

    with home:
        run_story(mcp_server(home), story)
    check(transcript, "mcp.txt")


COMMANDS: list[tuple[str, ...]] = [
    ("remember", "We deploy on Tuesdays.", "--name", "deploy day", "--category", "decisions", "--tag", "ops"),
    ("remember", "We deploy on Tuesdays.", "--name", "deploy day"),
    ("remember", "x", "--importance", "2"),
    ("note", "add", "api port", "The API listens on 8080.", "--context", "from the README", "--importance", "0.7"),
    ("note", "write", "api port", "The API listens on 8081.", "--tag", "web", "--no-context"),
    ("note", "show", "api port"),
    ("note", "show", "api port", "--json"),
    ("note", "rename", "api port", "port of the API"),
    ("note", "alias", "port of the API", "API"),
    ("note", "list"),
    ("note", "list", "--json"),
    ("note", "history", "API"),
    ("note", "supersede", "deploy day", "We deploy on Mondays.", "--why", "the team asked"),
    ("recall", "when do we deploy?", "--mode", "keyword"),
    ("recall", "deploy", "--include-past", "--json", "--mode", "keyword"),
    ("recall", "nothing of this kind"),
    ("forget", "API"),
    ("forget", "API"),
    ("note", "trash"),
    ("context", "Deploy the API"),
    ("reminder", "add", "2030-02-01T09:00:00Z", "Renew the certificate"),
    ("reminder", "list"),
    ("conversation", "list"),
    ("channel", "list"),
    ("jobs", "run", "consolidate", "--dry-run"),
    ("check",),
    ("note", "show", "none"),
    ("no-such-command",),
]


def test_output_of_the_command_line_is_the_recorded_one(cli: Command) -> None:
    transcript = Transcript(clock_stands_still=False)
    transcript.stands_for(str(cli.folder), "FOLDER")
    for args in COMMANDS:
        ended = cli.fork(("--home", "memory.db", *args), b"", environment())
        transcript.add(" ".join(args), f"{ended.text}{ended.err}exit {ended.code}")
    check(transcript, "cli.txt")


def test_lines_of_an_export_are_the_recorded_ones(tmp_path: Path) -> None:
    transcript = Transcript(clock_stands_still=True)
    with recollect.open(tmp_path / "memory.db", clock=FixedClock(NEW_YEAR_2026)) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays.", name="deploy day", tags=["ops"], category="decisions", importance=0.8)
        mem.remember("Ana likes short answers.", scope="account", source="user", valid_until="2027-01-01")
        mem.supersede("deploy day", "We deploy on Mondays.", why="the team asked")
        mem.upsert("staging port", "5433")
        mem.forget("staging port")
        talk = mem.conversations.start(chat_id="c1", model_id="m", participants=["ben"])
        transcript.stands_for(talk.ref_code, "<ref>")
        talk.user("Which port has staging?")
        talk.assistant("It has 5433.")
        talk.scratchpad["step"] = {"done": True}
        mem.reminders.add("2026-02-01T09:00:00Z", "Renew the certificate")
        mem.apply(recollect.Alias("deploy day", "release day"))
        home.export(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_text(encoding="utf-8").splitlines()
    transcript.stands_for(f'"schema":{json.loads(lines[0])["schema"]}', '"schema":<number>')
    for number, line in enumerate(lines, 1):
        transcript.add(f"line {number}", line)
    check(transcript, "export.txt")
