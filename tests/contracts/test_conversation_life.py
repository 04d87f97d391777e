"""The life of one conversation: compacted, killed, recovered and ended, it still answers a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from crash import speakers
from crash.children import Child, children
from dialogue import Writing, said, talk
from embedders import HashEmbedder

import recollect
from recollect import Kind, Lifetime
from recollect.engine.lanes import read_marker
from recollect.model.history import EventType, Lane, Status

BOAT = "My own boat is the Gaivota, an old trawler that lies at the granite pier."
QUESTION = "What is the name of Marta's trawler?"


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts child processes and sees to it that none is left."""
    with children() as starter:
        yield starter


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [False, True], ids=["without a model", "with a model"])
@pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
def test_a_question_about_a_talk_of_long_ago_is_answered_by_the_right_turn(
    location: str, start: Callable[..., Child], with_model: bool
) -> None:
    # An agent talks for five hundred turns, and its process is killed.
    child = start(speakers.tell_the_story, location, BOAT, with_model)
    child.go()
    for _ in range(500):
        message = child.next("done")
    child.kill()
    model, embedder = Writing() if with_model else None, HashEmbedder()
    embedder.instant = True  # type: ignore[attr-defined]
    with recollect.open(location, model=model, embedder=embedder) as home:
        mem = home.agent("ana")
        assert home.check().findings == ()
        conv = mem.conversations.get(message[2])
        events = list(conv.events())
        assert message[3] in {event.hash for event in events}
        users = [event for event in events if event.type is EventType.USER]
        assert len(users) >= 500
        (right,) = [event for event in users if event.content == BOAT]

        # Meanwhile it was compacted several times, on both lanes, and nothing fell between window and archive.
        for lane in Lane:
            markers = [read_marker(event) for event in events if event.type is EventType.MARKER and event.lane is lane]
            assert len(markers) >= 3
            window = conv.window(lane)
            covered = sum(marker.folded for marker in markers)
            assert covered + len(window) == sum(
                event.lane is lane and event.type is not EventType.MARKER for event in events
            )
            assert mem.get(markers[-1].archive_name).kind is Kind.ARCHIVE
        assert conv.messages("core")[-1]["content"] == "Keep count of what is in the harbour."

        # It comes back, finds where it was, says goodbye and ends.
        found = mem.recover()
        assert found is not None
        assert (found.conversation.id, len(found.events)) == (conv.id, 50)
        assert set(found.summaries) == {"edge", "core"}
        goodbye = mem.conversations.get(found.conversation.id)
        goodbye.user("Good night, and thanks.")
        ended = goodbye.end()
        assert ended.by == ("model" if with_model else "fallback")
        assert ended.chunks >= 500

        # Eleven more conversations follow.
        for number in range(11):
            later = mem.conversations.start()
            talk(later, 3, first=1_000 + number)
            later.user(f"What is the name of the pilot of day {number}?")
            later.assistant(f"The pilot of day {number} is Tiago.")
            later.end()
        assert mem.list(kind=Kind.CHUNK, limit=1)[0].conversation_id != conv.id
        assert conv.status is Status.IDLE

        # A question about the first one is answered from long-term memory, by the right turn.
        hit = mem.conversations.search(QUESTION)[0]
        assert (hit.event, hit.conversation.id, hit.speaker) == (right, conv.id, "Marta")
        assert "Gaivota" in hit.snippet
        assert mem.conversations.search(QUESTION, unit="conversation")[0].conversation.id == conv.id
        answers = mem.query("session", query=QUESTION)["results"]
        assert (answers[0]["session_id"], answers[0]["tier"]) == (conv.id, "long_term_detail")
        assert BOAT in answers[0]["content"]
        assert mem.query("session", "text", QUESTION)["results"][0]["hash"] == right.hash
        old = [entry for entry in mem.list(kind=Kind.CHUNK, limit=10_000) if entry.conversation_id == conv.id]
        assert {entry.lifetime for entry in old} == {Lifetime.LONG_TERM}
        summaries = [entry for entry in mem.list(kind=Kind.ARCHIVE, limit=1_000) if (entry.name or "").startswith("su")]
        assert conv.id in {entry.conversation_id for entry in summaries}
        detail = mem.conversations.detail(conv.ref_code)
        assert said(detail)[: len(events)] == said(events)

        # Another agent that asks gets the same answer, and none of what still goes on.
        going_on = mem.conversations.start()
        going_on.user("The name of my next trawler is a secret.")
        other = home.agent("ben")
        assert other.conversations.search(QUESTION, target_agent="ana")[0].event == right
        assert not any(
            turn.conversation.id == going_on.id for turn in other.conversations.search("trawler", target_agent="ana")
        )
        assert home.check().findings == ()
