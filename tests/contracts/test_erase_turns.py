"""Erasing a turn removes its text and what was derived from it; the hash chain goes on, and the rest is still found."""

import gzip
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from crash.evidence import raw, rows, tables
from dialogue import Blocking, Writing, call
from embedders import HashEmbedder
from traces import in_tables, left_of, on_disk, on_server

import recollect
from recollect import Conversation, FixedClock, Home, Memory, NotFound, Receipt, Settings
from recollect.config import GitSettings
from recollect.engine import ending
from recollect.search import index
from recollect.transfer import restoring

SECRET = "zqhunterbb"
RECEIVED = f"the database password is {SECRET}, keep it for the migration"
DECISION = f"We decided to rotate {SECRET} every week."


@pytest.fixture
def places(location: str, request: pytest.FixtureRequest) -> "Places":
    """Where a text could be left: the files of the databases, the tables and an export."""
    return Places(location, request)


class Places:
    """Reads every byte that a home keeps."""

    def __init__(self, location: str, request: pytest.FixtureRequest) -> None:
        self.location, self._request = location, request

    def holding(self, home: Home, words: list[str], tmp_path: Path) -> list[str]:
        """Return the words that a table, a file of the database, a file of the vault or an export contains."""
        export = tmp_path / f"export-{len(list(tmp_path.glob('export-*')))}.jsonl.gz"
        home.export(export)
        found = left_of(words, in_tables(self.location)) + left_of(words, gzip.decompress(export.read_bytes()))
        if "://" in self.location:
            return found + left_of(words, on_server(self._request.getfixturevalue("postgres_server"), self.location))
        files = b"".join(path.read_bytes() for path in Path(self.location).rglob("*.md"))
        return found + left_of(words, on_disk(self.location)) + left_of(words, files)


def figures(receipt: Receipt) -> dict[str, int]:
    """What a receipt says was removed, by place."""
    return {erased.place: erased.removed for erased in receipt.removed}


def rewritten(receipt: Receipt) -> dict[str, int]:
    """What a receipt says was rewritten, by place."""
    return {one.place: one.rewritten for one in receipt.rewritten}


def talk(mem: Memory) -> tuple[Conversation, recollect.Event]:
    """A conversation in which a user pastes a password, and the turn in which that happens."""
    conv = mem.conversations.start()
    conv.user("we plan the move to the new harbour office")
    conv.assistant("We decided to move on a Tuesday because the quay is quiet then.")
    pasted = conv.user(RECEIVED)
    conv.assistant("Noted, the lighthouse migration can start.")
    conv.user("which crane do we rent?")
    conv.assistant("We will use the yellow crane.")
    return conv, pasted


def test_a_pasted_password_is_gone_from_every_byte_and_the_other_turns_are_found(
    home: Home, mem: Memory, places: Places, tmp_path: Path
) -> None:
    conv, pasted = talk(mem)
    conv.compact()
    conv.checkpoint()
    conv.end()
    mem.recall(f"is {SECRET} the password?")
    home.flush()
    assert SECRET in str(conv.summary()) + str(conv.info.closing_summary)
    assert places.holding(home, [SECRET], tmp_path)

    receipt = conv.erase(pasted)

    assert places.holding(home, [SECRET], tmp_path) == []
    assert mem.recall(SECRET) == []
    assert mem.conversations.search(SECRET) == []
    assert home.check().findings == ()
    assert home.check().erased == 1
    assert figures(receipt)["turns"] == 1
    assert rewritten(receipt)["chunks"] == 1
    assert receipt.events == (pasted.seq,)
    assert next(turn.event.content for turn in mem.conversations.search("lighthouse migration")).startswith("Noted")
    assert "yellow crane" in mem.recall("which crane")[0].entry.content
    assert "quay" in conv.summary().summary


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index over the journal that flushes after three events and merges after two segments."""
    monkeypatch.setattr(index, "TAIL", 3)
    monkeypatch.setattr(index, "FAN", 2)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("place", range(7))
def test_wherever_it_is_in_the_index_a_turn_is_erased_and_the_others_are_found_by_every_process(
    location: str, home: Home, mem: Memory, clock: FixedClock, place: int
) -> None:
    with recollect.open(location, clock=clock) as other:
        conv = mem.conversations.start()
        words = ["apple", "quince", "medlar", "cherry", "almond", "walnut", "hazel"]
        events = [conv.user(f"{word} {SECRET if number == place else ''}") for number, word in enumerate(words)]
        theirs = other.agent("ana").conversations
        assert next(turn.event.seq for turn in theirs.search(SECRET)) == events[place].seq
        conv.erase(events[place])
        for memory in (mem.conversations, theirs):
            assert memory.search(SECRET) == []
            for word, event in zip(words, events, strict=True):
                found = memory.search(word)
                assert (found[0].event.seq if event is not events[place] else None) == (
                    event.seq if event is not events[place] else None
                )
                around = [one.seq for turn in found for one in (*turn.before, turn.event, *turn.after)]
                assert events[place].seq not in around
        assert home.check().findings == ()


def test_a_dry_run_reports_the_same_and_changes_nothing(location: str, home: Home, mem: Memory) -> None:
    conv, pasted = talk(mem)
    conv.compact()
    conv.end()
    home.flush()
    before = tables(location)
    planned = conv.erase(pasted, dry_run=True)
    assert tables(location) == before
    assert planned.dry_run
    done = conv.erase(pasted)
    assert (planned.events, planned.rewritten) == (done.events, done.rewritten)
    assert figures(planned).items() <= figures(done).items()
    assert not done.dry_run


def test_erasing_again_says_so_and_changes_nothing(home: Home, mem: Memory, location: str) -> None:
    conv, pasted = talk(mem)
    conv.end()
    conv.erase(pasted)
    home.flush()
    before = tables(location)
    again = conv.erase(pasted)
    assert (again.erased_before, again.events, again.removed, again.rewritten) == (1, (), (), ())
    assert tables(location) == before
    assert mem.conversations.erase(conv.ref_code).erased_before == 1
    assert mem.conversations.erase(conv.ref_code).erased_before == 6


def test_the_event_stays_as_a_tombstone_and_the_chain_continues(home: Home, mem: Memory, clock: FixedClock) -> None:
    conv, pasted = talk(mem)
    conv.erase(pasted.hash[:12])
    stone = conv.event(pasted.hash)
    assert (stone.content, stone.payload, stone.erased_at) == ("", {}, clock.now())
    assert (stone.seq, stone.id, stone.hash, stone.previous) == (pasted.seq, pasted.id, pasted.hash, pasted.previous)
    assert pasted.seq not in [event.seq for event in conv.window()]
    after = conv.user("and what else?")
    assert [event.seq for event in conv.events()][-1] == after.seq
    assert all(SECRET not in str(message) for message in conv.messages())
    assert home.check().findings == ()


def test_what_is_put_in_the_place_of_an_erased_turn_is_noticed(home: Home, mem: Memory, location: str) -> None:
    conv, pasted = talk(mem)
    conv.erase(pasted)
    with raw(location) as sql:
        sql(f"UPDATE events SET content = 'something else' WHERE seq = {pasted.seq}")
    (finding,) = home.check().findings
    assert finding.message == f"event {pasted.seq} is not what its erasure left: its hash does not fit"


def test_unknown_and_foreign_events_are_not_found(home: Home, mem: Memory) -> None:
    conv, pasted = talk(mem)
    other, theirs = talk(mem)
    for wrong in (theirs, theirs.seq, theirs.hash, 0, 99, "abcdef"):
        with pytest.raises(NotFound):
            conv.erase(wrong)
    foreign, hers = talk(home.agent("eva"))
    with pytest.raises(NotFound):
        mem.conversations.erase(foreign.id)
    with pytest.raises(NotFound):
        mem.conversations.erase("nothing")
    with pytest.raises(recollect.Invalid):
        conv.erase(-1)
    assert conv.event(pasted.hash) == pasted
    assert (other.event(theirs.hash), foreign.event(hers.hash)) == (theirs, hers)


def test_the_record_of_a_compaction_is_not_erased_by_itself(mem: Memory) -> None:
    conv, _ = talk(mem)
    conv.compact()
    marker = [*conv.events()][-1]
    with pytest.raises(recollect.Invalid, match="records a compaction"):
        conv.erase(marker)


@pytest.mark.directory
def test_another_agent_and_another_workspace_keep_the_same_words(location: str, home: Home, mem: Memory) -> None:
    conv, pasted = talk(mem)
    others = [home.agent("eva")]
    if not location.endswith(".db"):
        others.append(home.agent("ana", workspace="elsewhere"))
    talks = [talk(one) for one in others]
    conv.end()
    for theirs, _ in talks:
        theirs.end()
    conv.erase(pasted)
    for memory, (theirs, event) in zip(others, talks, strict=True):
        assert theirs.event(event.hash) == event
        assert SECRET in str(theirs.info.closing_summary)
        assert SECRET in memory.recall(SECRET)[0].entry.content


def test_decisions_and_lessons_of_an_erased_turn_leave_and_the_others_stay(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("what do we do?")
    pasted = conv.assistant(DECISION)
    conv.user("and what did we learn?")
    conv.assistant("We learned that the harbour master answers letters only.")
    ended = conv.end()
    assert [entry.content for entry in ended.decisions] == [DECISION]
    receipt = conv.erase(pasted)
    assert figures(receipt)["decisions and lessons"] == 1
    notes = [entry.content for entry in mem.list() if entry.category in ("decisions", "lessons")]
    assert notes == ["We learned that the harbour master answers letters only."]
    assert home.check().findings == ()


def test_a_note_on_purpose_and_a_turn_that_repeats_the_text_stay_and_are_reported(mem: Memory) -> None:
    conv = mem.conversations.start()
    pasted = conv.user("my password is hunter2qzz, and it is the one for the database of the port")
    repeated = conv.assistant("I see: hunter2qzz.")
    note = mem.remember("and it is the one for the database of the port", name="which one")
    receipt = conv.erase(pasted)
    assert f"turn {repeated.seq} of the conversation {conv.ref_code} contains some of the same words" in str(
        receipt.remaining
    )
    assert f"entry {note.id} contains some of the same words and was not changed" in receipt.remaining
    assert mem.get("which one").content == note.content
    assert conv.event(repeated.hash) == repeated


def test_the_results_of_an_erased_tool_call_leave_with_it_and_the_window_is_compacted(mem: Memory, home: Home) -> None:
    conv = mem.conversations.start()
    conv.user("log in")
    asked = conv.assistant("", tool_calls=[call("c1", password=SECRET)])
    result = conv.tool(f"welcome, {SECRET}", "c1")
    conv.assistant("we are in")
    kept = conv.assistant("", tool_calls=[call("c2")])
    answer = conv.tool("the list", "c2")
    conv.user("thank you")
    assert conv.erase(asked).events == (asked.seq, result.seq)
    assert conv.erase(answer).events == (answer.seq,)
    assert "[no result was recorded]" in [message["content"] for message in conv.messages()]
    assert conv.compact() is not None
    assert [event.content for event in conv.window()] == ["thank you"]
    assert kept.seq < conv.window()[0].seq
    assert home.check().findings == ()


@pytest.mark.parametrize("way", ["extend", "save"])
def test_a_client_that_sends_an_erased_message_again_does_not_bring_it_back(mem: Memory, way: str) -> None:
    conv = mem.conversations.start()
    messages = [
        {"role": "user", "content": "good morning"},
        {"role": "user", "content": RECEIVED},
        {"role": "assistant", "content": "noted"},
    ]
    send = conv.extend if way == "extend" else conv.save
    send(messages)
    pasted = next(event for event in conv.events() if event.content == RECEIVED)
    conv.erase(pasted)
    send(messages)
    send([*messages, {"role": "user", "content": "and now?"}])
    assert [event.content for event in conv.events()] == ["good morning", "", "noted", "and now?"]
    assert [event.content for event in conv.load().events] == ["good morning", "noted", "and now?"]


def test_a_whole_conversation_leaves_nothing_but_tombstones(
    home: Home, mem: Memory, places: Places, tmp_path: Path
) -> None:
    conv, _ = talk(mem)
    conv.scratchpad["plan"] = "the lighthouse"
    conv.compact()
    conv.user(f"the second one is {SECRET}2")
    conv.end()
    other, _ = talk(mem)
    other.end()
    receipt = mem.conversations.erase(conv.ref_code)
    assert len(receipt.events) == 7
    assert {event.content for event in conv.events()} == {""}
    assert not [entry for entry in mem.list() if entry.conversation_id == conv.id]
    assert conv.info.closing_summary == ""
    assert conv.summary() == recollect.SummaryDocument()
    assert (dict(conv.scratchpad), conv.load().events) == ({}, ())
    assert places.holding(home, [f"{SECRET}2"], tmp_path) == []
    assert home.check().findings == ()
    assert other.find("lighthouse")
    assert mem.recall("yellow crane")


def test_archives_of_an_old_conversation_are_rebuilt(home: Home, mem: Memory, clock: FixedClock) -> None:
    conv, pasted = talk(mem)
    conv.compact()
    conv.end()
    for _ in range(12):
        clock.advance(1_000)
        talk(mem)[0].end()
    assert [entry for entry in mem.list(limit=500) if entry.name == f"summary-{conv.ref_code}-1"]
    conv.erase(pasted)
    archives = [entry for entry in mem.list(limit=500) if entry.kind == "archive" and entry.conversation_id == conv.id]
    assert len(archives) == 2
    assert all("quay" in entry.content and SECRET not in entry.content for entry in archives)
    assert home.check().findings == ()


def test_a_shelf_loses_the_line_of_an_erased_turn_and_keeps_the_others(
    home: Home, mem: Memory, places: Places, tmp_path: Path, clock: FixedClock
) -> None:
    conv = mem.conversations.start()
    pasted = conv.assistant(DECISION)
    conv.end()
    for number in range(40):
        clock.advance(1_000)
        more = mem.conversations.start()
        more.assistant(f"We decided to paint the boat number {number} in another colour.")
        more.end()
    home.jobs.run("shelve")
    for number in range(40, 60):
        clock.advance(1_000)
        mem.remember(f"We decided to paint the boat number {number} in yet another colour.", category="decisions")
    home.jobs.run("shelve")  # the first summary is in the trash now
    assert SECRET in next(entry.content for entry in mem.list(limit=500) if entry.source == "shelve")
    conv.erase(pasted)
    shelf = next(entry.content for entry in mem.list(limit=500) if entry.source == "shelve")
    assert "paint the boat number 3" in shelf
    assert places.holding(home, [SECRET], tmp_path) == []
    assert home.check().findings == ()


APPENDING = """
import sys
import recollect
with recollect.open(sys.argv[1]) as home:
    conv = home.agent("ana").conversations.get(sys.argv[2])
    for number in range(40):
        conv.user(f"turn {number} of the second process")
        print(number, flush=True)
"""


def test_the_newest_turns_of_a_running_conversation_are_erased_while_another_process_appends(
    location: str, home: Home, mem: Memory
) -> None:
    conv = mem.conversations.start()
    conv.user(RECEIVED)
    erased = set()
    program = [sys.executable, "-c", APPENDING, location, conv.id]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) % 8 == 0:
                newest = next(conv.events(before=1_000_000))
                conv.erase(newest)
                erased.add(newest.seq)
    assert child.returncode == 0
    assert home.check().findings == ()
    events = [*conv.events()]
    assert [event.seq for event in events] == list(range(1, 42))
    assert {event.seq for event in events if event.erased_at is not None} == erased
    assert {event.seq for event in events if not event.content} == erased


def test_a_compaction_that_has_read_an_erased_turn_writes_nothing(location: str, clock: FixedClock) -> None:
    model = Blocking()
    with recollect.open(location, model=model, clock=clock) as home:
        conv, pasted = talk(home.agent("ana"))
        with ThreadPoolExecutor(1) as pool:
            compacted = pool.submit(conv.compact)
            model.waiting.wait()
            conv.erase(pasted)
            model.go.set()
            assert compacted.result() is None
        assert conv.compact() is not None
        assert SECRET not in str(in_tables(location))


def test_an_ending_that_has_read_an_erased_turn_stops_and_can_be_resumed(location: str, clock: FixedClock) -> None:
    model = Blocking()
    with recollect.open(location, model=model, clock=clock) as home:
        conv, pasted = talk(home.agent("ana"))
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(conv.end)
            model.waiting.wait()
            conv.erase(pasted)
            model.go.set()
            with pytest.raises(recollect.Conflict, match="was erased while it was being ended; end it again"):
                ended.result()
        conv.end()
        assert SECRET not in str(in_tables(location))
        assert home.check().findings == ()


class Interrupting(FixedClock):
    """A clock that runs something in another thread, once, when it is asked for the n-th time."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.interrupt = 0, lambda: None

    def now(self) -> int:
        self.left -= 1
        if self.left == 0:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.interrupt).result()
        return super().now()


@pytest.mark.parametrize("whole", [False, True], ids=["two turns", "all turns"])
def test_an_erasure_between_any_two_steps_of_an_ending_leaves_nothing_behind_and_loses_nothing_else(
    location: str, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr(ending, "CHUNKS_PER_STEP", 2)
    clock = Interrupting()
    with recollect.open(location, clock=clock) as home:
        mem = home.agent("ana")
        for step in range(1, 10):  # as often as an ending asks for the time outside of a transaction
            conv = mem.conversations.start()
            said = [
                turn for n in range(7) for turn in (conv.user(f"zq{step}u{n}x?"), conv.assistant(f"zq{step}a{n}x."))
            ]

            def erase(conv: Conversation = conv, said: list[recollect.Event] = said) -> None:
                if whole:
                    mem.conversations.erase(conv.ref_code)
                else:
                    conv.erase(said[2])
                    conv.erase(said[3])

            clock.left, clock.interrupt = step, erase
            stopped = False
            try:
                conv.end()
            except recollect.Conflict:
                stopped = True
            assert clock.left <= 0
            if stopped:
                conv.end()
            gone = [f"zq{step}{who}{n}x" for who in "ua" for n in (range(7) if whole else [1])]
            assert left_of(gone, in_tables(location)) == [], step
            chunks = "\n".join(one.content for one in mem.list(kind="chunk", conversation=conv.id, limit=99))
            kept = [] if whole else [f"zq{step}{who}{n}x" for who in "ua" for n in (0, 2, 3, 4, 5, 6)]
            assert {word: chunks.count(word) for word in kept} == dict.fromkeys(kept, 1), step
        assert home.check().findings == ()


def test_an_ending_and_an_erasure_at_the_same_time_leave_nothing_behind(
    location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "CHUNKS_PER_STEP", 2)
    with recollect.open(location, clock=clock) as home, recollect.open(location, clock=clock) as there:
        mem = home.agent("ana")
        for number in range(4):
            conv = mem.conversations.start()
            said = [conv.user(f"the password number {turn} is zq{number}x{turn}x") for turn in range(30)]
            with ThreadPoolExecutor(2) as pool:
                ended = pool.submit(conv.end)
                erased = pool.submit(there.agent("ana").conversations.erase, conv.ref_code)
                assert erased.result().events == tuple(event.seq for event in said)
                assert ended.exception() is None or isinstance(ended.exception(), recollect.Conflict)
            words = [f"zq{number}x{turn}x" for turn in range(30)]
            assert left_of(words, in_tables(location)) == []
            assert home.check().findings == ()


def test_what_a_model_made_of_a_turn_is_rebuilt_without_it(location: str, clock: FixedClock) -> None:
    with recollect.open(location, model=Writing(), clock=clock) as home:
        mem = home.agent("ana")
        conv = mem.conversations.start()
        pasted = conv.user(RECEIVED)
        conv.assistant("Noted, the lighthouse migration can start.")
        conv.user("what next?")
        conv.compact()
        conv.end()
        assert SECRET in str(in_tables(location))
        conv.erase(pasted)
        assert SECRET not in str(in_tables(location))
        archive = next(entry for entry in mem.list() if entry.kind == "archive")
        assert archive.content == "assistant: Noted, the lighthouse migration can start."
        assert pasted.hash not in str(conv.summary())
        assert home.check().findings == ()


@pytest.mark.parametrize("way", ["move", "import", "import into what is there"])
def test_tombstones_travel(home: Home, mem: Memory, clock: FixedClock, tmp_path: Path, way: str) -> None:
    conv, pasted = talk(mem)
    conv.compact()
    conv.erase(pasted)
    after = conv.user("and then?")
    with recollect.open(tmp_path / "target.db", clock=clock) as target:
        if way == "import into what is there":
            talk(target.agent("ana"))[0].compact()
        if way == "move":
            restoring.move(home._place, target._place)
        else:
            home.export(tmp_path / "export.jsonl")
            target.import_(tmp_path / "export.jsonl")
        there = target.agent("ana").conversations.get(conv.ref_code)
        stone = there.event(pasted.hash)
        assert (stone.content, stone.erased_at) == ("", clock.now())
        assert [event.content for event in there.events()][-1] == after.content
        assert target.check().findings == ()
        assert target.check().erased == 1
        there.user("it goes on")
        assert "quay" in there.summary().summary
        assert target.check().findings == ()


def test_an_import_of_an_older_export_does_not_bring_an_erased_turn_back(
    home: Home, mem: Memory, tmp_path: Path, location: str
) -> None:
    conv, pasted = talk(mem)
    conv.compact()
    conv.end()
    home.export(tmp_path / "export.jsonl")
    conv.erase(pasted)
    home.import_(tmp_path / "export.jsonl")
    assert SECRET not in str(in_tables(location))


@pytest.mark.directory
def test_the_files_of_a_vault_lose_it_and_its_git_history_is_reported(
    location: str, tmp_path: Path, clock: FixedClock
) -> None:
    pytest.importorskip("pygit2", reason="pygit2 is not installed; it comes with recollect[git]")
    folder = tmp_path / "vault"
    with recollect.open(
        location, vault=folder, clock=clock, settings=Settings(git=GitSettings(repository="vault"))
    ) as home:
        home.vault().sync()
        conv = home.agent("ana").conversations.start()
        conv.user("what do we do?")
        pasted = conv.assistant(DECISION)
        conv.assistant("We decided to sail on Monday if the wind allows it.")
        conv.end()
        assert SECRET in "".join(path.read_text() for path in folder.rglob("*.md"))
        receipt = conv.erase(pasted)
        written = "".join(path.read_text() for path in folder.rglob("*.md"))
        assert SECRET not in written
        assert "sail on Monday" in written
        assert [line for line in receipt.remaining if "of the git repository" in line]
        home.vault().sync()
        assert home.agent("ana").recall(SECRET) == []


def test_vectors_of_what_is_rewritten_are_rebuilt(location: str, clock: FixedClock) -> None:
    with recollect.open(location, embedder=HashEmbedder(), clock=clock) as home:
        mem = home.agent("ana")
        conv, pasted = talk(mem)
        conv.end()
        home.backfill()
        conv.erase(pasted)
        home.backfill()
        assert mem.recall("lighthouse migration", mode="vector")
        assert home.check().findings == ()


def test_recorded_questions_that_quote_it_are_blanked_and_the_others_stay(
    home: Home, mem: Memory, location: str
) -> None:
    conv, pasted = talk(mem)
    conv.end()
    mem.recall(f"{SECRET} yellow crane")
    mem.recall("which crane")
    home.flush()
    receipt = conv.erase(pasted)
    assert figures(receipt)["questions"] >= 1
    asked = {str(row) for row in rows(location, "recall_events", "ana")}
    assert any("which crane" in row for row in asked)
    assert not any(SECRET in row for row in asked)


def test_what_only_begins_like_the_erased_turn_stays(mem: Memory, home: Home) -> None:
    conv = mem.conversations.start()
    boats = [conv.assistant(f"We decided to paint the boat of {name} green.") for name in ("Ana", "Bob", "Eva")]
    conv.scratchpad["colour"] = "green"
    conv.end()
    conv.erase(boats[1])
    decisions = sorted(entry.content for entry in mem.list(category="decisions"))
    assert decisions == ["We decided to paint the boat of Ana green.", "We decided to paint the boat of Eva green."]
    assert conv.scratchpad["colour"] == "green"
    assert home.check().findings == ()


def test_erasing_the_only_turn_keeps_the_scratchpad_and_removes_all_that_was_made(mem: Memory) -> None:
    conv = mem.conversations.start()
    only = conv.assistant("We decided to sell the boat.")
    conv.scratchpad["price"] = 100
    conv.end()
    conv.erase(only)
    assert mem.list() == []
    assert conv.scratchpad["price"] == 100


def test_a_correction_leaves_with_the_conversation_that_states_it_and_the_former_note_can_hold_again(
    home: Home, mem: Memory, clock: FixedClock, places: Places, tmp_path: Path
) -> None:
    march = mem.remember("Deploys are on Tuesdays", name="deploy day", origin="user")
    clock.advance(60 * 86_400_000)
    may = mem.conversations.start()
    said = may.user("Deploys are on Wednesdays, for zqreason.")
    evidence = [f"event:{may.id}:{said.id}"]
    new = mem.supersede(
        "deploy day", "Deploys are on Wednesdays: zqreason", why="because of zqreason", origin="user", evidence=evidence
    )
    other = mem.remember("Wednesdays have two holidays", evidence=[*evidence, "file:calendar.md"])
    may.end()
    clock.advance(30 * 86_400_000)
    assert new.id in [hit.entry.id for hit in mem.recall("when are the deploys")]
    assert [(turn.who, turn.conversation) for turn in mem.provenance("deploy day").made_from] == [
        ("user", may.ref_code)
    ]
    planned = mem.conversations.erase(may.id, dry_run=True)
    assert figures(planned)["notes made from them"] == 1
    assert mem.get("deploy day").id == new.id
    receipt = mem.conversations.erase(may.id)
    assert figures(receipt)["notes made from them"] == 1
    assert places.holding(home, ["zqreason"], tmp_path) == []
    assert mem.get(other.id).content == other.content
    with pytest.raises(NotFound):
        mem.get("deploy day")
    assert mem.restore(march.id).name == "deploy day"
    first, *_ = mem.recall("when are the deploys")
    assert (first.entry.id, first.state) == (march.id, "current")
    assert not home.check().findings
