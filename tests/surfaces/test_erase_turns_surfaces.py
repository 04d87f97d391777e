"""Erasing what was said through the server, the client, asyncio and the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from surfaces.command import Command
from surfaces.server import Server, serving, settings

import recollect
from recollect import Memory, NotFound
from recollect.aio import AsyncMemory
from recollect.client import connect

SECRET = "zqhunterbb"


def talk(mem: Memory) -> tuple[recollect.Conversation, recollect.Event]:
    """A conversation in which a user pastes a password, and that turn."""
    conv = mem.conversations.start()
    pasted = conv.user(f"the password is {SECRET}")
    conv.assistant("Noted, the lighthouse migration can start.")
    conv.end()
    return conv, pasted


def test_an_event_is_erased_over_http_after_a_dry_run(server: Server) -> None:
    conv, pasted = talk(server.home.agent("default"))
    path = f"/v1/conversations/{conv.ref_code}/events/{pasted.hash}"
    planned = server.client.delete(path, params={"dry_run": True})
    assert planned.status_code == 200, planned.text
    assert planned.json()["dry_run"] is True
    assert conv.event(pasted.hash) == pasted
    receipt = server.client.delete(path).json()
    assert (receipt["events"], receipt["dry_run"]) == ([pasted.seq], False)
    assert receipt["rewritten"] == planned.json()["rewritten"]
    stone = server.client.get(path).json()
    assert (stone["content"], stone["hash"]) == ("", pasted.hash)
    assert stone["erased_at"] == receipt["at"]
    assert SECRET not in server.client.get(f"/v1/conversations/{conv.ref_code}/detail").text
    assert server.client.delete(path).json()["erased_before"] == 1
    assert server.client.delete(f"/v1/conversations/{conv.ref_code}/events/ffff").status_code == 404


def test_a_whole_conversation_is_erased_over_http_only_on_request(server: Server) -> None:
    conv, _ = talk(server.home.agent("default"))
    path = f"/v1/conversations/{conv.ref_code}"
    assert server.client.delete(path).status_code == 422
    assert server.client.delete(path, params={"erase": "false"}).status_code == 422
    assert server.client.delete(path, params={"erase": "true", "dry_run": True}).json()["events"] == [1, 2]
    assert server.client.delete(path, params={"erase": "true"}).json()["events"] == [1, 2]
    assert {event.content for event in conv.events()} == {""}
    assert server.client.delete("/v1/conversations/nothing", params={"erase": "true"}).status_code == 404


def test_a_token_that_may_only_read_cannot_erase_and_another_agents_turns_are_not_found(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        conv, pasted = talk(home.agent("ana"))
        _, reader = home.tokens.create("reader", agents=["ana"], right="read")
        _, other = home.tokens.create("other", agents=["eva"], right="write")
        for path in (f"/v1/conversations/{conv.ref_code}", f"/v1/conversations/{conv.ref_code}/events/{pasted.hash}"):
            query = {"erase": "true"} if path.endswith(conv.ref_code) else {}
            assert server.client.delete(path, params=query).status_code == 401
            for secret, status in ((reader, 403), (other, 404)):
                with server.as_(secret) as asks:
                    answer = asks.delete(path, params=query)
                    assert answer.status_code == status, answer.text
        assert conv.event(pasted.hash) == pasted


def test_the_client_erases_by_event_number_and_hash(server: Server) -> None:
    conv, pasted = talk(server.home.agent("ana"))
    with connect(server.url) as home:
        theirs = home.agent("ana").conversations.get(conv.ref_code)
        assert theirs.erase(pasted.seq, dry_run=True).events == (pasted.seq,)
        with pytest.raises(NotFound):
            theirs.erase(99)
        with pytest.raises(NotFound):
            theirs.erase("ffff")
        assert theirs.erase(pasted).events == (pasted.seq,)
        assert theirs.erase(pasted.hash[:16]).erased_before == 1
        assert home.agent("ana").conversations.erase(conv.id).erased_before == 1
        with pytest.raises(NotFound):
            home.agent("eva").conversations.erase(conv.id)


def test_erasing_is_awaitable(tmp_path: Path) -> None:
    async def run(mem: Memory, conv: recollect.Conversation, pasted: recollect.Event) -> None:
        theirs = AsyncMemory(mem).conversations
        assert (await (await theirs.get(conv.id)).erase(pasted, dry_run=True)).dry_run
        assert (await theirs.erase(conv.ref_code)).events == (1, 2)

    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        asyncio.run(run(mem, *talk(mem)))


def test_the_command_shows_a_dry_run_asks_and_erases(tmp_path: Path) -> None:
    cli = Command(tmp_path)
    home = ("--home", str(tmp_path / "memory.db"))
    with recollect.open(tmp_path / "memory.db") as opened:
        conv, _ = talk(opened.agent("default"))
    command = (*home, "conversation", "erase", conv.ref_code, "--event", "1")
    assert "would erase event 1" in cli(*command, "--dry-run").text
    refused = cli(*command, code=2)
    assert "add --yes" in refused.err
    assert SECRET in cli(*home, "conversation", "show", conv.ref_code).text
    receipt = cli(*command, "--yes", "--json").json
    assert receipt["events"] == [1]
    assert "2 events of conversations, 1 of them erased" in cli(*home, "check").text
    assert "erased before" in cli(*command, "--yes").text
    shown = cli(*home, "conversation", "show", conv.ref_code).text
    assert "(erased)" in shown
    assert SECRET not in shown
    assert "no event" in cli(*home, "conversation", "erase", conv.ref_code, "--event", "99", "--yes", code=3).err
    assert "erased all events" in cli(*home, "conversation", "erase", conv.ref_code, "--yes").text
