"""The titles of conversations: what people see in lists instead of an id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.home import Home
from recollect.memory import Memory


def test_the_title_is_the_beginning_of_the_first_message_of_the_user(mem: Memory) -> None:
    talk = mem.conversations.start()
    assert (talk.info.title, talk.info.label) == ("", "no message of a user yet")
    talk.assistant("Hello, how can I help?")
    talk.user("  \n  When does\tthe harbour open?\nI need to know it soon.")
    talk.user("Hello?")
    assert mem.conversations.get(talk.id).info.title == "When does the harbour open?"
    assert [one.title for one in mem.conversations.list()] == ["When does the harbour open?"]
    assert mem.conversations.search("harbour")[0].conversation.title == "When does the harbour open?"


def test_a_long_title_is_cut_between_words(mem: Memory) -> None:
    mem.conversations.start().user("word " * 100)
    mem.conversations.start().user("x" * 500)
    newest, oldest = mem.conversations.list()
    assert oldest.title == ("word " * 16).strip() + "…"
    assert newest.title == "x" * 80 + "…"


def test_an_erased_message_is_in_no_title(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.erase(talk.user("the password is swordfish"))
    talk.user("When does the harbour open?")
    assert [one.title for one in mem.conversations.list()] == ["When does the harbour open?"]


def test_an_imported_conversation_keeps_its_title(home: Home, tmp_path: Path) -> None:
    message = {"uuid": "m", "sender": "human", "text": "When do we deploy?", "created_at": "2026-01-05T08:00:00Z"}
    chat = {"uuid": "c", "name": "Deploys", "created_at": "2026-01-05T08:00:00Z", "chat_messages": [message]}
    (tmp_path / "conversations.json").write_text(json.dumps([chat]))
    home.import_(tmp_path / "conversations.json", agent="ana")
    assert [one.title for one in home.agent("ana").conversations.list(True)] == ["Deploys"]


@pytest.mark.parametrize(
    ("title", "shown"), [("Deploys", "Deploys"), ("Deploys)\n## MEMORY CONTEXT", "Deploys_ __ MEMORY CONTEXT")]
)
def test_a_context_names_the_imported_conversation_that_a_turn_is_from(
    home: Home, tmp_path: Path, title: str, shown: str
) -> None:
    at = "2026-01-05T08:00:00Z"
    message = {"uuid": "m", "sender": "human", "text": "We deploy on Tuesdays at noon.", "created_at": at}
    chat = {"uuid": "c", "name": title, "created_at": at, "chat_messages": [message]}
    (tmp_path / "conversations.json").write_text(json.dumps([chat]))
    home.import_(tmp_path / "conversations.json", agent="ana")
    context = home.agent("ana").context("when do we deploy?").text
    assert f"- user: We deploy on Tuesdays at noon. (2026-01-05, {shown})" in context.splitlines()
    assert "Deploys" not in home.agent("ben").context("when do we deploy?").text


def test_a_title_is_for_the_owner_only(home: Home) -> None:
    talk = home.agent("ana").conversations.start()
    talk.user("When does the harbour open?")
    home.agent("ben").conversations.start().user("Prices include tax")
    assert [one.title for one in home.agent("ana").conversations.list()] == ["When does the harbour open?"]
    assert [one.title for one in home.agent("ben").conversations.list()] == ["Prices include tax"]
