"""Damage is found; what can be proven or computed again is repaired, the rest stays, and nothing locks the memory."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crash.evidence import raw, rows
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import Add, Alias, Corrupt, Finding, Home, Memory, RecollectError, Rename, Write
from recollect.search import index, vectors

BOTH = pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
FILE = pytest.mark.parametrize("location", ["file"], indirect=True)


def damage(location: str, *statements: str) -> None:
    """Run SQL past recollect."""
    with raw(location) as run:
        for statement in statements:
            run(statement)


def found(findings: tuple[Finding, ...], part: str, message: str) -> bool:
    return any(finding.part == part and re.search(message, finding.message) for finding in findings)


def is_mended(home: Home, part: str, message: str) -> None:
    """Assert that the damage is found, told as mended when it is mended, and gone then."""
    findings = home.check().findings
    assert found(findings, part, message), findings
    assert not any(finding.repaired for finding in findings)
    report = home.check(repair=True)
    assert found(report.findings, part, message)
    assert report.ok, report.findings
    assert home.check().findings == ()


def is_only_told(home: Home, part: str, message: str) -> None:
    """Assert that the damage is found, and still there after all that can be mended was."""
    assert found(home.check().findings, part, message), home.check().findings
    report = home.check(repair=True)
    assert any(re.search(message, one.message) and not one.repaired for one in report.findings), report.findings
    assert found(home.check().findings, part, message)


# Vectors


@pytest.fixture
def embedder() -> FaultyEmbedder:
    return FaultyEmbedder(8)


@pytest.fixture
def embedded(location: str, embedder: FaultyEmbedder) -> Iterator[Home]:
    """A home whose entries have vectors."""
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"kettle number {number}") for number in range(6)])
        mem.conversations.start().user("where is the kettle?")
        yield home


@BOTH
def test_damaged_vectors_are_found_and_dropped_and_rebuilt(
    embedded: Home, embedder: FaultyEmbedder, location: str
) -> None:
    server = location.startswith("postgresql")
    short = "'[1,0,0]'" if server else "x'0102030405'"
    long = "'[9,0,0,0,0,0,0,0]'" if server else f"x'{'00001041' * 8}'"
    ids = {"short": 1, "long": 2, "number": 3, "entry": 4}
    mem = embedded.agent("ana")
    known = sorted(row[1] for row in rows(location, "embeddings", "ana"))
    where = {name: f"WHERE entry_id = '{known[place]}'" for name, place in ids.items()}
    damage(location, f"UPDATE embeddings SET vector = {short} {where['short']}")
    with recollect.open(location, embedder=embedder) as other:  # one that has read nothing yet
        theirs = other.agent("ana")
        assert len(theirs.recall("kettle", limit=10)) == 6
        assert len(theirs.conversations.search("kettle")) == 1
        with pytest.raises(RecollectError):
            theirs.recall("kettle", mode="vector")
        theirs.remember("and one more kettle")
    damage(
        location,
        f"UPDATE embeddings SET vector = {long} {where['long']}",
        f"UPDATE embeddings SET number = -1 {where['number']}",
        f"UPDATE embeddings SET entry_id = 'garbage' {where['entry']}",
    )
    findings = embedded.check().findings
    assert found(findings, "vectors", f"the vector of entry {known[1]} has .* bytes, which are not 8 numbers")
    assert found(findings, "vectors", f"the vector of entry {known[2]} .* its length is not 1")
    assert found(findings, "vectors", f"the vector of entry {known[3]} has the number -1")
    is_mended(embedded, "vectors", "the vector of entry garbage is of no entry")
    with recollect.open(location, embedder=embedder) as other:
        assert other.backfill() == 4
        assert len(other.agent("ana").recall("kettle", mode="vector", limit=10)) == 7
    assert len(mem.recall("kettle", mode="vector", limit=10)) == 7
    damage(location, "UPDATE counters SET vectors = 1 WHERE agent = 'ana'")
    is_mended(embedded, "vectors", "the counter of vectors says 1, but [0-9]+ is in use")
    mem.remember("the last kettle")
    assert len(mem.recall("kettle", mode="vector", limit=10)) == 8
    assert embedded.check().findings == ()


@FILE
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE codes SET codes = x'00' WHERE pack = {first}", "has 128 bytes of numbers and 1 of codes"),
        ("UPDATE codes SET numbers = x'' WHERE pack = {last}", "has 0 bytes of numbers"),
        ("UPDATE codes SET numbers = zeroblob(length(numbers)) WHERE pack = {first}", "numbers that are not in order"),
        ("UPDATE codes SET codes = zeroblob(length(codes)) WHERE pack = {first}", "has codes of other vectors"),
        ("DELETE FROM codes WHERE pack = {first}", "16 vectors of 'hash' are in no pack, the first is 1"),
    ],
)
def test_damaged_packs_are_found_and_rebuilt(
    location: str, monkeypatch: pytest.MonkeyPatch, sql: str, message: str
) -> None:
    for name in ("PACK", "SIFTED"):
        monkeypatch.setattr(vectors, name, 16)
    with recollect.open(location, embedder=FaultyEmbedder(64)) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"plum number {number}") for number in range(40)])
        mem.forget(mem.recall("plum 7", mode="vector", limit=1)[0].entry.id)
        first, last = sorted(row[1] for row in rows(location, "codes", "ana"))
        assert home.check().findings == ()
        damage(location, sql.format(first=first, last=last))
        is_mended(home, "vectors", message)
        assert len(mem.recall("plum", mode="vector", limit=50)) == 39
        mem.remember_many([Add(f"pear number {number}") for number in range(20)])
        assert rows(location, "codes", "ana")
        assert len(mem.recall("number", mode="vector", limit=100)) == 59
        assert home.check().findings == ()


@FILE
def test_a_damaged_vector_keeps_nothing_from_being_written(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "PACK", 16)
    with recollect.open(location, embedder=FaultyEmbedder(64)) as home:
        mem = home.agent("ana")
        mem.remember("the first plum")
        damage(location, "UPDATE embeddings SET vector = x'0102030405'")
        mem.remember_many([Add(f"plum number {number}") for number in range(20)])
        assert len(rows(location, "codes", "ana")) == 1
        is_mended(home, "vectors", "has 5 bytes, which are not 64 numbers")


# Entries


@pytest.fixture
def filled(home: Home, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory with segments, a tail, removals, names, a log and a trash."""
    monkeypatch.setattr(index, "TAIL", 6)
    mem = home.agent("ana")
    mem.remember_many([Add(f"note {number} about the failover router", tags=["t"]) for number in range(9)])
    named = mem.remember("a named note", name="named", category="decisions", importance=0.5)
    mem.apply(Rename("named", "renamed"))
    mem.apply(Alias(named.id, "also"))
    mem.apply(Write(named.id, content="the glacier backup", context="why"))
    mem.remember("forgotten", name="gone")
    mem.forget("gone")
    assert home.check().findings == ()
    return mem


ID = "(SELECT entry_id FROM names WHERE agent = 'ana' AND name = 'also')"
PROVEN = {
    "content": ("content = 'the glaciXr backup'", "its fingerprint differs"),
    "fingerprint": ("content_hash = 'garbage'", "its fingerprint differs"),
    "category": ("category = 'garbage'", "the row of entry .* is damaged"),
    "scope": ("scope = 'garbage'", "the row of entry .* is damaged"),
    "lifetime": ("lifetime = 'garbage'", "the row of entry .* is damaged"),
    "tags": ("tags = '5'", "the row of entry .* is damaged"),
    "source": ("source = 'garbage'", "the source of entry .* is 'garbage', but the log says otherwise"),
    "concept tags": ("concept_tags = '[]'", "the concept_tags of entry .* is None, but the log says otherwise"),
    "events": ("last_event = 7", "the last_event of entry .* is 7, but the log says otherwise"),
}


@BOTH
def test_a_damaged_entry_is_rewritten_from_a_log_that_proves_it(home: Home, filled: Memory, location: str) -> None:
    right, listed = filled.get("renamed"), filled.list()
    hits = [(hit.entry.id, hit.score) for hit in filled.recall("glacier note", limit=20)]
    for what, message in PROVEN.values():
        damage(location, f"UPDATE entries SET {what} WHERE agent = 'ana' AND id = {ID}")
        is_mended(home, "entries", message)
        assert filled.get("renamed") == right
    damage(
        location,
        "UPDATE counters SET analysis = 0 WHERE agent = 'ana'",  # the next write rebuilds the index, from all entries
        f"UPDATE entries SET content = 'forged' WHERE agent = 'ana' AND id = {ID}",
    )
    is_mended(home, "entries", "its fingerprint differs")
    damage(location, f"DELETE FROM entries WHERE agent = 'ana' AND id = {ID}")
    is_mended(home, "entries", "is in the log, but does not exist")
    assert filled.list() == listed
    assert [(hit.entry.id, hit.score) for hit in filled.recall("glacier note", limit=20)] == hits
    filled.apply(Write("also", content="another text"))
    filled.forget("renamed")
    assert home.check().findings == ()


@pytest.mark.directory
@FILE
def test_what_the_row_alone_knows_survives_the_mending(home: Home, filled: Memory, location: str) -> None:
    damage(
        location,
        f"UPDATE entries SET access_count = 3, accessed_at = 99, updated_at = 98, vault_id = 4 WHERE id = {ID}",
        f"UPDATE entries SET lifetime = 'mid_term', context = 'forged' WHERE id = {ID}",
    )
    is_mended(home, "entries", "the context of entry .* is 'forged'")
    entry = filled.get("also")
    assert (entry.access_count, entry.accessed_at, entry.updated_at, entry.vault_id) == (3, 99, 98, 4)
    assert (entry.lifetime, entry.context, entry.content) == ("mid_term", "why", "the glacier backup")


@BOTH
def test_a_log_that_proves_nothing_changes_no_entry(home: Home, filled: Memory, location: str) -> None:
    # The row fits its own fingerprint: it may be the log that was altered.
    damage(location, "UPDATE operations SET after = replace(after, 'glacier', 'forged') WHERE agent = 'ana'")
    is_only_told(home, "entries", "the content of entry .* but the log says otherwise")
    damage(location, "UPDATE operations SET after = replace(after, 'forged', 'glacier') WHERE agent = 'ana'")
    assert home.check().findings == ()
    # A log with a gap may not know the newest.
    damage(
        location,
        f"UPDATE entries SET context = 'newer' WHERE agent = 'ana' AND id = {ID}",
        "DELETE FROM operations WHERE agent = 'ana' AND seq = 3",
    )
    is_only_told(home, "entries", "the context of entry .* is 'newer'")
    assert filled.get("also").context == "newer"


@BOTH
def test_a_content_that_only_the_row_has_is_kept_and_its_other_fields_are_rewritten(
    home: Home, filled: Memory, location: str
) -> None:
    right = filled.recall("note 3")[0].entry
    row = f"WHERE agent = 'ana' AND id = '{right.id}'"
    for what, message in (
        ("category = 'garbage'", "the row of entry .* is damaged"),
        ("tags = '[]', importance = 1", "the importance of entry .* is 1.0, but the log says otherwise"),
    ):
        damage(location, f"UPDATE entries SET {what} {row}")
        is_mended(home, "entries", message)
        assert filled.get(right.id) == right
    for what in ("content = 'note 3 about the failover routeX'", "content_hash = 'garbage'"):
        damage(location, f"UPDATE entries SET {what} {row}")
        is_only_told(home, "entries", "its fingerprint differs")
        with pytest.raises(Corrupt, match="fingerprint"):
            filled.get(right.id)
        damage(
            location,
            f"UPDATE entries SET content = '{right.content}', content_hash = '{right.content_hash[:16]}' {row}",
        )
        assert home.check().findings == ()
    assert [revision.after["content"] for revision in filled.history(right.id)] == [right.content]
    damage(location, f"DELETE FROM entries {row}")
    is_only_told(home, "entries", f"entry {right.id} is in the log, but does not exist")
    assert len(filled.list()) == 9  # nothing else is locked by it
    assert filled.changes()


@BOTH
def test_a_content_that_a_write_or_a_removal_replaces_is_in_the_log(home: Home, location: str) -> None:
    mem = home.agent("ana")
    said = 'a "quoted" \\ line\nand 🦊 \u2028'
    ids = [entry.id for entry in mem.remember_many([Add(said, tags=["t"]), Add(said, name="second")])]
    ids.append(mem.remember(said, importance=1.0).id)

    def logged() -> list[tuple[str, bool]]:
        return [(row[4], said in json.loads(row[7])) for row in rows(location, "operations", "ana") if row[7]]

    def histories() -> list[list[dict[str, Any]]]:
        return [[revision.after for revision in mem.history(one)] for one in ids]

    before = histories()
    assert {one[0]["content"] for one in before} == {said}
    assert logged() == [("new", False)] * 3
    mem.apply(Write(ids[0], tags=["other"]))  # the content stays
    assert logged()[:3] == [("new", False)] * 3
    mem.apply(Write(ids[0], content="another text"))
    mem.forget("second")
    assert logged()[:3] == [("add", True), ("add", True), ("new", False)]
    mem.restore("second")
    mem.apply(Write(ids[0], content=said))
    after = histories()
    assert [revisions[0] for revisions in after] == [revisions[0] for revisions in before]
    assert mem.get("second").content == said
    assert [revision.entry_id for revision in mem.changes() if revision.operation == "add"] == [*ids, ids[1]]
    assert home.check().findings == ()


@BOTH
@pytest.mark.parametrize("column", ["kind", "category", "scope", "lifetime"])
def test_an_unknown_value_in_a_row_is_reported_by_searches_and_lists(
    filled: Memory, location: str, column: str
) -> None:
    damage(location, f"UPDATE entries SET {column} = 'poem' WHERE agent = 'ana' AND id = {ID}")
    with pytest.raises(Corrupt, match=r"poem.*check --repair"):
        filled.recall("glacier")
    with pytest.raises(Corrupt, match=r"poem.*check --repair"):
        filled.list()


@BOTH
def test_an_entry_that_cannot_be_read_can_be_forgotten_and_erased(home: Home, filled: Memory, location: str) -> None:
    right = filled.get("also")
    damage(location, f"UPDATE entries SET content = 'the glaciXr backup' WHERE agent = 'ana' AND id = {ID}")
    with pytest.raises(Corrupt):
        filled.list()
    assert filled.forget("renamed") is True
    assert home.check().findings == ()
    filled.restore("renamed")  # with the text that the log proves
    assert (filled.get("also").content, filled.get("also").context) == (right.content, right.context)
    damage(location, f"UPDATE entries SET kind = 'poem' WHERE agent = 'ana' AND id = {ID}")
    receipt = filled.forget("also", erase=True)
    assert receipt.entry_id == right.id
    assert home.check().findings == ()
    assert filled.recall("glacier") == []
    assert not any(
        "glacier" in repr(row)
        for table in ("operations", "postings", "tail", "removals")
        for row in rows(location, table, "ana")
    )


@BOTH
@pytest.mark.parametrize("flushed", [False, True])
def test_an_entry_that_nothing_proves_can_be_forgotten_and_erased(
    home: Home, filled: Memory, location: str, flushed: bool
) -> None:
    where = f"WHERE agent = 'ana' AND entry_id = {ID}"
    if flushed:
        filled.remember_many([Add(f"another note {number}") for number in range(6)])
    entry_id = filled.get("also").id
    damage(
        location,
        f"UPDATE operations SET after = '[]', before = '[]' {where}",
        f"UPDATE entries SET content = 'scrXbbled', content_hash = 'garbage' WHERE agent = 'ana' AND id = {ID}",
    )
    assert filled.forget(entry_id) is True
    assert {finding.part for finding in home.check().findings} == {"log"}  # that it cannot be read
    assert len(filled.list()) == (15 if flushed else 9)
    filled.forget(entry_id, erase=True)
    assert home.check().findings == ()
    assert filled.recall("glacier scrXbbled") == []
    assert not any(
        word in repr(row)
        for word in ("glacier", "scrXbbled")
        for table in ("entries", "operations", "postings", "tail", "removals")
        for row in rows(location, table, "ana")
    )


LOG = f"seq = (SELECT max(seq) FROM operations WHERE agent = 'ana' AND entry_id = {ID})"


@BOTH
def test_an_invalid_row_of_the_log_is_reported_and_does_not_stop_the_check(
    home: Home, filled: Memory, location: str
) -> None:
    home.agent("ben").remember("a note")
    before = home.check()
    (row,) = [row for row in rows(location, "operations", "ana") if row[4] == "write"]
    for sql, message in (
        ("before = '[]'", "operation .* cannot be read"),
        ("after = '[]'", "operation .* cannot be read"),
        ("after = '7'", "operation .* cannot be read"),
        ("operation = 'garbage'", "operation .* is 'garbage'"),
        ("before = NULL", "operation .* contradicts the log before it"),
        ("""before = '{"content":"a named note"}'""", "operation .* contradicts the log before it"),
    ):
        damage(location, f"UPDATE operations SET {sql} WHERE agent = 'ana' AND seq = {row[1]}")
        is_only_told(home, "log", message)
        assert home.check().entries == before.entries
        changes = zip(("operation", "before", "after"), (row[4], row[6], row[7]), strict=True)
        values = ", ".join(f"{name} = '{value}'" for name, value in changes)
        damage(location, f"UPDATE operations SET {values} WHERE agent = 'ana' AND seq = {row[1]}")
    assert home.check() == before
    damage(location, f"UPDATE operations SET after = '[]' WHERE agent = 'ana' AND seq = {row[1]}")
    with pytest.raises(Corrupt, match=r"operation .* cannot be read"):
        filled.history("also")


# Names, removals, counters


@BOTH
def test_what_erasing_and_ranking_go_by_is_checked(home: Home, filled: Memory, location: str) -> None:
    for sql, part, message in (
        ("UPDATE removals SET terms = 'other 1' WHERE agent = 'ana'", "index", "was removed under other words"),
        ("UPDATE removals SET terms = '' WHERE agent = 'ana'", "index", "was removed under other words"),
        ("UPDATE removals SET entry_id = 'garbage' WHERE agent = 'ana'", "index", "which the log does not know"),
        (
            "UPDATE names SET canonical = 999999999 WHERE name = 'renamed'",
            "names",
            "has a name that is neither canonical nor an alias",
        ),
        (
            "UPDATE names SET canonical = -1 WHERE name = 'also'",
            "names",
            "has a name that is neither canonical nor an alias",
        ),
    ):
        filled.remember("a passing note", name="passing")
        filled.forget("passing")
        damage(location, sql)
        is_mended(home, part, message)
        assert (filled.get("also").name, filled.get("also").aliases) == ("renamed", ("also", "named"))


@BOTH
def test_a_counter_of_documents_that_is_too_high_is_found_and_set_back(
    home: Home, filled: Memory, location: str
) -> None:
    hits = [(hit.entry.id, hit.score) for hit in filled.recall("glacier note", limit=20)]
    for wrong in ("documents + 200000", "999999999"):
        damage(location, f"UPDATE counters SET documents = {wrong} WHERE agent = 'ana'")
        with pytest.raises(Corrupt, match="recollect check --repair"):
            filled.remember("a note")
        is_mended(home, "index", "the counter of documents says [0-9]+, and .* both cannot be right")
        ((documents,),) = [(row[3],) for row in rows(location, "counters", "ana")]
        assert documents < 200
        assert [(hit.entry.id, hit.score) for hit in filled.recall("glacier note", limit=20)] == hits
    damage(location, "UPDATE tail SET doc = 999999999 WHERE doc IN (SELECT max(doc) FROM tail)")
    with recollect.open(location) as other, pytest.raises(Corrupt, match="recollect check --repair"):
        other.agent("ana").recall("glacier")
    is_mended(home, "index", "document 999999999 is in the index, but no entry has it")
    damage(location, "UPDATE segments SET size = 999999999 WHERE agent = 'ana'")
    is_mended(home, "index", "the index cannot be read")
    filled.remember("a note")
    assert home.check().findings == ()


# The journal


@pytest.fixture
def talked(home: Home, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory with a conversation that is in segments and in the tail."""
    monkeypatch.setattr(index, "TAIL", 4)
    mem = home.agent("ana")
    conversation = mem.conversations.start(participants=["bob"])
    for number in range(10):
        conversation.user(f"question {number} about teapots")
    assert home.check().findings == ()
    return mem


@BOTH
def test_a_journal_without_its_right_counter_is_found_and_mended(home: Home, talked: Memory, location: str) -> None:
    hits = [(turn.event.seq, turn.score) for turn in talked.conversations.search("teapots 3")]
    for sql, message in (
        ("DELETE FROM journals WHERE agent = 'ana'", "the counter of events says 0, but 10 is in use"),
        ("UPDATE journals SET events = -1 WHERE agent = 'ana'", "the counter of events says -1, but 10 is in use"),
        (
            "UPDATE journals SET events = 12 WHERE agent = 'ana'",
            "events 11 to 12 are missing from the journal, or its counter",
        ),
        ("UPDATE journals SET events = 999999999 WHERE agent = 'ana'", "events 11 to 999999999 are missing"),
        ("UPDATE journals SET flushed = 999999999 WHERE agent = 'ana'", "ends with event 999999999"),
    ):
        damage(location, sql)
        if "events = 999999999" in sql:
            with recollect.open(location) as other:
                theirs = other.agent("ana").conversations
                with pytest.raises(Corrupt, match="recollect check --repair"):
                    theirs.search("teapots")
                with pytest.raises(Corrupt, match="recollect check --repair"):
                    theirs.get(talked.conversations.list()[0].id).user("one more")
        is_mended(home, "journal", message)
        assert [(turn.event.seq, turn.score) for turn in talked.conversations.search("teapots 3")] == hits
    with recollect.open(location) as other:
        other.agent("ana").conversations.get(talked.conversations.list()[0].id).user("one more")
    assert home.check().findings == ()
    assert home.check().events == 11


@BOTH
def test_a_conversation_that_cannot_be_read_or_is_not_there_is_found(home: Home, talked: Memory, location: str) -> None:
    conversation = talked.conversations.list()[0].id
    for sql, back in (
        ("participants = 'garbage'", """participants = '["bob"]'"""),
        ("participants = '{}'", """participants = '["bob"]'"""),
        ("status = 'garbage'", "status = 'active'"),
    ):
        damage(location, f"UPDATE conversations SET {sql} WHERE agent = 'ana'")
        is_only_told(home, "journal", f"the conversation {conversation} cannot be read")
        damage(location, f"UPDATE conversations SET {back} WHERE agent = 'ana'")
    assert home.check().findings == ()
    damage(location, "DELETE FROM conversations WHERE agent = 'ana'", "DELETE FROM counters WHERE agent = 'ana'")
    is_only_told(home, "journal", f"the conversation {conversation} of event 1 and others is not there")
    assert talked.conversations.search("teapots") == []


def test_an_agent_that_has_nothing_but_events_is_checked(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(path) as home:
        home.agent("ana").conversations.start().user("hello")
    for sql in ("DELETE FROM conversations", "DELETE FROM counters", "DELETE FROM channels", "DELETE FROM journals"):
        damage(path, sql)
    with recollect.open(path) as home:
        assert found(home.check().findings, "journal", "the counter of events says 0, but 1 is in use")


# The index


EMPTIED = {
    "all": ("DELETE FROM tail", "DELETE FROM segments", "DELETE FROM postings"),
    "posting lists": ("DELETE FROM postings",),
    "tail": ("DELETE FROM tail",),
    "segments": ("DELETE FROM segments",),
    "counter of documents": ("UPDATE counters SET live = 0, tokens = 0 WHERE agent = 'ana'",),
}


@BOTH
@pytest.mark.parametrize("emptied", EMPTIED)
def test_an_emptied_index_is_noticed_and_rebuilt(home: Home, filled: Memory, location: str, emptied: str) -> None:
    before = {hit.entry.id for hit in filled.recall("note glacier", limit=50, record=False)}
    assert len(before) == 10
    home.close()
    damage(location, *EMPTIED[emptied])
    with recollect.open(location) as second:
        assert {hit.entry.id for hit in second.agent("ana").recall("note glacier", limit=50)} == before
        assert second.check().findings == ()


@BOTH
def test_lost_counters_are_reported_with_the_command_that_mends_them(home: Home, filled: Memory, location: str) -> None:
    home.close()
    damage(location, "DELETE FROM counters WHERE agent = 'ana'")
    with recollect.open(location) as second:
        with pytest.raises(Corrupt, match="run `recollect check --repair`"):
            second.agent("ana").recall("note")
        assert second.check(repair=True).ok
        assert len(second.agent("ana").recall("note", limit=50)) == 9


DAMAGED = {
    "cut off": "UPDATE postings SET data = {ff}",
    "out of range": "UPDATE postings SET data = {ffffff}",
    "empty": "UPDATE postings SET data = {}",
}


@BOTH
@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_posting_list_fails_no_write_and_is_rebuilt_by_a_search(
    home: Home, filled: Memory, location: str, damaged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FAN", 2)
    statement, _, data = DAMAGED[damaged].partition("{")
    quoted = f"x'{data[:-1]}'" if location.endswith(".db") else rf"'\x{data[:-1]}'"
    damage(location, statement + quoted)
    for number in range(15):  # over several segments, which are merged
        filled.remember(f"note {100 + number} about the bridge")
    filled.remember_many([Add(f"note {200 + number} about the bridge") for number in range(15)])
    assert len(filled.recall("note", limit=50)) == 39
    assert home.check().findings == ()


@BOTH
def test_a_search_that_meets_a_damaged_posting_list_rebuilds_it(home: Home, filled: Memory, location: str) -> None:
    assert len(filled.recall("note", limit=50)) == 9
    damage(location, "UPDATE postings SET data = " + ("x'ff'" if location.endswith(".db") else r"'\xff'"))
    assert len(filled.recall("note", limit=50)) == 9
    assert home.check().findings == ()
