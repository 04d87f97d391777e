"""Erasing leaves no trace of an entry's text in any table, index, log, free page or file, and leaves the rest alone."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from crash.evidence import rows, schemas, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import Server
from traces import in_tables, left_of, on_disk, on_server

import recollect
from recollect import Alias, Conflict, Home, Memory, NotFound, Receipt, Rename, Unavailable, Write, text
from recollect.engine.agent_store import Store
from recollect.search import index
from recollect.storage.sqlite.administration import SqliteAdministration
from recollect.upkeep import runner, schedule
from recollect.upkeep.job_run import JobRun
from recollect.upkeep.schedule import Job

LONG = " ".join(f"page{number}of{number * 7919 % 100_003}" for number in range(13_000))


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    """An index that flushes after three documents and merges after two segments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "TAIL", 3)
        patch.setattr(index, "FAN", 2)
        yield


def token(number: int) -> str:
    """A word that stands in no other text: no vowels and no s, so that its stem is the word itself."""
    return "zq" + "".join("bcdfghjklm"[int(digit)] for digit in str(1_000 + number))


def secret(number: int) -> str:
    """A text with a token, and with everything that is written otherwise in a log than in a table."""
    return (
        f'the {token(number)} is "quoted {token(number)}a",\n\tlike \\ {token(number)}b, ünïcode漢字🦊{token(number)}c'
    )


def figures(receipt: Receipt) -> dict[str, int]:
    """What a receipt says was removed, by place."""
    return {erased.place: erased.removed for erased in receipt.removed}


# What can happen to an entry before it is erased, and to its neighbours in between.
steps = st.lists(
    st.sampled_from(
        ["write", "write", "rename", "alias", "tags", "context", "forget and restore", "neighbour", "neighbour"]
    ),
    max_size=14,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(story=steps, forgotten=st.booleans(), neighbours=st.integers(0, 20), later=st.integers(0, 8))
def test_whatever_happened_to_an_entry_no_byte_of_it_is_left_in_the_file(
    story: list[str], forgotten: bool, neighbours: int, later: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        location = str(Path(folder) / "memory.db")
        with recollect.open(location) as home:
            mem = home.agent("ana")
            others = [
                mem.remember(f"neighbour {number} of something", name=f"n{number}") for number in range(neighbours)
            ]
            words, entry = live(mem, story, others)
            if forgotten:
                mem.forget(entry.id)
            others += [mem.remember(f"later neighbour {number}") for number in range(later)]
            assert left_of(words, in_tables(location)) == words
            receipt = mem.forget(entry.id, erase=True)
            assert left_of(words, on_disk(location)) == []
            assert left_of(words, in_tables(location)) == []
            assert all(mem.recall(word) == [] for word in words)
            assert {other.id for other in mem.list(limit=1_000)} == {other.id for other in others}
            assert all(mem.get(other.id).content == other.content for other in others)
            assert "free pages" in receipt.verified
            assert home.check().findings == ()
        assert left_of(words, on_disk(location)) == []


@pytest.mark.slow
def test_a_text_of_many_pages_that_was_rewritten_is_erased_from_all_of_them(tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with recollect.open(location) as home:
        mem = home.agent("ana")
        entry = mem.remember(LONG, name="long")
        mem.apply(Write("long", content=LONG[::-1]))
        mem.remember("a neighbour")
        mem.apply(Write("long", content="short in the end"))
        pages = [LONG[at : at + 40] for at in range(0, len(LONG) - 40, 1_000)]
        words = [*pages, *(page[::-1] for page in pages)]
        assert len(LONG) > 200_000
        # Some of them stand across the end of a page; all of the others are found, so they can be missed.
        assert len(left_of(words, on_disk(location))) > 300
        mem.forget(entry.id, erase=True)
        assert left_of(words, on_disk(location)) == []
        assert [other.content for other in mem.list()] == ["a neighbour"]
        assert home.check().findings == ()


def live(mem: Memory, story: list[str], others: list[recollect.Entry]) -> tuple[list[str], recollect.Entry]:
    """Make an entry, let the story happen to it, and collect the words that nothing else has."""
    words = [token(0), token(0) + "t"]
    entry = mem.remember(secret(0), tags=[f"tag {token(0)}t"])
    for number, step in enumerate(story, start=1):
        match step:
            case "write":
                mem.apply(Write(entry.id, content=secret(number)))
            case "rename":
                mem.apply(Rename(entry.id, f"name {token(number)}"))
            case "alias":
                mem.apply(Alias(entry.id, f"alias {token(number)}"))
            case "tags":
                mem.apply(Write(entry.id, tags=[f"tag {token(number)}"]))
            case "context":
                mem.apply(Write(entry.id, context=f"context {token(number)}"))
            case "forget and restore":
                mem.forget(entry.id)
                mem.restore(entry.id)
            case _:
                others.append(mem.remember(f"neighbour in between {number}"))
        if step not in ("forget and restore", "neighbour"):
            words.append(token(number))
    return words, entry


STORIES: dict[str, list[str]] = {
    "fresh": [],
    "rewritten, renamed and aliased": ["write", "rename", "alias", "write", "tags", "context", "rename", "write"],
    "among many": ["neighbour"] * 9 + ["write"] + ["neighbour"] * 9,
    "from the trash and back": ["write", "forget and restore", "rename", "forget and restore", "neighbour"],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
@pytest.mark.parametrize("forgotten", [False, True], ids=["living", "in the trash"])
def test_no_table_and_no_file_of_the_server_holds_a_word_of_an_erased_entry(
    postgres_server: Server, postgres_url: str, story: list[str], forgotten: bool
) -> None:
    with recollect.open(postgres_url) as home:
        mem = home.agent("ana")
        others = [mem.remember(f"neighbour {number} of something", name=f"n{number}") for number in range(8)]
        words, entry = live(mem, story, others)
        if forgotten:
            mem.forget(entry.id)
        # What a server does by itself now and then: samples of the rows go into its statistics.
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("ANALYZE")
        assert left_of(words, in_tables(postgres_url)) == words
        assert token(0) in left_of(words, on_server(postgres_server, postgres_url))
        receipt = mem.forget(entry.id, erase=True)
        assert left_of(words, in_tables(postgres_url)) == []
        assert left_of(words, on_server(postgres_server, postgres_url)) == []
        assert all(mem.recall(word) == [] for word in words)
        assert {other.id for other in mem.list(limit=1_000)} == {other.id for other in others}
        assert any("write-ahead log" in place for place in receipt.remaining)
        assert home.check().findings == ()


def test_the_receipt_tells_what_was_removed(mem: Memory, location: str) -> None:
    entry = mem.remember("the zqbcd is hidden under the zqbcf", name="zqbcg", tags=["zqbch"])
    mem.apply(Rename(entry.id, "zqbcj"))
    mem.apply(Alias(entry.id, "zqbck"))
    before = {table: len(rows(location, table, "ana")) for table in ("tail", "postings", "removals")}
    receipt = mem.forget("zqbck", erase=True)
    assert receipt.entry_id == entry.id
    assert receipt.at == entry.created_at  # the clock stands still
    # Two documents: one with the first name, one with the second; each is a row of the tail and one of the removals.
    assert before == {"tail": 2, "postings": 0, "removals": 1}
    assert figures(receipt) == {"entries": 1, "names": 3, "operation log": 4, "index": 4}
    assert {"entries", "operation log"} <= set(receipt.verified)
    for table in ("entries", "names", "tail", "postings", "removals"):
        assert rows(location, table, "ana") == []
    log = rows(location, "operations", "ana")
    assert [row[4] for row in sorted(log)] == ["add", "rename", "alias", "remove"]
    assert all(row[6:] == (None, None) for row in log)


def test_a_text_in_the_trash_is_erased_by_its_id_or_its_last_name(mem: Memory, location: str) -> None:
    for number, target in enumerate(("id", "name")):
        entry = mem.remember(secret(number), name=f"name {token(number)}")
        mem.forget(entry.id)
        receipt = mem.forget(entry.id if target == "id" else f"name {token(number)}", erase=True)
        assert figures(receipt)["operation log"] == 2
        assert "entries" not in figures(receipt)
        assert left_of([token(number)], in_tables(location)) == []
        with pytest.raises(NotFound):
            mem.restore(entry.id)


def test_erasing_again_cleans_up_what_an_interrupted_erasure_left(mem: Memory, location: str) -> None:
    entry = mem.remember(secret(1))
    keeper = mem.remember("a note that stays")
    mem.forget(entry.id)
    # What a process leaves that is killed between the two halves of erasing: clean tables, old pages.
    with mem._workspace.write() as work:
        work.tx.run("operations.erase", entry_id=entry.id)
        work.index.erase(work.tx, work.counters, entry.id)
    receipt = mem.forget(entry.id, erase=True)
    assert receipt.entry_id == entry.id
    assert [other.id for other in mem.list()] == [keeper.id]
    if not location.startswith("postgresql"):
        assert left_of([token(1)], on_disk(location)) == []


def test_the_terms_that_only_an_erased_entry_had_are_in_no_part_of_the_index(mem: Memory, location: str) -> None:
    shared = "words that others have as well"
    for number in range(4):
        mem.remember(f"neighbour {number}: {shared}")
    entry = mem.remember(f"Geheimnisvolle Kühlschränke 冷蔵庫 snake_case_word camelCaseWord {shared}")
    for number in range(4, 9):
        mem.remember(f"neighbour {number}: {shared}")
    own = set(text.terms(entry.content)) - set(text.terms(shared))
    assert len(own) > 8
    segments = rows(location, "segments", "ana")
    assert len(segments) >= 2  # the entry is in a merged segment, not in the tail
    assert own <= {row[2] for row in rows(location, "postings", "ana")}
    mem.forget(entry.id, erase=True)
    assert own.isdisjoint(row[2] for row in rows(location, "postings", "ana"))
    for table in ("tail", "removals"):
        assert own.isdisjoint(word for row in rows(location, table, "ana") for word in str(row[-1]).split())
    assert len(mem.recall(shared, limit=20)) == 9


def test_text_that_another_entry_shares_stays_and_is_reported(mem: Memory, location: str) -> None:
    twin = mem.remember("the launch code is eight zeros in a row")
    trashed = mem.remember("she said the launch code is eight zeros in a row again")
    mem.forget(trashed.id)
    entry = mem.remember("the launch code is eight zeros in a row")
    receipt = mem.forget(entry.id, erase=True)
    received = [line for line in receipt.remaining if "contains some of the same words" in line]
    assert [line.split()[1] for line in received] == sorted([twin.id, trashed.id])
    assert mem.get(twin.id).content == "the launch code is eight zeros in a row"
    assert [hit.entry.id for hit in mem.recall("launch code")] == [twin.id]
    assert mem.restore(trashed.id).content == trashed.content


@pytest.mark.directory
def test_another_agents_memory_stays_as_it_is_and_the_receipt_does_not_tell_of_it(home: Home, location: str) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    theirs = ben.remember("the launch code is eight zeros in a row", name="code")
    ben.remember("and more", scope="account")

    def of_ben() -> dict[str, list[tuple[Any, ...]]]:
        return {table: rows(location, table, "ben") for table in ("entries", "names", "operations", "tail", "counters")}

    before = of_ben()
    mine = ana.remember("the launch code is eight zeros in a row", name="code")
    with_twin = ana.forget(mine.id, erase=True)
    assert of_ben() == before
    assert ben.get("code").id == theirs.id
    assert [hit.entry.id for hit in ben.recall("launch code")] == [theirs.id]
    # The same receipt, word for word, as without the other entries.
    alone = ana.remember("the landing code is seven ones in a row!", name="code")
    without_twin = ana.forget(alone.id, erase=True)
    assert (with_twin.removed, with_twin.verified, with_twin.remaining) == (
        without_twin.removed,
        without_twin.verified,
        without_twin.remaining,
    )


@pytest.mark.parametrize("scope", ["workspace", "account"])
def test_no_question_on_record_quotes_an_erased_entry(home: Home, location: str, scope: str) -> None:
    mem, text = home.agent("ana"), f"The alarm code of the shed is {token(6)}, told by Rita."
    home.agent("ben").remember("the alarm code of the house", lifetime="long_term")
    near = mem.remember("the alarm code of the house is in the safe")
    mem.recall(text)  # is it known already?
    mem.recall(f"{token(6).upper()}")
    mem.recall("the alarm code of the house")
    mem.recall(text, target_agent="ben")
    entry = mem.remember(text, scope=scope)
    home.flush()
    assert left_of([token(6)], in_tables(location)) == [token(6)]
    receipt = mem.forget(entry.id, erase=True)
    assert figures(receipt)["questions"] >= 2
    assert left_of([token(6), token(6).upper()], in_tables(location)) == []
    if not location.startswith("postgresql"):
        assert left_of([token(6)], on_disk(location)) == []
    # The records of other questions stay.
    asked = [query for _, query in mem.accesses(near.id).recalls]
    assert sorted(asked) == ["", "the alarm code of the house"]
    assert [(row[3], row[5]) for row in rows(location, "access_log", "ana")] == [("ben", "")]
    assert home.check().findings == ()


@pytest.mark.parametrize("scope", ["workspace", "account"])
@pytest.mark.parametrize("field", ["content", "name", "tags", "context"])
def test_a_recorded_question_that_shares_a_rare_word_with_an_erased_entry_is_blanked(
    home: Home, location: str, scope: str, field: str
) -> None:
    mem, rare = home.agent("ana"), token(6)
    home.agent("ben").remember("the old password")
    near = mem.remember("the password of the shed is on the door")
    given = {"content": "the password of the house", field: [rare] if field == "tags" else f"{rare} it is"}
    entry = mem.remember(scope=scope, **given)
    questions = [f"is {rare} the password?", f"password: ({rare.upper()}) or what", "the password of the shed?"]
    for question in questions:
        mem.recall(question)
        mem.recall(question, target_agent="ben")
    home.flush()
    assert left_of([rare], in_tables(location)) == [rare]
    receipt = mem.forget(entry.id, erase=True)
    assert left_of([rare, rare.upper()], in_tables(location)) == []
    if not location.startswith("postgresql"):
        assert left_of([rare, rare.upper()], on_disk(location)) == []
    assert [query for _, query in mem.accesses(near.id).recalls if query] == ["the password of the shed?"]
    asked = [row[5] for row in rows(location, "access_log", "ana") if row[5]]
    assert asked == ["the password of the shed?"]
    assert "every table" in receipt.verified
    assert rare not in str(receipt)


def test_a_question_that_another_process_records_after_the_erasure_is_not_kept(location: str) -> None:
    with recollect.open(location) as here, recollect.open(location) as there:
        mem, rare = here.agent("ana"), token(7)
        near = mem.remember("the password of the shed is on the door")
        entry = mem.remember(f"the password is {rare}")
        there.agent("ana").recall(f"is {rare} the password?")  # it waits in memory
        mem.forget(entry.id, erase=True)
        there.flush()
        assert left_of([rare], in_tables(location)) == []
        assert [query for _, query in mem.accesses(near.id).recalls] == [""]


def test_a_rare_word_that_a_conversation_holds_as_well_is_reported_and_left_alone(home: Home, location: str) -> None:
    mem, rare = home.agent("ana"), token(8)
    talk = mem.conversations.start()
    talk.user(f"the password is {rare}")
    home.agent("ben").remember(f"mine is {token(9)}")
    entry = mem.remember(f"password: {rare}, and not {token(9)}")
    receipt = mem.forget(entry.id, erase=True)
    received = [line for line in receipt.remaining if "only the erased text had" in line]
    assert received == ["1 row of the table events with a word that only the erased text had: not changed"]
    assert rare not in str(receipt)
    assert [event.content for event in talk.events()] == [f"the password is {rare}"]
    assert left_of([token(9)], in_tables(location)) == [token(9)]  # it is ben's, and none of ana's business


def test_bytes_that_are_left_in_the_file_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        entry = mem.remember(f"the password is {token(9)}")
        monkeypatch.setattr(SqliteAdministration, "scrub", lambda self, agent: ([], []))  # nothing is overwritten
        receipt = mem.forget(entry.id, erase=True)
    assert any("outside of any row" in line for line in receipt.remaining)


@pytest.mark.directory
def test_entries_of_the_account_are_erased_from_where_they_are(home: Home, location: str) -> None:
    mem = home.agent("ana")
    mem.remember("a note of the workspace")
    entry = mem.remember(secret(5), scope="account", name="private")
    other = home.agent("ben").remember("a note of the account", scope="account")
    mem.forget("private", erase=True)
    assert left_of([token(5)], in_tables(location)) == []
    if not location.startswith("postgresql"):
        assert left_of([token(5)], on_disk(location)) == []
    assert home.agent("ben").get(other.id).content == "a note of the account"
    with pytest.raises(NotFound):
        mem.get(entry.id)
    assert home.check().findings == ()


def test_an_answer_that_is_kept_for_a_repeated_request_holds_no_word_of_an_erased_entry(
    home: Home, location: str
) -> None:
    mem = home.agent("ana")
    entry = mem.remember(secret(6))
    assert home.requests.begin("key", "fingerprint") is None
    home.requests.finish("key", 201, entry.content)
    receipt = mem.forget(entry.id, erase=True)
    assert figures(receipt)["answers to requests"] == 1
    assert left_of([token(6)], in_tables(location)) == []
    if not location.startswith("postgresql"):
        assert left_of([token(6)], on_disk(location)) == []
    with pytest.raises(Conflict, match="was done"):
        home.requests.begin("key", "fingerprint")


def test_an_answer_that_was_on_its_way_during_an_erasure_is_not_kept_unless_it_is_harmless(
    home: Home, location: str
) -> None:
    mem = home.agent("ana")
    for key in ("making", "erasing"):
        assert home.requests.begin(key, "fingerprint") is None
    entry = mem.remember(secret(6))
    mem.forget(entry.id, erase=True)
    home.requests.begin("later", "fingerprint")
    home.requests.finish("making", 201, entry.content)
    home.requests.finish("erasing", 200, "a receipt", harmless=True)
    home.requests.finish("later", 200, "of what is still there")
    assert left_of([token(6)], in_tables(location)) == []
    with pytest.raises(Conflict, match="was done"):
        home.requests.begin("making", "fingerprint")
    kept = [home.requests.begin(key, "fingerprint") for key in ("erasing", "later")]
    assert [answer.body for answer in kept if answer] == ["a receipt", "of what is still there"]


def test_where_deleted_rows_cannot_be_overwritten_the_receipt_says_so_and_the_id_works_later(
    home: Home, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem = home.agent("ana")
    entry = mem.remember(secret(7), name="private")
    home.requests.begin("key", "fingerprint")
    home.requests.finish("key", 201, entry.content)

    def no_room(agent: str) -> None:
        raise Unavailable("no space left")

    with monkeypatch.context() as patch:
        for database in (mem._workspace.database, mem._account.database):
            patch.setattr(database.admin, "scrub", no_room)
        receipt = mem.forget("private", erase=True)
    assert receipt.entry_id == entry.id
    assert any(entry.id in line and "no space left" in line for line in receipt.remaining)
    assert figures(receipt)["answers to requests"] == 1
    on_server = location.startswith("postgresql")  # where the files are out of sight
    assert set(receipt.verified) == {"entries", "operation log", *(["every table"] if on_server else [])}
    assert left_of([token(7)], in_tables(location)) == []
    receipt = mem.forget(entry.id, erase=True)
    assert not any("may still be readable" in line for line in receipt.remaining)
    assert len(receipt.verified) > 2
    if not location.startswith("postgresql"):
        assert left_of([token(7)], on_disk(location)) == []


def test_what_is_not_there_cannot_be_erased_and_nothing_changes(mem: Memory, location: str) -> None:
    for there_is_something in (False, True):
        if there_is_something:
            mem.remember("a note", name="here")
        before = tables(location)
        for target in ("not here", "01890a5d-ac96-774b-bcce-b302099a8057"):
            with pytest.raises(NotFound, match="nothing was erased"):
                mem.forget(target, erase=True)
        assert tables(location) == before


def test_rows_visible_to_an_open_transaction_are_reported_and_go_with_the_next_erasure(
    postgres_server: Server, postgres_url: str
) -> None:
    with recollect.open(postgres_url) as home, psycopg.connect(postgres_url) as reader:
        mem = home.agent("ana")
        entry = mem.remember(secret(3))
        mem.remember("a note that stays")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")  # from now on the server keeps old rows for this transaction
        receipt = mem.forget(entry.id, erase=True)
        assert left_of([token(3)], on_server(postgres_server, postgres_url)) == [token(3)]
        assert any("open transaction" in line for line in receipt.remaining)
        assert not any("tables and indexes" in place for place in receipt.verified)
        reader.rollback()
        receipt = mem.forget(entry.id, erase=True)
        assert left_of([token(3)], on_server(postgres_server, postgres_url)) == []
        assert not any("open transaction" in line for line in receipt.remaining)
        assert any("tables and indexes" in place for place in receipt.verified)


def test_a_log_that_a_reader_holds_is_reported_and_not_called_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.storage.sqlite.opening.BUSY_MS", 100)
    location = str(tmp_path / "memory.db")
    with recollect.open(location) as home:
        mem = home.agent("ana")
        entry = mem.remember(secret(4))
        reader = apsw.Connection(location)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM entries").fetchall() == [(1,)]
        receipt = mem.forget(entry.id, erase=True)
        assert left_of([token(4)], on_disk(location)) == [token(4)]
        assert "write-ahead log" not in receipt.verified
        assert any("reader" in line for line in receipt.remaining)
        reader.execute("COMMIT")
        reader.close()
        receipt = mem.forget(entry.id, erase=True)
        assert left_of([token(4)], on_disk(location)) == []
        assert "write-ahead log" in receipt.verified
        assert not any("reader" in line for line in receipt.remaining)


def test_erasing_among_several_schemas_touches_only_the_own_one(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        for agent in ("ana", "ben"):
            home.agent(agent).remember("the same words for both", name="both")
        home.agent("ana", workspace="other").remember("the same words for both", name="both")
        assert len([schema for schema in schemas(postgres_url) if "_ana_" in schema or "_ben_" in schema]) == 3
        home.agent("ana").forget("both", erase=True)
        assert home.agent("ben").get("both").content == "the same words for both"
        assert home.agent("ana", workspace="other").get("both").content == "the same words for both"
        with pytest.raises(NotFound):
            home.agent("ana").get("both")


def failing_job(message: str) -> Job:
    def work(run: JobRun, store: Store) -> None:
        raise RuntimeError(message)

    return Job("age", work)


@pytest.mark.parametrize("scope", ["workspace", "account"])
def test_the_error_of_a_job_that_quotes_an_erased_entry_is_blanked(
    location: str, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recollect.open(location) as home:
        mem = home.agent("ana")
        mem.remember("the gate is green")
        mem.remember(f"the password is {token(7)}", name="password", scope=scope)
        for message in (f"cannot read 'the password is {token(7)}'", "the disk is full"):
            for module in (runner, schedule):
                monkeypatch.setattr(module, "JOBS", (failing_job(message),))
            home.jobs.run("age")
        kept = [run.error for run in home.jobs.runs() if "disk" in str(run.error)]
        assert len(kept) == 1
        for module in (runner, schedule):
            monkeypatch.setattr(module, "JOBS", (failing_job(f"again {token(7)}"),))
        home.jobs.run("age")
        receipt = mem.forget("password", erase=True)
        received = [str(one.error) for one in (*home.jobs.runs(), *home.jobs.status())]
        assert not [one for one in received if token(7) in one]
        assert [run.error for run in home.jobs.runs() if "disk" in str(run.error)] == kept
        assert any("[erased]" in one for one in received)
        assert [one.removed for one in receipt.removed if one.place == "errors of jobs"] >= [3]
        assert not [line for line in receipt.remaining if "table job" in line]


# What upserts replaced


def upserted(mem: Memory, clock: recollect.FixedClock, *numbers: int) -> recollect.Entry:
    """A note whose content was replaced by an upsert for each number."""
    for number in numbers:
        clock.advance(1_000)
        entry = mem.upsert("password", f"the password is {token(number)}")
    return entry


def logged_or_living(location: str) -> bytes:
    """Everything that the entries and the log hold, as bytes."""
    return str([rows(location, table, "ana") for table in ("entries", "operations")]).encode()


def test_erasing_a_note_erases_the_values_that_upserts_replaced(
    home: Home, clock: recollect.FixedClock, location: str, tmp_path: Path
) -> None:
    mem = home.agent("ana")
    mem.remember("the password of the shed is on the door")
    entry = upserted(mem, clock, 1, 2, 3)
    former = [one for one in mem.list(include_past=True) if one.superseded_by == entry.id]
    mem.forget(former[0].id)  # one of them is in the trash
    mem.recall(f"is {token(1)} the password?", include_past=True)
    home.flush()
    words = [token(1), token(2), token(3)]
    receipt = mem.forget("password", erase=True)
    assert receipt.entry_id == entry.id
    assert figures(receipt)["entries"] == 1
    assert figures(receipt)["former values"] == 2
    assert figures(receipt)["questions"] == 1
    assert [line for line in receipt.remaining if "out of reach" not in line] == []
    assert left_of(words, in_tables(location)) == []
    if not location.startswith("postgresql"):
        assert left_of(words, on_disk(location)) == []
    assert [one.content for one in mem.list(include_past=True)] == ["the password of the shed is on the door"]
    assert mem.trash() == []
    assert home.check().findings == ()
    home.export(tmp_path / "export.jsonl")
    assert left_of(words, (tmp_path / "export.jsonl").read_bytes()) == []


def test_erasing_a_note_leaves_the_notes_that_it_superseded_and_reports_them(
    mem: Memory, clock: recollect.FixedClock, location: str
) -> None:
    first = upserted(mem, clock, 1, 2)
    clock.advance(1_000)
    second = mem.supersede("password", secret(3))
    receipt = mem.forget("password", erase=True)
    assert receipt.entry_id == second.id
    assert "former values" not in figures(receipt)
    assert [line for line in receipt.remaining if "superseded" in line] == [
        f"entry {first.id}, which it superseded, is an entry of its own and was not changed; erase it by its id"
    ]
    assert left_of([token(1), token(2), token(3)], in_tables(location)) == [token(1), token(2)]
    assert figures(mem.forget(first.id, erase=True))["former values"] == 1
    assert left_of([token(1), token(2), token(3)], in_tables(location)) == []


def test_the_reason_for_a_superseding_note_is_erased_with_it(mem: Memory, location: str) -> None:
    first = mem.remember("Deploys are on Tuesdays", name="deploy day")
    second = mem.supersede("deploy day", f"Deploys are on {token(1)}", why=f"the customer asked for {token(2)}")
    mem.restore(first.id)
    third = mem.supersede("deploy day", f"Deploys are on {token(3)}", why=f"decided with {token(4)}")
    assert token(4).encode() in logged_or_living(location)
    receipt = mem.forget(third.id, erase=True)
    assert figures(receipt)["reasons"] == 1
    assert token(4).encode() not in logged_or_living(location)
    assert token(2).encode() in logged_or_living(location), "the reason for another note stays"
    mem.forget(second.id, erase=True)
    assert token(2).encode() not in logged_or_living(location)
    assert mem.restore(first.id).name == "deploy day"


def test_erasing_one_former_value_keeps_the_note_and_its_other_values(
    home: Home, clock: recollect.FixedClock, location: str
) -> None:
    mem = home.agent("ana")
    entry = upserted(mem, clock, 1, 2, 3)
    (former,) = [one for one in mem.list(include_past=True) if token(1) in one.content]
    receipt = mem.forget(former.id, erase=True)
    assert [(one.place, one.rewritten) for one in receipt.rewritten] == [("earlier texts", 1)]
    assert [line for line in receipt.remaining if "out of reach" not in line] == []
    assert left_of([token(1), token(2), token(3)], in_tables(location)) == [token(2), token(3)]
    assert (mem.get("password").id, mem.get("password").version) == (entry.id, entry.version)
    assert [hit.entry.content for hit in mem.recall(token(3))] == [entry.content]
    assert sorted(one.content for one in mem.list(include_past=True)) == [
        f"the password is {token(2)}",
        f"the password is {token(3)}",
    ]
    assert home.check().findings == ()


def test_an_imported_former_value_is_erased_with_its_note(
    home: Home, clock: recollect.FixedClock, location: str, tmp_path: Path
) -> None:
    with recollect.open(tmp_path / "other.db", clock=clock) as other:
        upserted(other.agent("ana"), clock, 1, 2)
        other.export(tmp_path / "export.jsonl")
    mem = home.agent("ana")
    mem.remember("it has rows already, so the file is merged")
    home.import_(tmp_path / "export.jsonl")
    assert left_of([token(1), token(2)], in_tables(location)) == [token(1), token(2)]
    mem.forget("password", erase=True)
    assert left_of([token(1), token(2)], in_tables(location)) == []


def test_emptying_the_trash_removes_the_former_values_of_what_was_in_it(
    home: Home, clock: recollect.FixedClock, location: str
) -> None:
    mem = home.agent("ana")
    mem.upsert("port", "8080")
    clock.advance(1_000)
    mem.upsert("port", "8081")
    entry = upserted(mem, clock, 1, 2, 3)
    mem.forget("password")
    assert mem.restore("password").id == entry.id
    assert len(mem.list(include_past=True)) == 5
    mem.forget("password")
    assert mem.empty_trash() == 3
    assert left_of([token(1), token(2), token(3)], logged_or_living(location)) == []
    assert sorted(one.content for one in mem.list(include_past=True)) == ["8080", "8081"]
    assert home.check().findings == ()


def test_what_has_expired_from_the_trash_takes_its_former_values_along(
    home: Home, clock: recollect.FixedClock, location: str
) -> None:
    mem = home.agent("ana")
    upserted(mem, clock, 1, 2)
    mem.forget("password")
    clock.advance(400 * 86_400_000)
    home.jobs.run("retain", dry_run=True)
    assert left_of([token(1), token(2)], logged_or_living(location)) == [token(1), token(2)]
    home.jobs.run("retain")
    assert left_of([token(1), token(2)], logged_or_living(location)) == []
    assert mem.list(include_past=True) == []
    assert home.check().findings == ()
