"""Gemini, Letta, mem0 and the graph of the MCP memory server, in the forms in which they are exported."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Format, Imported
from recollect.transfer import formats
from recollect.transfer.importers.dates import spoken_date

IN_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what has nothing to do with the database."""


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def added(done: Imported) -> dict[str, int]:
    return dict(done.parts[0].added) if done.parts else {}


def contents(mem: Memory) -> dict[str, list[str]]:
    talks = {str(info.chat_id): mem.conversations.get(info.id) for info in mem.conversations.list()}
    return {name: [event.content for event in talk.events()] for name, talk in talks.items()}


# Gemini


def record(title: str, time: str, answer: str | None = None, **more: Any) -> dict[str, Any]:
    found = {"header": "Gemini Apps", "title": title, "time": time, "products": ["Gemini Apps"], **more}
    return {**found, "safeHtmlItem": [{"html": answer}]} if answer else found


ACTIVITY = [
    record("Prompted Which sail first? Attached 1 file.", "2026-03-01T12:00:00.000Z", attachedFiles=["deck plan.png"]),
    record("Created Gemini Canvas titled x", "2026-03-01T10:06:00.000Z"),
    record("Prompted and at sea?", "2026-03-01T10:05:00.000Z", "<p>Reef <b>early</b>.</p><ul><li>one</li></ul>"),
    record("Prompted How do I reef?", "2026-03-01T10:00:00.000Z", "<p>Lower the halyard.</p>"),
    {"header": "YouTube", "title": "Watched a film", "time": "2026-03-01T09:00:00Z", "products": ["YouTube"]},
]


def test_activity_of_gemini_becomes_conversations(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Takeout/My Activity/Gemini Apps/MyActivity.json", json.dumps(ACTIVITY))
        archive.writestr("Takeout/archive_browser.html", "<html></html>")
    done = home.import_(path, agent="ana")
    assert done.format is Format.GEMINI
    assert contents(mem) == {
        "gemini/2026-03-01T10:00:00Z": [
            "How do I reef?",
            "Lower the halyard.",
            "and at sea?",
            "Reef early.\n\n- one",
        ],
        "gemini/2026-03-01T12:00:00Z": ["Which sail first?\n[deck plan.png]"],
    }
    assert "left out of messages: 1 activity of other products, 1 activity that is no prompt" in done.remarks
    assert mem.conversations.search("halyard")[0].event.created_at == 1_772_359_200_000
    assert not home.import_(path, agent="ana").changed
    grown = [record("Prompted Thanks", "2026-03-01T12:10:00.000Z"), *ACTIVITY]
    assert added(home.import_(write(tmp_path / "MyActivity.json", grown), agent="ana")) == {"messages": 1}
    assert len(contents(mem)) == 2


CARD = """<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">
<div class="header-cell mdl-cell mdl-cell--12-col"><p class="mdl-typography--title">Gemini Apps<br></p></div>
<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">Prompted&nbsp;{prompt}<br>{date}<br>{answer}
</div>
<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div>
<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption"><b>Products:</b><br>&emsp;Gemini Apps</div>
</div></div>"""


@IN_A_FILE
def test_the_page_of_an_activity_of_gemini_is_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    cards = [
        CARD.format(prompt="two", date="May 19, 2026, 7:17:02\u202fPM GMT-03:00", answer=""),
        CARD.format(
            prompt="one<br>with <i>two</i> lines",
            date="May 19, 2026, 7:07:02\u202fPM GMT-03:00",
            answer="<p>yes &amp; no</p>",
        ),
    ]
    page = "<html><head><style>p {}</style></head><body>" + "".join(cards) + "</body></html>"
    done = home.import_(write(tmp_path / "MyActivity.html", page), agent="ana")
    assert done.format is Format.GEMINI
    assert contents(mem) == {"gemini/2026-05-19T22:07:02Z": ["one\nwith two lines", "yes & no", "two"]}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("May 19, 2026, 7:07:02\u202fPM GMT-03:00", 1_779_228_422_000),
        ("Jul 11, 2026, 12:00:47 PM MDT", 1_783_792_847_000),
        ("10 de mai. de 2026, 03:46:09 BRT", 1_778_395_569_000),
        ("11.07.2026, 12:00:47 MESZ", 1_783_764_047_000),
        ("March 1, 2026 10:00 AM", 1_772_359_200_000),
        ("March 1, 2026", 1_772_323_200_000),
        ("2026-03-01T10:00:00Z", 1_772_359_200_000),
        ("we met in May 2026", None),
        ("19, 7:07", None),
        ("February 31, 2026", None),
    ],
)
def test_a_date_is_read_as_people_write_it(text: str, moment: int | None) -> None:
    assert spoken_date(text) == moment


# Letta

LETTA = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "block_ids": ["block-0"],
            "llm_config": {"model": "gpt-4o-mini"},
            "messages": [
                {"id": "m0", "role": "system", "content": [{"type": "text", "text": "base"}], "created_at": None},
                {
                    "id": "m1",
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "user_message", "message": "Hello Sam"}'}],
                    "created_at": "2025-10-31T22:56:56.459100+00:00",
                },
                {"id": "m2", "role": "user", "content": [{"type": "text", "text": '{"type": "heartbeat"}'}]},
                {
                    "id": "m3",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "a thought"}],
                    "tool_calls": [
                        {"function": {"name": "send_message", "arguments": '{"message": "Hello Chad"}'}},
                        {"function": {"name": "archival_memory_search", "arguments": "{}"}},
                    ],
                },
                {"id": "m4", "role": "tool", "content": [{"type": "text", "text": "ok"}]},
                {"id": "m5", "role": "user", "content": "plain"},
                {"id": "m6", "role": "assistant", "content": [{"type": "text", "text": "answer"}], "tool_calls": None},
            ],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "Chad sails.", "description": "What is known of the user"},
        {"id": "block-1", "label": "persona", "value": "  "},
    ],
    "files": [{"file_name": "charts.txt", "content": "Depths in fathoms."}],
    "groups": [],
    "tools": [{"name": "send_message"}],
}


@IN_A_FILE
def test_an_agent_file_of_letta_becomes_notes_and_a_conversation(home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "sam.af", LETTA)
    assert formats.recognise(path) is Format.LETTA
    done = home.import_(path, agent="ana")
    assert added(done) == {"entries": 2, "conversations": 1, "messages": 4}
    block = mem.get("Sam/human")
    assert (block.content, block.context) == ("Chad sails.", "What is known of the user")
    assert mem.get("charts.txt").content == "Depths in fathoms."
    assert contents(mem) == {"letta/Sam": ["Hello Sam", "Hello Chad", "plain", "answer"]}
    assert "left out of messages: 1 archival_memory_search, 1 heartbeat, 1 system, 1 tool" in done.remarks
    assert not home.import_(path, agent="ana").changed
    assert home.agent("Sam").list() == []


@IN_A_FILE
def test_an_agent_file_of_an_older_letta_is_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    old = {
        "agent_type": "memgpt_agent",
        "name": "Sam",
        "core_memory": [{"label": "human", "value": "Chad sails."}],
        "messages": [{"role": "user", "text": "Hello", "created_at": "2025-03-01T10:00:00"}],
        "tools": [],
    }
    path = write(tmp_path / "old.af", old)
    assert formats.recognise(path) is Format.LETTA
    assert added(home.import_(path, agent="ana")) == {"entries": 1, "conversations": 1, "messages": 1}


# mem0 and the graph of the MCP memory server


@IN_A_FILE
@pytest.mark.parametrize(
    "form",
    [
        {"count": 1, "next": None, "results": [{"id": "1", "memory": "Chad sails"}]},
        {"memories": [{"id": "1", "content": "Chad sails", "state": "active"}]},
        {
            "user": {},
            "memories": [{"id": "1", "content": "Chad sails"}, {"id": "2", "content": "x", "state": "deleted"}],
        },
    ],
)
def test_the_forms_of_mem0_are_read(form: object, home: Home, mem: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "export" / "memories.json", form)
    assert formats.recognise(path.parent) is Format.MEM0
    assert added(home.import_(path.parent, agent="ana")) == {"entries": 1}
    assert mem.list()[0].content == "Chad sails"


@IN_A_FILE
def test_the_answer_of_read_graph_is_read(home: Home, mem: Memory, tmp_path: Path) -> None:
    graph = {
        "entities": [{"name": "Ana", "entityType": "person", "observations": ["sails"]}],
        "relations": [{"from": "Ana", "to": "Acme", "relationType": "works at"}],
    }
    path = write(tmp_path / "graph.json", graph)
    assert formats.recognise(path) is Format.MCP_MEMORY
    home.import_(path, agent="ana")
    assert mem.get("Ana").content == "sails\nworks at [[Acme]]"
