"""The job `chunk`: imported and long active conversations get chunks with vectors, and no turn is chunked twice."""

import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from crash.evidence import rows
from dialogue import talk
from embedders import HashEmbedder
from numpy.typing import NDArray

import recollect
from recollect import Category, Entry, FixedClock, Home, Kind, Memory
from recollect.engine import chunks as chunking
from recollect.upkeep import chunking as job


class Instant(HashEmbedder):
    """An embedder that is used before the write, like the local one."""

    instant = True


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, clock=clock, embedder=Instant()) as opened:
        yield opened


def imported(home: Home, tmp_path: Path, *messages: str, agent: str = "ana") -> None:
    """Import a chat with an assistant; more messages than before are a newer export of the same chat."""
    chat = {
        "uuid": "11111111-2222-4333-8444-555555555555",
        "name": "harbour",
        "created_at": "2023-05-01T10:00:00Z",
        "updated_at": "2023-05-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": f"11111111-2222-4333-8444-{number:012}",
                "sender": "assistant" if number % 2 else "human",
                "text": said,
                "created_at": f"2023-05-01T10:{number:02}:00Z",
            }
            for number, said in enumerate(messages)
        ],
    }
    path = tmp_path / f"export-{len(messages)}-{agent}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([chat]))
        archive.writestr("users.json", "[]")
    home.import_(path, agent=agent)


def chunks(mem: Memory) -> list[Entry]:
    return sorted(mem.list(kind=Kind.CHUNK, limit=1_000), key=lambda entry: entry.first_event or 0)


def covered(mem: Memory) -> list[int]:
    """Every event that a chunk covers, once per chunk."""
    return [seq for one in chunks(mem) for seq in range(one.first_event or 0, (one.last_event or 0) + 1)]


def test_an_imported_chat_gets_chunks_with_vectors_and_no_hand_off(home: Home, mem: Memory, tmp_path: Path) -> None:
    imported(home, tmp_path, "which crane do we rent?", "The yellow one.", "and the gate?", "It stays shut.")
    assert chunks(mem) == []
    run = home.jobs.run("chunk")
    assert (run.error, run.figures) == (None, {"chunks": 2})
    assert [one.content.splitlines() for one in chunks(mem)] == [
        ["User: which crane do we rent?", "Agent: The yellow one."],
        ["User: and the gate?", "Agent: It stays shut."],
    ]
    assert all(one.evidence and one.conversation_id for one in chunks(mem))
    assert mem.recall("yellow crane", mode="vector", limit=1)[0].entry.content.startswith("User: which crane")
    assert mem.list(category=Category.HANDOFFS) == []
    assert home.jobs.run("chunk").figures == {"chunks": 0}
    imported(home, tmp_path, *["which crane do we rent?", "The yellow one.", "and the gate?", "It stays shut."], "why?")
    assert home.jobs.run("chunk").figures == {"chunks": 1}
    assert covered(mem) == [1, 2, 3, 4, 5]
    assert home.check().findings == ()


class Synonyms(Instant):
    """An embedder for which an automobile is a car."""

    contextual = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed([text.replace("automobile", "car") for text in texts])


def test_turns_are_found_that_share_no_word_with_the_question(location: str, clock: FixedClock, tmp_path: Path) -> None:
    with recollect.open(location, clock=clock, embedder=Synonyms()) as home:
        mem = home.agent("ana")
        imported(home, tmp_path, "my car", "It is red.", "and of boats", "They float.")
        conv = mem.conversations.start()
        conv.user("his car")
        talk(conv, 4)
        assert mem.conversations.search("automobile") == []
        home.jobs.run("chunk")
        found = mem.conversations.search("automobile", limit=4)
        assert {"my car", "his car"} <= {hit.event.content for hit in found}


def test_vectors_of_a_transformer_count_more_in_short_turns(location: str, clock: FixedClock) -> None:
    embedder = Synonyms()
    with recollect.open(location, clock=clock, embedder=embedder) as home:
        conversation = home.agent("ana").conversations.start()
        for content in ("my automobile broke", "a storm came", "we ate fish"):
            conversation.user(content, speaker="Rui")
        conversation.end()
        plain, transformed = [], []
        for scores, contextual in ((plain, False), (transformed, True)):
            embedder.contextual = contextual
            page = home.agent("ana").conversations.search("car")
            scores += [turn.score for turn in page if turn.event.content == "my automobile broke"]
        assert transformed[0] > plain[0] > 0
        assert home.agent("ben").conversations.search("car") == []


def test_a_conversation_that_continues_is_chunked_but_for_its_last_messages(
    home: Home, mem: Memory, location: str
) -> None:
    conv = mem.conversations.start()
    talk(conv, 6)
    assert home.jobs.run("chunk", dry_run=True).figures == {"chunks": 4}
    assert chunks(mem) == []
    assert home.jobs.run("chunk").figures == {"chunks": 4}
    assert covered(mem) == list(range(1, 9))
    assert home.jobs.run("chunk").figures == {"chunks": 0}
    talk(conv, 2, first=6)
    assert home.jobs.run("chunk").figures == {"chunks": 2}
    assert covered(mem) == list(range(1, 13))
    assert len(rows(location, "embeddings", "ana")) == 6


def test_the_end_of_a_conversation_chunks_what_is_left(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    talk(conv, 6)
    home.jobs.run("chunk")
    assert conv.end().chunks == 2
    assert covered(mem) == list(range(1, 13))
    assert home.jobs.run("chunk").figures == {"chunks": 0}


def test_a_recall_leaves_out_chunks_of_a_conversation_until_it_has_ended(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("the granite quay is closed")
    talk(conv, 4)
    home.jobs.run("chunk")
    assert mem.recall("granite quay") == []
    assert mem.conversations.search("granite quay")[0].event.content == "the granite quay is closed"
    conv.end()
    assert Kind.CHUNK in [hit.entry.kind for hit in mem.recall("granite quay")]


def test_long_talks_are_chunked_in_steps_and_runs(home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "EVENTS", 7)
    monkeypatch.setattr(chunking, "CHUNKS_PER_STEP", 2)
    monkeypatch.setattr(job, "MOST", 4)
    conv = mem.conversations.start()
    conv.user("word. " * 2_000)  # one event in seven chunks
    talk(conv, 9)
    made = [home.jobs.run("chunk").figures["chunks"] for _ in range(5)]
    assert made == [7, 4, 3, 0, 0]
    assert sorted(set(covered(mem))) == list(range(1, 16))
    assert len(chunks(mem)) == 14
    assert conv.end().chunks == 2


def test_chunks_are_rebuilt_where_a_turn_is_erased(home: Home, mem: Memory, tmp_path: Path, location: str) -> None:
    imported(home, tmp_path, "the key is zqhunterbb", "Noted.", "which crane?", "The yellow one.")
    home.jobs.run("chunk")
    (info,) = mem.conversations.list()
    conv = mem.conversations.get(info.id)
    receipt = conv.erase(next(event for event in conv.events() if "zqhunterbb" in event.content).seq)
    assert next(one.place for one in receipt.rewritten) == "chunks"
    assert [one.content for one in chunks(mem)] == ["Agent: Noted.", "User: which crane?\nAgent: The yellow one."]
    home.jobs.run("embed")
    home.jobs.run("chunk")
    assert not any("zqhunterbb" in str(row) for row in rows(location, "entries", "ana"))
    assert covered(mem) == [2, 3, 4]
    mem.conversations.erase(info.id)
    assert (chunks(mem), rows(location, "embeddings", "ana")) == ([], [])
    assert home.jobs.run("chunk").figures == {"chunks": 0}


def test_what_is_erased_while_the_embedder_runs_is_not_chunked(location: str, clock: FixedClock) -> None:
    class Erasing(Instant):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("zqhunterbb" in text for text in texts):
                conv.erase(1)
            return super().embed(texts)

    with recollect.open(location, clock=clock, embedder=Erasing()) as home:
        mem = home.agent("ana")
        conv = mem.conversations.start()
        conv.user("the key is zqhunterbb")
        talk(conv, 6)
        assert home.jobs.run("chunk").figures == {"chunks": 0}
        assert home.jobs.run("chunk").figures == {"chunks": 4}
        assert covered(mem)[0] == 2


def test_a_chunk_that_was_forgotten_or_undone_does_not_come_back(home: Home, mem: Memory, tmp_path: Path) -> None:
    imported(home, tmp_path, "which crane?", "The yellow one.", "and the gate?", "It stays shut.")
    run = home.jobs.run("chunk")
    mem.forget(chunks(mem)[-1].id)
    assert home.jobs.run("chunk").figures == {"chunks": 0}
    home.jobs.undo(run.id)
    assert chunks(mem) == []
    assert home.jobs.run("chunk").figures == {"chunks": 0}


def test_an_export_carries_how_far_a_conversation_is_chunked(
    home: Home, mem: Memory, tmp_path: Path, clock: FixedClock
) -> None:
    conv = mem.conversations.start()
    talk(conv, 6)
    home.jobs.run("chunk")
    home.export(tmp_path / "all.jsonl")
    with recollect.open(tmp_path / "other.db", clock=clock, embedder=Instant()) as other:
        there = other.agent("ana")
        before = there.conversations.start()
        talk(before, 1)
        other.import_(tmp_path / "all.jsonl")
        assert covered(there) == list(range(3, 11))
        assert other.jobs.run("chunk").figures == {"chunks": 0}
        talk(there.conversations.get(conv.id), 1, first=6)
        assert other.jobs.run("chunk").figures == {"chunks": 1}
        assert covered(there) == list(range(3, 13))


def test_without_an_embedder_nothing_is_chunked(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock) as home:
        talk(home.agent("ana").conversations.start(), 6)
        assert home.jobs.run("chunk").figures == {"chunks": 0}


def test_chunks_stay_with_their_agent(home: Home, mem: Memory, tmp_path: Path) -> None:
    imported(home, tmp_path, "the granite quay", "Closed.", agent="ben")
    home.jobs.run("chunk")
    assert chunks(mem) == []
    assert len(chunks(home.agent("ben"))) == 1
    assert mem.recall("granite quay", mode="vector") == []
    assert mem.conversations.search("granite quay") == []


def test_another_agent_does_not_see_chunks_of_a_conversation_that_continues(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("the granite quay is closed")
    talk(conv, 4)
    home.jobs.run("chunk")
    ben = home.agent("ben")
    assert ben.recall("granite quay", kinds=["chunk"], target_agent="ana") == []
    conv.end()
    assert ben.recall("granite quay", kinds=["chunk"], target_agent="ana") != []
