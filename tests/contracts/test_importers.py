"""Other systems' files: recognised by what is in them, imported once, and never twice."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Category, Status
from recollect.clock import FixedClock
from recollect.errors import ConfigError, Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Format, Imported
from recollect.transfer import formats
from recollect.transfer.importers import claude, mem0, reading
from recollect.transfer.importers.memory_folder import category_of, entries
from recollect.transfer.importers.values import ImportedItem
from recollect.transfer.importers.writing import ImportWriter

DAY = 86_400_000
IN_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what has nothing to do with the database."""


def bring(home: Home, path: Path, agent: str = "ana", **options: Any) -> Imported:
    return formats.import_(
        home._place,
        path,
        stores=lambda name: home.agent(name)._entries.stores,
        agent=agent,
        workspace="default",
        clock=home._shared.clock.now,
        **options,
    )


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def figures(done: Imported) -> dict[str, tuple[dict[str, int], dict[str, int], dict[str, int]]]:
    """What was added, changed and known, per agent."""
    return {
        part.where.removeprefix("default/"): (dict(part.added), dict(part.changed), dict(part.known))
        for part in done.parts
    }


# ChatGPT


def said(role: str, text: object, at: float | None = None, **more: Any) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "create_time": at, "content": content, "recipient": "all", **more}


def tree(*messages: dict[str, Any] | None) -> dict[str, Any]:
    nodes = {}
    for number, message in enumerate(messages):
        parent = str(number - 1) if number else None
        nodes[str(number)] = {"id": str(number), "parent": parent, "children": [str(number + 1)], "message": message}
    nodes[str(len(messages) - 1)]["children"] = []
    return nodes


CHATGPT = [
    {
        "title": "Roses in spring",
        "id": "aaaa-1",
        "create_time": 1_700_000_000.25,
        "default_model_slug": "gpt-4o",
        "current_node": "5",
        "mapping": {
            **tree(
                None,
                said("system", ""),
                said("user", "When do I cut the roses?", 1_700_000_001),
                said("assistant", {"content_type": "code", "text": "search('roses')"}, 1_700_000_002, recipient="web"),
                said("tool", "three pages about roses", 1_700_000_003, author={"role": "tool", "name": "browser"}),
                said("assistant", "In late winter, above a bud.", 1_700_000_004.5),
            ),
            "other": {"id": "other", "parent": "2", "children": [], "message": said("assistant", "never chosen", 1)},
        },
    },
    {
        "title": "A picture",
        "conversation_id": "aaaa-2",
        "create_time": 1_700_100_000,
        "mapping": tree(
            said(
                "user",
                {
                    "content_type": "multimodal_text",
                    "parts": [
                        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                        "What is this?",
                    ],
                },
                None,
            ),
            said("assistant", "A spade\ud83d\u0000.", 1_700_100_002),
        ),
    },
    {"title": "empty", "id": "aaaa-3", "mapping": {}},
    {"title": "no id", "mapping": {}},
]


def test_chats_of_chatgpt_become_past_conversations(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", CHATGPT)
    assert formats.recognise(path) is Format.CHATGPT
    done = bring(home, path)
    assert figures(done) == {"ana": ({"conversations": 3, "messages": 7}, {}, {})}
    assert done.remarks == ("chat 4 of the file has no id or no messages, and was left out",)
    picture, roses, other = mem.conversations.list()
    assert other.title == "Roses in spring (another branch)"
    assert [event.content for event in mem.conversations.get(other.id).events()] == ["never chosen"]
    assert (roses.chat_id, roses.model_id, roses.status) == ("aaaa-1", "gpt-4o", Status.IDLE)
    assert (roses.started_at, roses.ended_at) == (1_700_000_001_000, 1_700_000_004_500)
    assert roses.closing_summary == "Roses in spring"
    received = [(event.role, event.content, event.internal) for event in mem.conversations.get(roses.id).events()]
    assert received == [
        ("user", "When do I cut the roses?", False),
        ("assistant", "search('roses')", True),
        ("assistant", "three pages about roses", True),
        ("assistant", "In late winter, above a bud.", False),
    ]
    assert [event.content for event in mem.conversations.get(picture.id).events()] == [
        "[image]\nWhat is this?",
        "A spade?.",
    ]
    assert mem.conversations.search("above a bud")[0].event.content == "In late winter, above a bud."
    assert home.check().findings == ()


def test_imported_chats_are_never_the_last_session(home: Home, mem: Memory, clock: FixedClock, tmp_path: Path) -> None:
    conv = mem.conversations.start()
    conv.user("The gate is next.")
    conv.end()
    recovered = mem.recover()
    clock.advance(60_000)
    last = clock.now() / 1_000
    chats = [
        {
            "title": f"chat {number}",
            "id": f"chat-{number}",
            "mapping": tree(
                *(
                    said(role, f"We decided on rose {number}-{turn}.", last - 62 + number)
                    for turn in range(15)
                    for role in ("user", "assistant")
                )
            ),
        }
        for number in range(62)
    ]
    bring(home, write(tmp_path / "conversations.json", chats))
    assert home.jobs.run("extract").error is None
    (handoff,) = mem.list(category="handoffs")
    assert handoff.conversation_id == conv.id
    assert [item.text for item in mem.context("").section("Last Session")] == ["[User]: The gate is next."]
    assert mem.recover() == recovered
    decided = mem.list(category="decisions", limit=1_000)
    assert len(decided) == 62 * 5
    assert max(entry.created_at for entry in decided) < clock.now()


def test_importing_chats_again_adds_nothing(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", CHATGPT)
    bring(home, path)
    done = bring(home, path)
    assert figures(done) == {"ana": ({}, {}, {"conversations": 3, "messages": 7})}
    assert not done.changed
    assert len(mem.conversations.list()) == 3


def test_of_a_chat_that_has_grown_only_the_new_part_is_added(home: Home, mem: Memory, tmp_path: Path) -> None:
    first = [said("user", "one", 1_700_000_001), said("assistant", "two", 1_700_000_002)]
    more = [*first, said("user", "three", 1_700_000_003), said("assistant", "four", 1_700_000_004)]
    bring(home, write(tmp_path / "a.json", [{"id": "x", "mapping": tree(*first)}]))
    grown = write(tmp_path / "b.json", [{"id": "x", "mapping": tree(*more)}])
    assert figures(bring(home, grown)) == {"ana": ({"messages": 2}, {"conversations": 1}, {"messages": 2})}
    received = [
        [event.content for event in mem.conversations.get(info.id).events()]
        for info in reversed(mem.conversations.list(chat_id="x"))
    ]
    assert received == [["one", "two", "three", "four"]]
    assert not bring(home, grown).changed
    assert not bring(home, tmp_path / "a.json").changed
    assert home.check().findings == ()


@IN_A_FILE
def test_a_chat_that_continues_here_is_continued(home: Home, mem: Memory, tmp_path: Path) -> None:
    talk = mem.conversations.start(chat_id="x")
    talk.user("one")
    path = write(tmp_path / "a.json", [{"id": "x", "mapping": tree(said("user", "one"), said("assistant", "two"))}])
    bring(home, path)
    assert [event.content for event in talk.events()] == ["one", "two"]
    assert talk.status is Status.ACTIVE
    assert home.check().findings == ()


@IN_A_FILE
def test_past_chats_are_not_where_the_agent_was_last(home: Home, mem: Memory, tmp_path: Path) -> None:
    bring(home, write(tmp_path / "conversations.json", CHATGPT))
    assert mem.recover() is None
    assert mem.conversations.end_stale() == []


@IN_A_FILE
def test_a_tree_in_a_circle_or_without_a_current_node_is_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    circle = tree(said("user", "round", 1), said("assistant", "and round", 2))
    circle["0"]["parent"] = "1"
    bring(home, write(tmp_path / "a.json", [{"id": "x", "current_node": "gone", "mapping": circle}]))
    (info,) = mem.conversations.list()
    assert [event.content for event in mem.conversations.get(info.id).events()] == ["round", "and round"]


def test_many_chats_are_written_in_several_transactions_and_found(home: Home, mem: Memory, tmp_path: Path) -> None:
    chats = [
        {"id": f"chat-{n}", "mapping": tree(*[said("user", f"word{n} in line {m}", n * 100 + m) for m in range(25)])}
        for n in range(100)
    ]
    path = write(tmp_path / "conversations.json", chats)
    seen: list[tuple[int, int]] = []
    done = bring(home, path, progress=lambda where, part, whole: seen.append((part, whole)))
    assert figures(done) == {"ana": ({"conversations": 100, "messages": 2_500}, {}, {})}
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert mem.conversations.search("word77")[0].conversation.chat_id == "chat-77"
    with home._place.workspace("default").read("ana") as tx:
        assert tx.all("turns.segments")  # no search has to read them all
    assert home.check().findings == ()
    assert not bring(home, path).changed


# Claude

CLAUDE = [
    {
        "uuid": "c-1",
        "name": "Beans",
        "created_at": "2026-03-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "old form",
                "created_at": "2026-03-01T10:00:01Z",
                "content": [{"type": "text", "text": "When do I sow beans?"}],
                "attachments": [{"file_name": "garden.txt", "extracted_content": "clay, north side"}],
                "files": [{"file_name": "bed.png"}],
            },
            {"uuid": "m2", "sender": "assistant", "text": "In May.", "created_at": "2026-03-01T10:00:02Z"},
            {"uuid": "m3", "sender": "assistant", "text": "", "content": []},
        ],
    },
    {"uuid": "c-2", "name": "", "chat_messages": []},
]


@IN_A_FILE
def test_chats_of_claude_become_past_conversations(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", CLAUDE)
    assert formats.recognise(path) is Format.CLAUDE
    assert figures(bring(home, path)) == {"ana": ({"conversations": 1, "messages": 2}, {}, {})}
    (info,) = mem.conversations.list()
    assert (info.chat_id, info.closing_summary) == ("c-1", "Beans")
    assert [(event.role, event.content) for event in mem.conversations.get(info.id).events()] == [
        ("user", "When do I sow beans?\n\n[garden.txt]\nclay, north side\n\n[bed.png]"),
        ("assistant", "In May."),
    ]
    assert not bring(home, path).changed


# MCP memory server

GRAPH = """\
{"type":"entity","name":"Ana","entityType":"person","observations":["speaks Portuguese","likes\\ntea"]}
{"type":"relation","from":"Ana","to":"Acme","relationType":"works at"}
{"type":"relation","from":"Nobody","to":"Acme","relationType":"owns"}

{"type":"entity","name":"Acme","entityType":"company","observations":[]}
"""


@IN_A_FILE
def test_entities_of_the_mcp_memory_server_become_notes(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "memory.jsonl", GRAPH)
    assert formats.recognise(path) is Format.MCP_MEMORY
    done = bring(home, path)
    assert figures(done) == {"ana": ({"entries": 2}, {}, {})}
    assert done.remarks == ("the relations of 'Nobody' were left out: there is no entity of that name",)
    ana = mem.get("Ana")
    assert (ana.content, ana.tags, ana.source) == (
        "speaks Portuguese\nlikes\ntea\nworks at [[Acme]]",
        ("person",),
        "mcp-memory",
    )
    assert mem.get("Acme").content == "Acme (company)"
    assert not bring(home, path).changed


def test_a_note_follows_the_file_until_it_is_changed_here(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "memory.jsonl", GRAPH)
    bring(home, path)
    write(path, GRAPH.replace("speaks Portuguese", "speaks Galician"))
    assert figures(bring(home, path)) == {"ana": ({}, {"entries": 1}, {"entries": 1})}
    assert mem.get("Ana").content.startswith("speaks Galician")
    mem.upsert("Ana", "my own words")
    write(path, GRAPH)
    done = bring(home, path)
    assert mem.get("Ana").content == "my own words"
    assert "'Ana' has another text here, and was left as it is" in done.remarks
    assert not done.changed


@IN_A_FILE
def test_a_note_that_was_forgotten_stays_forgotten(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "memory.jsonl", GRAPH)
    bring(home, path)
    mem.forget("Acme")
    assert not bring(home, path).changed
    assert [entry.name for entry in mem.list()] == ["Ana"]


@IN_A_FILE
@pytest.mark.parametrize("line", ["{broken", '["a", "list"]', '{"type":"other"}'])
def test_a_broken_line_of_the_graph_imports_nothing(line: str, home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "memory.jsonl", GRAPH + line + "\n")
    with pytest.raises(Invalid, match=r"line 6 of .* nothing was imported"):
        bring(home, path)
    assert mem.list() == []


# mem0

MEM0 = [
    {
        "id": "1",
        "memory": "Likes short answers",
        "user_id": "u1",
        "categories": ["preferences"],
        "created_at": "2025-07-20T01:30:36.275141-07:00",
        "metadata": {"from": "chat"},
    },
    {"id": "2", "memory": "Lives in Porto", "metadata": None},
    {"id": "3", "memory": ""},
]


@IN_A_FILE
@pytest.mark.parametrize("form", [MEM0, {"results": MEM0}, {"relations": [], "results": MEM0}])
def test_memories_of_mem0_become_notes(form: object, home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "mem0.json", form)
    assert formats.recognise(path) is Format.MEM0
    done = bring(home, path)
    assert figures(done) == {"ana": ({"entries": 2}, {}, {})}
    assert done.remarks == ("memory 3 of the file is empty, and was left out",)
    porto, short = mem.list()
    assert (short.content, short.tags, short.source) == ("Likes short answers", ("preferences",), "mem0")
    assert short.context == 'user_id: u1\n{"from": "chat"}'
    assert short.created_at == 1_753_000_236_275
    assert porto.lifetime == "long_term"
    assert not bring(home, path).changed


def test_a_text_that_is_changed_or_forgotten_is_not_imported_again(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "mem0.json", MEM0)
    bring(home, path)
    porto, short = mem.list()
    mem.forget(porto.id)
    mem.upsert(short.id, "Likes long answers")
    assert not bring(home, path).changed
    assert [entry.content for entry in mem.list()] == ["Likes long answers"]


def test_a_file_that_another_imports_at_the_same_time_is_there_once(home: Home, mem: Memory, tmp_path: Path) -> None:
    facts = [{"id": str(number), "memory": f"fact {number}"} for number in range(5)]
    paths = write(tmp_path / "mem0.json", facts), write(tmp_path / "claude.json", CLAUDE)

    def together() -> Iterator[ImportedItem]:
        for path, read in zip(paths, (mem0.read, claude.read), strict=True):
            for number, item in enumerate(read(path, lambda done: None)):
                yield item
                if not number:
                    bring(home, path)

    writer = ImportWriter(lambda name: home.agent(name)._entries.stores, "ana", home._shared.clock.now)
    writer.take(together())
    assert sorted(entry.content for entry in mem.list()) == [f"fact {number}" for number in range(5)]
    assert [conversation.chat_id for conversation in mem.conversations.list()] == ["c-1"]
    (part,) = writer.parts("default")
    assert (part.added, part.known) == ({}, {"entries": 5, "conversations": 1, "messages": 2})
    assert home.check().ok


@pytest.mark.directory
def test_what_is_changed_or_forgotten_during_an_import_stays_so(home: Home, mem: Memory, tmp_path: Path) -> None:
    first = [{"type": "entity", "name": name, "observations": ["old"]} for name in ("gone", "mine", "theirs")]
    path = write(tmp_path / "memory.jsonl", "\n".join(map(json.dumps, first)))
    bring(home, path)
    write(path, path.read_text().replace("old", "new") + '\n{"type": "entity", "name": "wide", "observations": ["x"]}')
    changes = iter(
        [lambda: (mem.forget("gone"), mem.upsert("mine", "edited"), mem.remember("y", name="wide", scope="account"))]
    )

    def clock() -> int:  # asked between looking and writing
        for change in changes:
            change()
        return home._shared.clock.now()

    stores = home.agent("ana")._entries.stores
    done = formats.import_(home._place, path, stores=lambda name: stores, agent="ana", workspace="default", clock=clock)
    assert {entry.name: entry.content[:3] for entry in mem.list()} == {"mine": "edi", "theirs": "new", "wide": "y"}
    assert figures(done)["ana"][:2] == ({}, {"entries": 1})
    assert mem.get("wide").scope == "account"


# Obsidian


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "garden"
    write(
        folder / "Roses.md",
        (
            '---\ntags: [plants, spring-time]\naliases:\n  - Rosa\n  - "The roses"\ncreated: 2025-04-01\n---\n'
            "# Roses\r\nCut them above a bud, see [[Tools|the spade]]. #prune/late `#not a tag`\n\n---\nend"
        ),
    )
    write(folder / "deep" / "Tools.md", "---\ntag: iron, wood\n---\nSpade and fork.\n")
    write(folder / "other" / "Tools.md", "---\nbroken frontmatter\n---\nMore tools.\n")
    write(folder / "Empty.md", "---\ntags: x\n---\n\n")
    write(folder / ".trash" / "Old.md", "thrown away")
    write(tmp_path / "outside.md", "not in the folder")
    os.symlink(tmp_path / "outside.md", folder / "Link.md")
    return folder


def test_a_folder_of_obsidian_notes_keeps_names_links_tags_and_aliases(home: Home, mem: Memory, notes: Path) -> None:
    assert formats.recognise(notes) is Format.OBSIDIAN
    done = bring(home, notes)
    assert figures(done) == {"ana": ({"entries": 3}, {}, {})}
    assert done.remarks == (
        "Empty.md is empty and was left out",
        "Link.md was left out: it is a link; put a plain file in its place, or remove it",
    )
    roses = mem.get("Rosa")
    assert (roses.name, roses.aliases) == ("Roses", ("Rosa", "The roses"))
    assert roses.tags == ("plants", "spring-time", "prune/late")
    assert roses.content.startswith("# Roses\r\nCut them above a bud, see [[Tools|the spade]].")
    assert roses.content.endswith("\n\n---\nend")
    assert roses.created_at == 1_743_465_600_000
    assert mem.get("Tools").tags == ("iron", "wood")
    assert mem.get("other/Tools").content == "---\nbroken frontmatter\n---\nMore tools."
    assert not bring(home, notes).changed


@IN_A_FILE
def test_a_single_note_is_imported(home: Home, mem: Memory, notes: Path) -> None:
    assert figures(bring(home, notes / "Roses.md")) == {"ana": ({"entries": 1}, {}, {})}
    assert not bring(home, notes / "Roses.md").changed


@pytest.mark.directory
def test_an_account_name_is_never_taken(home: Home, mem: Memory, notes: Path) -> None:
    mem.remember("mine", name="Roses", scope="account")
    mem.remember("mine, too", name="The roses", scope="account")
    done = bring(home, notes)
    assert mem.get("Roses").content == "mine"
    assert any("'Roses'" in remark for remark in done.remarks)
    assert home.check().findings == ()


# A folder `.memory`

FLAT = """\
# Dev

## Decisões Técnicas
We use PostgreSQL. #db

## Tarefas
- [ ] write the tests

## Deploy howto
Push the button.
"""
VAULT = """\
<!-- id:1773671520000 -->
## 2026-03-16T14:32 · #auto-extract #multi-word

Newest decision
---
with a rule inside

---

<!-- id:1773671519000 -->
## 2026-03-16T14:31

Older decision

---
"""


@pytest.fixture
def memory_folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".memory"
    write(folder / "dev.md", FLAT)
    write(folder / "_project.md", "# The project\nA shop for seeds.")
    write(folder / "ux" / "decisions.md", VAULT)
    write(folder / "ux.md", "## Lessons\nold, has a folder")
    write(
        folder / "conversations" / "qa.json",
        {
            "agentId": "qa",
            "savedAt": "2025-12-15T23:04:23.463Z",
            "messages": [
                {"role": "user", "text": "Which database?"},
                {"role": "agent", "text": "We decided to use SQLite for the tests."},
                {"role": "agent", "text": "tick", "internal": True},
            ],
        },
    )
    write(folder / "conversations" / "bad.json", "{")
    return folder


def test_a_memory_folder_becomes_the_memories_of_its_agents(home: Home, memory_folder: Path) -> None:
    assert formats.recognise(memory_folder) is Format.MEMORY_FOLDER
    done = bring(home, memory_folder)
    assert figures(done) == {
        "_shared": ({"entries": 1}, {}, {}),
        "dev": ({"entries": 3}, {}, {}),
        "qa": ({"conversations": 1, "messages": 3}, {}, {}),
        "ux": ({"entries": 2}, {}, {}),
    }
    assert (done.migrated, done.skipped) == (("dev.md",), ("ux.md",))
    assert "bad.json is not JSON, and was skipped" in done.remarks
    dev = {entry.category: entry for entry in home.agent("dev").list()}
    assert (dev[Category.DECISIONS].content, dev[Category.DECISIONS].tags) == ("We use PostgreSQL. #db", ("db",))
    assert dev[Category.TASKS].content == "- [ ] write the tests"
    assert dev[Category.LESSONS].content == "Deploy howto\n\nPush the button."
    assert (memory_folder / "dev.md.bak").read_text() == FLAT
    assert not (memory_folder / "dev.md").exists()
    newest, older = home.agent("ux").list(category="decisions")
    assert (newest.content, newest.tags) == ("Newest decision\n---\nwith a rule inside", ("auto-extract", "multi-word"))
    assert (newest.created_at, older.created_at) == (1_773_671_520_000, 1_773_671_519_000)
    for agent in ("ana", "dev", "somebody else"):
        assert home.agent(agent).project() == "# The project\nA shop for seeds."


def test_a_saved_conversation_leaves_decisions_and_no_hand_off(home: Home, memory_folder: Path) -> None:
    qa = home.agent("qa")
    own = qa.remember("The gate is next.", category="handoffs")
    bring(home, memory_folder)
    assert [entry.id for entry in qa.list(category="handoffs")] == [own.id]
    (decision,) = qa.list(category="decisions")
    assert "SQLite" in decision.content
    assert qa.conversations.list()[0].status is Status.IDLE
    assert home.check().findings == ()


def test_an_imported_hand_off_is_the_last_session_only_if_there_is_no_own_one(home: Home, mem: Memory) -> None:
    mem.remember("An imported session.", category="handoffs", origin="external")
    assert [item.text for item in mem.context("").section("Last Session")] == ["An imported session."]
    mem.remember("The gate is next.", category="handoffs", at="2020-01-01")
    assert [item.text for item in mem.context("").section("Last Session")] == ["The gate is next."]


def test_a_memory_folder_is_imported_once(home: Home, memory_folder: Path, clock: FixedClock) -> None:
    bring(home, memory_folder)
    clock.advance(DAY)
    done = bring(home, memory_folder)
    assert not done.changed
    assert done.skipped == ("ux.md",)
    write(memory_folder / "dev.md", FLAT)
    assert bring(home, memory_folder).skipped == ("dev.md", "ux.md")


@pytest.mark.directory
@pytest.mark.unprepared
def test_a_dry_run_changes_neither_memory_nor_files(home: Home, memory_folder: Path) -> None:
    done = bring(home, memory_folder, dry_run=True)
    assert done.dry_run
    assert figures(done)["dev"] == ({"entries": 3}, {}, {})
    assert figures(done)["qa"] == ({"conversations": 1, "messages": 3}, {}, {})
    assert home.workspaces() == []
    assert (memory_folder / "dev.md").exists()
    assert figures(bring(home, memory_folder)) == figures(done)


@IN_A_FILE
def test_one_saved_conversation_can_be_imported(home: Home, memory_folder: Path) -> None:
    path = memory_folder / "conversations" / "qa.json"
    assert formats.recognise(path) is Format.CONVERSATION
    assert figures(bring(home, path)) == {"qa": ({"conversations": 1, "messages": 3}, {}, {})}
    assert not bring(home, path).changed


@pytest.mark.parametrize(
    ("title", "category"),
    [
        ("Decisões", "decisions"),
        ("DECISOES TECNICAS", "decisions"),
        ("Decisions (2026)", "decisions"),
        ("Decsions", "decisions"),
        ("Aprendizados", "lessons"),
        ("Notas de Sessão", "lessons"),
        ("Findings", "lessons"),
        ("Notes", "lessons"),
        ("Tarefas", "tasks"),
        ("Open tasks", "tasks"),
        ("Contexto de Projeto", "projects"),
        ("Context", "projects"),
        ("Projects", "projects"),
        ("Handoffs", "handoffs"),
        ("Last handoff", "handoffs"),
        ("Something else", "lessons"),
        ("→", "lessons"),
    ],
)
def test_headings_tell_the_category(title: str, category: str) -> None:
    assert category_of(title)[1] == category


def test_text_before_the_first_entry_is_kept() -> None:
    assert entries("# Decisions\n\nby hand\n\n---\n\n" + VAULT)[0] == (None, [], "by hand")
    assert entries("") == []


# What is none of these


@IN_A_FILE
def test_garbage_is_refused(home: Home, mem: Memory, tmp_path: Path) -> None:
    for content, message in [
        (b"", "is not JSON"),
        (b"hello", "is not JSON"),
        (b"\xff\xfe\x00garbage", "is not UTF-8"),
        (b"[]", "is none of the formats"),
        (b'[{"a": 1}]', "is none of the formats"),
        (b"[1, 2]", "there is no object"),
        (b"[" * 5_000, "there is no object"),
        (b'{"a":' * 100_000, "nested too deep|ends too early"),
    ]:
        (tmp_path / "file.json").write_bytes(content)
        with pytest.raises(Invalid, match=message):
            bring(home, tmp_path / "file.json")
    with pytest.raises(ConfigError, match="there is no file"):
        bring(home, tmp_path / "nowhere.json")
    (tmp_path / "bare").mkdir()
    with pytest.raises(Invalid, match="is none of the formats"):
        bring(home, tmp_path / "bare")
    with pytest.raises(Invalid, match="is not a format"):
        bring(home, tmp_path / "file.json", format="word")
    assert mem.list() == []


@IN_A_FILE
def test_a_file_that_is_cut_off_says_so_and_can_be_imported_again(home: Home, mem: Memory, tmp_path: Path) -> None:
    whole = json.dumps(CHATGPT)
    path = write(tmp_path / "conversations.json", whole[: whole.index('"aaaa-3"')])
    with pytest.raises(Invalid, match=r"is damaged at character .*: it ends too early"):
        bring(home, path)
    write(path, whole)
    bring(home, path)
    assert len(mem.conversations.list()) == 3


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 50])
def test_json_is_read_in_pieces_of_any_size(chunk: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    values = [{"a": 'é"}]{[\\u0041', "b": [1.5e3, True, None]}, {}, {"c": {"d": "x" * 200}}]
    path = write(tmp_path / "list.json", "\ufeff \n" + json.dumps(values, ensure_ascii=False, indent=1))
    assert list(reading.objects(path, lambda done: None)) == values


def test_a_mistake_in_the_middle_is_reported_before_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reading, "CHUNK", 100)
    path = write(tmp_path / "list.json", '[{"a": 1}, {"b" 2}, ' + '{"c": 3}, ' * 10_000 + "{}]")
    read: list[int] = []
    with pytest.raises(Invalid, match="is damaged at character 11"):
        list(reading.objects(path, read.append))
    assert read[-1] <= 200
